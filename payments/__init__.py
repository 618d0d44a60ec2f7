"""Payments: fees, card payments, payment methods, wallets and non-custodial crypto payments.

- `cards/`: fees, card payments, methods, `reconciliation`, `processors/`. Events: `payment.completed`,
  `payment.failed`, `payment.unknown`, `payment_method.added`.
- `wallets/`: references to accounts, `connected` or `disconnected`, and `custody/` providers. Events:
  `wallet.connected`, `wallet.default_changed`, `wallet.disconnected`.
- `crypto/`: `machine` (the table of statuses), `broadcast` (initiate and confirm, with the rule that at most one
  transaction counts), `network` (what is sent), `settlement` (what became of it), `queries`; the chain itself in
  `chain/`. Events: `payment.crypto.initiated`, and one for each of `submitted`, `confirmed`, `failed`, `expired`.

Endpoints belong to the account itself; wallets and the status of a transaction may be read with `wallet:read`.
`reconcile_payments` finishes what nobody came back for.
"""

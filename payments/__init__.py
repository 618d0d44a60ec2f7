"""Payments: fees, card payments, payment methods, wallets and non-custodial crypto payments.

- `cards/`: fees, card payments, methods, `reconciliation`, `processors/`. Events: `payment.completed`,
  `payment.failed`, `payment.unknown`, `payment_method.added`.
- `wallets/`: references to accounts, `connected` or `disconnected`, and `custody/` vendors. Events:
  `wallet.connected`, `wallet.default_changed`, `wallet.disconnected`.
- `crypto/`: `machine` (the table of statuses), `broadcast` (initiate and confirm, with the rule that at most one
  transaction counts), `network` (sending), `settlement` (outcomes), `queries`; the chain itself in `chain/`. Events:
  `payment.crypto.initiated`, and one for each of `submitted`, `confirmed`, `failed`, `expired`.

`cards/`, `wallets/` and `crypto/` do not import each other. `views` is the base of their views, `screening` rejects
card numbers, and `console` is the back office.

The endpoints accept only first-party tokens and unrestricted API keys. Apps with `wallet:read` can read wallets and the
status of a transaction.
`reconcile_payments` finishes abandoned payments.
"""

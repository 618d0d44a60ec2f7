"""Payments: fees, card payments, payment methods, wallets and non-custodial crypto payments.

By subject, each with its tables, its verbs, its endpoints:

- cards: `card_models`, `card`, `reconciliation`, `methods`, `fees`, `views`; processors in `providers/`.
- wallets: `wallet_models`, `wallets`, `wallet_views`; custody providers in `providers/`. A wallet is `connected` or
  `disconnected`, and only ever a reference. Events: `wallet.connected`, `wallet.default_changed`,
  `wallet.disconnected`.
- crypto payments: `crypto_models`, `crypto_machine` (the table of statuses), `crypto` (initiate and confirm, with the
  rule that at most one transaction counts), `crypto_network` (what is sent), `crypto_settlement` (what became of it),
  `crypto_reads`, `crypto_views`; the chain itself in `chain/`. Events: `payment.crypto.initiated`, and one for each of
  `submitted`, `confirmed`, `failed`, `expired`.

Endpoints belong to the account itself; wallets and the status of a transaction may be read with `wallet:read`.
`reconcile_payments` finishes what nobody came back for.
"""

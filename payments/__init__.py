"""Card payments, payment methods, wallets, and non-custodial crypto payments.

- `cards/` contains the fees, card payments, payment methods, reconciliation, and card processors. Events:
  `payment.completed`, `payment.failed`, `payment.unknown`, `payment_method.added`.
- `wallets/` contains the connected wallets and the custody vendors. Events: `wallet.connected`,
  `wallet.default_changed`, `wallet.disconnected`.
- `crypto/` contains the payments that a wallet signs. `machine` defines the statuses, `broadcast` initiates and
  confirms payments, `network` sends transactions, and `settlement` determines the outcomes. Events:
  `payment.crypto.initiated`, `.submitted`, `.confirmed`, `.failed`, and `.expired`.
- `chain/` is the client of the settlement chain.

`cards/`, `wallets/`, and `crypto/` do not import each other. `views` contains the base classes of their views.
`screening` rejects card numbers. `console` is the back office.

The endpoints accept only first-party tokens and unrestricted API keys. Apps with `wallet:read` can read wallets and
transaction statuses.
`reconcile_payments` finishes abandoned payments.
"""

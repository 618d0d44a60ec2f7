"""Service B: the anchoring ledger. It proves, offline and years later, that a report existed unchanged.

One append-only Merkle log (RFC 6962, C2SP formats) and its HTTP API. An entry is the report's SHA-256 next to a
commitment to its submitter, subject and type. The tree contains no personal data, and `erase_subject` can forget a
person without breaking any proof. Entries have no states: they are appended in signed blocks and never change. It sends
no events.

Anyone may read the log; in production anchoring, and listing a person's hashes, requires a credential of service A
or a listed key (`ledger.credentials`).

Its operator need not be trusted: independent witnesses cosign its checkpoints (`witnessing`), and anyone can follow
it (`following`).

Layers, from the inside out, each knowing only those before it:
`merkle`, `tiles`, `checkpoint`, `policy`, `proofs` (pure, no Django) - `entries`, `models`,
`triggers` (tables that only grow) - `keys`, `guard` (what lives outside the database) - `log` (reads and proofs),
`signing` (who may sign on top of what), `sealing` (one transaction, one block), `group_commit` (many requests, one
block) - `witnessing`, `following` - `service_a` (what is asked of it), `credentials` - `serializers`,
`views`, `pages` - `releases` (whose statement stands in a ledger; made and checked here).
"""

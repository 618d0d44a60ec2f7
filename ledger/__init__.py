"""Service B: the anchoring ledger. It proves, offline and years later, that a report existed unchanged.

What is here: one append-only Merkle log (RFC 6962, C2SP formats) and its HTTP interface. An entry is
the report's SHA-256 beside a commitment to who anchored it as what, so the tree holds no personal
data and `erase_subject` can forget a person without breaking any proof. Entries have no states: they
are appended in signed blocks and never change. It sends no events.

Who may call: everybody reads the log; in production anchoring, and listing a person's hashes, takes a
credential of service A or a listed key (`ledger.credentials`).

Nobody has to trust its operator: other people's witnesses cosign its checkpoints (`witnessing`), and it can be a
witness of other logs (`witness`, a program of its own) and follow them (`following`).

Layers, from the inside out, each knowing only those before it:
`merkle`, `tiles`, `checkpoint`, `cosignature`, `policy`, `proofs`, `witness` (pure, no Django) - `entries`, `models`,
`triggers` (tables that only grow) - `keys`, `guard` (what lives outside the database) - `log` (reads and proofs),
`signing` (who may sign on top of what), `sealing` (one transaction, one block), `group_commit` (many requests, one
block) - `witnessing`, `following` - `service_a` (what is asked of it), `credentials` - `serializers`,
`views`, `pages` - `releases` (whose statement stands in a ledger; made and checked here).
"""

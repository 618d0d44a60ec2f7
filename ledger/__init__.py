"""Service B: the anchoring ledger. It proves, offline and years later, that a report existed unchanged.

It has one append-only Merkle log (RFC 6962, C2SP formats) and an HTTP API. An entry is the report's SHA-256 and a
commitment to its submitter, subject, and type. The tree contains no personal data, so `erase_subject` can erase a
person's data without invalidating any proof. Entries have no statuses: they are appended in signed blocks and never
change. The ledger sends no events.

Anyone may read the log. In production, anchoring and listing a person's hashes require a credential of service A or a
listed key (`ledger.credentials`).

Verifiers need not trust the operator: independent witnesses cosign the log's checkpoints (`witnessing`), and anyone can
follow it (`following`).

Layers, from the inside out. Each imports only earlier ones:

- `merkle`, `tiles`, `checkpoint`, `policy`, `proofs`: pure, without Django
- `entries`, `models`, `triggers`: append-only tables
- `keys`, `guard`: data outside of the database
- `log`: reads and proofs
- `signing`: checks before signing
- `sealing`: one transaction, one block
- `group_commit`: many requests, one block
- `witnessing`, `following`
- `service_a`: requests to it
- `credentials`
- `serializers`, `views`, `pages`
- `releases`: created and verified here, with their statements anchored in a ledger
"""

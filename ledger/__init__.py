"""Service B: the anchoring ledger.

Its proofs show, even years later and offline, that a report existed and has not changed.

The service has one append-only Merkle log (RFC 6962, C2SP formats) and an HTTP API. An entry is the SHA-256 of a report
and a commitment to the report's submitter, subject, and type. The tree contains no personal data, so `erase_subject`
can erase a user's data without invalidating any proof. Signed blocks append entries, and entries never change. The
ledger emits no events.

The log is public. In production, anchoring and listing a user's hashes require a credential of service A or a listed
key (`ledger.credentials`).

Verifiers need not trust the operator, because independent witnesses cosign the log's checkpoints (`witnessing`), and
every client can follow the log (`following`).

The modules form layers. Each layer imports only earlier layers:

- `merkle`, `tiles`, `checkpoint`, `policy`, `proof_file`: pure code without Django
- `entries`, `models`, `triggers`: append-only tables
- `keys`, `guard`: data outside of the database
- `log`: reads and proofs
- `signing`: checks before signing
- `sealing`: one transaction for a block
- `group_commit`: one block for many requests
- `witnessing`, `following`: witnesses of this log, and followers of any log
- `service_a`: requests to service A
- `credentials`: authorization
- `serializers`, `views`, `pages`: HTTP
- `releases`: creation and verification of releases, whose statements are anchored in a ledger
"""

"""Claims: a person states that they wrote, or contributed to, a publication.

A claim begins as `draft` and moves to `pending`, `approved`, `disputed` and `revoked`; `machine.MACHINE` is the whole
table, and only `Claim.transition_to` changes a status. A claim is its owner's; others read it when its visibility is
`shared`, reviewers also when it is `conditional`. A deleted claim remains as a tombstone that no request can read.

Events: `claim.created`, `claim.updated`, `claim.deleted` and one per status entered.

Claims belong to the account itself: first-party tokens, and API keys made without a scope list. The app registers the
staging kind `claim`.
"""

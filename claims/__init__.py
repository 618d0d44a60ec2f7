"""Claims. In a claim, the owner of an account states that they wrote, or contributed to, a publication.

A claim starts as `draft`. `machine.MACHINE` defines the transitions to `pending`, `approved`, `disputed`, and
`revoked`, and only `Claim.transition_to` changes a status. The owner can always read a claim. If the visibility is
`shared`, all accounts can read it. If the visibility is `conditional`, reviewers can read it. After the deletion of a
claim, a tombstone remains, which no request can read.

Events: `claim.created`, `claim.updated`, `claim.deleted`, and an event for each status that a claim enters.
The endpoints accept only first-party tokens and unrestricted API keys. The app declares the item kind `claim` for the
app `staging`.
"""

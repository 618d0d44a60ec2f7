"""Claims: a person states that they wrote, or contributed to, a publication.

A claim starts as `draft` and moves to `pending`, `approved`, `disputed` and `revoked`. `machine.MACHINE` has all
transitions, and only `Claim.transition_to` changes a status. The owner can read a claim. Other accounts can read it if
its visibility is `shared`. Reviewers can also read it if the visibility is `conditional`. A deleted claim remains as a
tombstone that no request can read.

Events: `claim.created`, `claim.updated`, `claim.deleted` and one per status entered.

The endpoints accept only first-party tokens and unrestricted API keys. The app registers the staging kind `claim`.
"""

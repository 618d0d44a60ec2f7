"""Credit: lenders' offers, applications to them, and the discovery document and catalog for marketplaces.

An application moves `draft → submitted → under_review → approved | rejected`, with `pending_documents`, `withdrawn`,
and `expired` outside of that path. `core.machine.MACHINE` is the complete table. Only `Application.transition_to`
changes a status. An offer is active until it is deactivated, and its versions are numbered.

The consumer accepts an approval (`accepted_at`), which is not a status.

Events: `application.created`, `application.updated`, `application.accepted`, and one per new status; `offer.created`,
`offer.updated`, `offer.deactivated`. The consumer gets the events of an application; from the submission on, the
lender's owner gets them, too.

Offers and the catalog require the scopes `offers:read` and `offers:write`. Applications require `applications:read` and
`applications:write`. A scoped credential can access its account's own applications. It can also read the applications
to lenders of which the account is a member. It can't decide.
"""

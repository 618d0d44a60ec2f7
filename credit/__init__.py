"""Credit: provider offers, applications to them, and what a marketplace reads (discovery document, catalogue).

An application moves `draft → submitted → under_review → approved | rejected`, with `pending_documents`, `withdrawn`
and `expired` beside that path; `machine.MACHINE` is the whole table. Only `Application.transition_to` changes a status.
An offer is active until it is deactivated, and counts its versions.

Events: `application.created`, `application.updated` and one per status entered; `offer.created`, `offer.updated`,
`offer.deactivated`.

Offers and the catalogue ask for the scopes `offers:read` and `offers:write`, applications for `applications:read` and
`applications:write`: with these a credential reaches its account's own applications and decides about none.
"""

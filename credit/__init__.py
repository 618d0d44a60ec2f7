"""Credit: provider offers, applications to them, and what a marketplace reads (discovery document, catalogue).

An application moves `draft → submitted → under_review → approved | rejected`, with `pending_documents`, `withdrawn` and
`expired` outside of that path; `core.machine.MACHINE` is the whole table. Only `Application.transition_to` changes a
status. An offer is active until it is deactivated, and counts its versions.

The consumer accepts an approval (`accepted_at`), which is not a status.

Events: `application.created`, `application.updated`, `application.accepted` and one per status entered;
`offer.created`, `offer.updated`, `offer.deactivated`. Those of an application go to its consumer, and from the
submission on to the provider's owner too.

Offers and the catalog require the scopes `offers:read` and `offers:write`, applications `applications:read` and
`applications:write`. With these a credential accesses its account's own applications and reads those sent to a provider
that the account acts for. It decides none.
"""

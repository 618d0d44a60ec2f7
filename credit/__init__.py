"""Credit: lenders' offers, credit applications, and the discovery document and catalog for marketplaces.

The usual path of an application is `draft → submitted → under_review → approved | rejected`. Other statuses are
`pending_documents`, `withdrawn`, and `expired`. `core.machine.MACHINE` has all transitions. Only
`Application.transition_to` changes a status. The applicant's acceptance of an approval is a time (`accepted_at`), not a
status. An offer is active until it is deactivated, and its versions are numbered.

Each new status of an application emits an event. Further events are `application.created`, `application.updated`,
`application.accepted`, `offer.created`, `offer.updated`, and `offer.deactivated`. The applicant receives the events of
an application. After the submission, the lender's owner also receives these events.

Offers and the catalog require the scopes `offers:read` and `offers:write`. Applications require `applications:read` and
`applications:write`. A scoped credential can access the applications of its account. The credential can also read the
applications to lenders of which the account is a member. A scoped credential can't make decisions.
"""

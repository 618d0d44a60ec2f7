"""The outbox of events, and signed webhooks to their subscribers.

Every change of state writes its event in its own transaction, with `events.record_event`; `catalogue` lists the types.
`publishing` numbers the events of an account and makes a delivery for each endpoint that wants it; the feed shows them
by their number. A delivery is `pending` until a receiver accepts it (`delivered`) or the schedule is over (`failed`);
an endpoint is `enabled` or `disabled`. `worker` sends, to what `config.clients` allows, signed by `signing`;
`queue` is what workers share; `admin` shows all of it in the back office.

Events of its own: `webhook.test`, `webhook.endpoint.disabled`. All operations here require the scope `webhooks`.
"""

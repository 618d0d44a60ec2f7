"""The outbox of events, and signed webhooks to subscribed endpoints.

Every status change records its event in the same transaction with `events.record_event`. `catalogue` lists the event
types. `publishing` numbers the events of an account, and creates a delivery for each subscribed endpoint. The feed
lists events by number. A delivery is `pending` until a receiver accepts it (`delivered`) or all attempts have failed
(`failed`). An endpoint is `enabled` or `disabled`. `worker` sends deliveries to addresses that `config.clients` allows,
with signatures of `signing`. `queue` contains the workers' database operations. `admin` displays all records in the
back office.

This app's own events are `webhook.test` and `webhook.endpoint.disabled`. All its operations require the scope
`webhooks`.
"""

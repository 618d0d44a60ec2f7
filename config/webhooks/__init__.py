"""The outbox of events, and signed webhooks to subscribed endpoints.

Every status change records its event in the same transaction with `events.record_event`. `publishing` numbers the
events of an account, and creates a delivery for each subscribed endpoint. The feed lists events by number. A delivery
is `pending`, `delivered`, or `failed` after all attempts. `worker` sends deliveries to addresses that `config.clients`
allows. `queue` contains the workers' database operations.

This app's own events are `webhook.test` and `webhook.endpoint.disabled`. All its operations require the scope
`webhooks`.
"""

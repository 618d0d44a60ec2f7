"""What happened, told to those who asked: the outbox of events.

Every change of state writes its event in its own transaction, with `record_event`. Endpoints, signing and delivery
build on these rows.
"""

"""Staging: data that waits for its user's yes or no before it becomes permanent.

An item is `staged` and then, once and for good, `approved`, `rejected` or, after thirty days, `expired`. Approving
hands the payload to the app that owns its kind (`registry`), which stores the permanent row in the same transaction.

Events: `staging.item.staged`, `staging.item.approved`, `staging.item.rejected`, `staging.item.expired`.

Everything here belongs to the account itself: first-party tokens, and API keys made without a scope list.
"""

"""Staging: data that requires its user's approval before permanent storage.

An item starts as `staged`. Then it becomes, permanently, `approved`, `rejected`, or `expired` after 30 days. An
approval passes the payload to the app that owns its kind (`registry`), which stores the permanent row in the same
transaction.

Events: `staging.item.staged`, `staging.item.approved`, `staging.item.rejected`, `staging.item.expired`.

The endpoints accept only first-party tokens and unrestricted API keys.
"""

"""Staging: data that requires the owner's approval before permanent storage.

An item starts as `staged`. Its final status is `approved` or `rejected`. After 30 days without a decision, the status
becomes `expired`. After an approval, the app that declares the item's kind (`registry`) stores the permanent row in the
same transaction.

Events: `staging.item.staged`, `staging.item.approved`, `staging.item.rejected`, `staging.item.expired`.
The endpoints accept only first-party tokens and unrestricted API keys.
"""

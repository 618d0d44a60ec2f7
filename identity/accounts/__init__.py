"""Accounts without the operator's shell: pages under `/account/`, invitations, and partners.

`links` are mailed links that work once. `invitations` make a person a developer, a partner, a lender, a lender's
member, or staff. `managed` has the accounts that a partner creates for its customers. It also has the short-lived
tokens with which the partner acts on their behalf, and the links by which customers claim their accounts.
`AccountHistory` is the append-only audit log of an account's keys, clients, invitations, and partners, with their
actors.

Events: `account.…` and `invitation.…` (`identity/events.py`).
"""

"""Management of accounts: pages under `/account/`, invitations, partners, and privacy rights.

`links` contains mailed links that work once. `invitations` assigns roles: developer, partner, lender, member of a
lender, or staff. `managed` contains the accounts that a partner creates for its customers. It also contains the tokens
with which the partner acts on their behalf, and the links with which customers claim their accounts. `AccountHistory`
is the append-only history of an account's keys, clients, invitations, and partners, with the actor of each change.

Events: `account.…` and `invitation.…` (`identity/events.py`).
"""

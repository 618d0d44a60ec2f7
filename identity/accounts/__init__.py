"""How people and programs come in without the operator's shell: pages under `/account/`, invitations, partners.

`links` are mailed links that work once. `invitations` make a person a developer, a partner, a lender, a provider's
member or staff. `managed` are accounts that a partner makes for its own customers, and the short tokens with which it
acts for them, and how such a person takes the account over. `AccountHistory` records changes of an account's keys,
clients, invitations and partners, with their actors: append-only.

Events: `account.…` and `invitation.…` (`identity/events.py`).
"""

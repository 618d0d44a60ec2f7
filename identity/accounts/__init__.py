"""How people and programs come in without the operator's shell: pages under `/account/`, invitations, partners.

`links` are mailed links that work once. `invitations` make a person a developer, a partner, a lender, a provider's
member or staff. `managed` are accounts that a partner creates for its own customers, the short-lived tokens with which
it acts on their behalf, and the links by which a customer takes the account over. `AccountHistory` is the append-only
audit log of an account's keys, clients, invitations, and partners, with their actors.

Events: `account.…` and `invitation.…` (`identity/events.py`).
"""

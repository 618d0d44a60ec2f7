"""How people and programs come in without the operator's shell: pages under `/account/`, invitations, partners.

`links` are mailed links that work once. `invitations` make a person a developer, a partner, a lender, a provider's
member or staff. `managed` are accounts that a partner creates for its own customers, and the short-lived tokens with
which it acts on their behalf. With `claims` such a customer takes the account over.

Events: `account.…` and `invitation.…` (`identity/events.py`).
"""

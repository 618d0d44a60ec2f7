"""What developers may do to their own accounts, everywhere but in production: the base of `/v1/sandbox/…`.

Each app has its operations in `sandbox_views`; `config/urls.py` leaves them out in production, and a system check
refuses one that is served there. What moves with an account's clock, and what becomes of records when the account is
reset, an app declares (`Declarations.sandbox`).
"""

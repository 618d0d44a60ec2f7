"""Sandbox operations of developers on their own accounts, outside of production: the base of `/v1/sandbox/…`.

Each app has its operations in `sandbox_views`; `config/urls.py` leaves them out in production, and a system check
refuses one that is served there. Each app declares what moves with an account's clock (`Declarations.sandbox`).
"""

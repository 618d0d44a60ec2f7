"""The base of `/v1/sandbox/…`: operations of developers on their own accounts, outside of production.

Each app has its operations in `sandbox_views`. `config/urls.py` omits them in production, and a system check rejects
them there. Each app declares the columns that move with an account's clock (`Declarations.sandbox`).
"""

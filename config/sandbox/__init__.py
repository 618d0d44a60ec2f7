"""The shared code of `/v1/sandbox/…`, with which developers change their own accounts outside of production.

Each app defines its operations in `sandbox_views`. `config/urls.py` omits the operations in production, and a system
check rejects them there. Each app declares the columns that an account's clock moves (`Declarations.sandbox`).
"""

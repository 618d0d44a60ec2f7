"""The shared code of `/v1/sandbox/…`, with which developers change their own accounts outside of production.

Apps define operations in `sandbox_views`, and declare the columns that an account's clock moves
(`Declarations.sandbox_timers`). In production, `config/urls.py` omits the operations, and a system check rejects them.
"""

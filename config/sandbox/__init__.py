"""What a developer does to their own account as nobody could where people are served: the base of `/v1/sandbox/…`.

Each app has its operations in a `sandbox_urls` of its own, which `config/urls.py` includes in development alone; a
system check refuses one that is served elsewhere. `sandbox_records` of an app says what of it moves with an account's
clock, and what becomes of its records when the account is reset.
"""

"""The platform's settings for a bench: rate limits are counted as ever, and out of reach.

Everything else is what the environment of the bench says, which is a development profile on PostgreSQL.
"""

from config.settings import *  # noqa: F403

RATE_LIMITS = {
    "read": 10**12,
    "write": 10**12,
    "payment": 10**12,
    "token": 10**12,
    "token_failure": 10**12,
    "anonymous": 10**12,
    "ledger_write": 10**12,
}

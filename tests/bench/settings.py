"""The platform's settings for a bench: rate limits are counted as ever, and out of reach.

Everything else is what the environment of the bench says, which is a development profile on PostgreSQL.
"""

from config import settings as platform
from config.settings import *  # noqa: F403

RATE_LIMITS = {name: limit and 10**12 for name, limit in platform.RATE_LIMITS.items()}

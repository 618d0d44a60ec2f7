"""The platform's settings for a bench: rate limits are counted as usual, but very high.

The environment of the bench sets everything else: a development profile on PostgreSQL.
"""

from config import settings as platform
from config.settings import *  # noqa: F403

RATE_LIMITS = {name: limit and 10**12 for name, limit in platform.RATE_LIMITS.items()}

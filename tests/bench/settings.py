"""The platform's settings for benchmarks: requests count toward rate limits, which are too high to reach.

`seeding.environment` sets the environment variables: the development profile on PostgreSQL.
"""

from config import settings as platform
from config.settings import *  # noqa: F403

RATE_LIMITS = {name: limit and 10**12 for name, limit in platform.RATE_LIMITS.items()}

"""The platform's settings without rate limits, because a storm is a single caller."""

from config.settings import *  # noqa: F403
from config.settings import RATE_LIMITS

RATE_LIMITS = dict.fromkeys(RATE_LIMITS)

"""The platform's settings, without limits of calls: a storm is one caller."""

from config.settings import *  # noqa: F403
from config.settings import RATE_LIMITS

RATE_LIMITS = dict.fromkeys(RATE_LIMITS)

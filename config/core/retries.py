"""When something that failed is tried again. Pure."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Seconds before each attempt, counted from the one before it: short at first for a restart of the receiver, and 75.5
# hours in total for an outage of a weekend. The recommendation of Standard Webhooks.
_SECONDS = (0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
DELAYS = tuple(timedelta(seconds=seconds) for seconds in _SECONDS)
JITTER = 0.10  # receivers that failed at the same time must not all be retried in the same second
RETRY_AFTER_MAX = timedelta(hours=24)


def next_delay(attempts: int, *, retry_after: timedelta | None = None) -> timedelta | None:
    """Return how long to wait after so many attempts have failed; None when that was the last.

    A receiver's `Retry-After` can make the wait longer, not shorter: it is the earliest time of a retry.
    """
    if attempts >= len(DELAYS):
        return None
    delay = DELAYS[attempts] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  no secret
    return delay if retry_after is None else max(delay, min(retry_after, RETRY_AFTER_MAX))


def read_retry_after(text: str, *, now: datetime) -> timedelta | None:
    """Return the delay that a `Retry-After` header requests (RFC 9110, 10.2.3: seconds or a date), if any."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        # Only so many digits: anything longer is beyond the cap.
        return timedelta(seconds=int(text)) if len(text) <= 9 else RETRY_AFTER_MAX
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, ArithmeticError, LookupError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(moment - now, timedelta(0))

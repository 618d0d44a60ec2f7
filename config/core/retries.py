"""Pure functions that compute the schedule of retries."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Seconds between attempts, as Standard Webhooks recommends. Their total of 75.5 hours covers an outage on a weekend.
_SECONDS = (0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
DELAYS = tuple(timedelta(seconds=seconds) for seconds in _SECONDS)
# Jitter spreads the retries after a common failure.
JITTER = 0.10
RETRY_AFTER_MAX = timedelta(hours=24)


def next_delay(attempts: int, *, retry_after: timedelta | None = None) -> timedelta | None:
    """Return the delay after this number of failed attempts, or None after the last attempt.

    `Retry-After` can only extend the delay.
    """
    if attempts >= len(DELAYS):
        return None
    delay = DELAYS[attempts] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  no secret
    return delay if retry_after is None else max(delay, min(retry_after, RETRY_AFTER_MAX))


def read_retry_after(text: str, *, now: datetime) -> timedelta | None:
    """Return the delay of a `Retry-After` header (RFC 9110, 10.2.3: seconds or a date).

    Return None for an invalid value.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0") or "0"
        # A number with more than 9 digits exceeds RETRY_AFTER_MAX.
        return timedelta(seconds=int(digits)) if len(digits) <= 9 else RETRY_AFTER_MAX
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, ArithmeticError, LookupError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(moment - now, timedelta(0))

"""When a delivery is tried again."""

from datetime import UTC, datetime, timedelta

import pytest

from config.core.retries import DELAYS, next_delay, read_retry_after

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("attempts", range(1, 10))
def test_every_wait_is_within_a_tenth_of_the_schedule(attempts):
    waits = [next_delay(attempts) for _ in range(200)]
    assert all(DELAYS[attempts] * 0.9 <= wait <= DELAYS[attempts] * 1.1 for wait in waits)
    assert len(set(waits)) > 100


def test_the_tenth_attempt_is_the_last():
    assert next_delay(10) is None
    assert next_delay(10, retry_after=timedelta(hours=1)) is None
    assert len(DELAYS) == 10


def test_retry_after_makes_a_wait_longer_and_never_shorter():
    assert next_delay(1, retry_after=timedelta(hours=1)) == timedelta(hours=1)
    assert next_delay(9, retry_after=timedelta(seconds=1)) >= timedelta(hours=21)
    assert next_delay(1, retry_after=timedelta(days=9)) == timedelta(hours=24)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0), ("120", 120), (" 3600 ", 3600), ("9" * 4000, 86_400), ("Sat, 31 Jan 2026 12:01:00 GMT", 60),
        ("Sat, 31 Jan 2026 11:00:00 GMT", 0), ("Saturday, 31-Jan-26 12:01:00 GMT", 60),
        ("", None), ("soon", None), ("-1", None), ("1.5", None), ("१२", None), ("Sat, 99 Jan 2026 12:01:00 GMT", None),
        ("Sat, 31 Jan 99999999 12:01:00 GMT", None), ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
        ("Wed, 21 Oct 2026 99999999999999999999:28:00 GMT", None), ("Wed, 21 Oct 2026 07:28:00 +" + "9" * 20, None),
        (", 1 Jan", None), ("\u0000", None), ("Wed, 21 Oct 2026", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(text, seconds):
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert read_retry_after(text, now=NOW) == expected

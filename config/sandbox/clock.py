from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial

from django.contrib.auth import get_user_model
from django.utils import timezone

from config.api.idempotency import retry_deadlocks
from config.core.errors import ValidationFailed
from config.sandbox import timers

ADVANCE_MAX = timedelta(days=400)
# Waiting is no jump: a key is announced 14 days before it ends, and a worker has to come by in between.
STEP_MAX = timedelta(days=7)
# An account's clock is not moved for ever: databases know no moment before the year 1.
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def advance(account_id: int, *, seconds: int) -> Counter[str]:
    """Let `seconds` go by for an account: what it waits for comes nearer, and the workers do what is due.

    Return what they did, by name. Raises ValidationFailed when the clock was moved too often already.
    """
    left = timedelta(seconds=seconds)
    _check_room(account_id, left)
    done = timers.run_workers(now=timezone.now())  # a key that ends in less than a step has to be announced as well
    while left:
        step = min(left, STEP_MAX)
        retry_deadlocks(partial(timers.move, account_id, step))
        done.update(timers.run_workers(now=timezone.now()))
        left -= step
    return done


def _check_room(account_id: int, by: timedelta) -> None:
    """Raise ValidationFailed when the account would have begun before BEGINNING."""
    joined = get_user_model().objects.values_list("date_joined", flat=True).get(pk=account_id)
    if joined - by < BEGINNING:
        message = f"The account would have begun before {BEGINNING:%Y}. Reset it first."
        raise ValidationFailed.of_member("advance_seconds", message)

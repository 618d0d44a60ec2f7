"""Tries to log in: counted one by one, before the password is looked at, and written to the log."""

import logging
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.utils.crypto import salted_hmac

from config.api.rate_limits import RateLimited, network_of, take, try_once
from config.core import audit
from config.core.errors import Unavailable

logger = logging.getLogger("platform.log_ins")


@contextmanager
def login_attempt(
    name: str, address: str, *, device: str | None = None, shows_code: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Hold one try to log in as `name` from `address`; what the block raises says that it failed.

    A try is counted before the password is looked at, so that guesses made at once are no more than the limit either,
    and taken back when it succeeds. Raises RateLimited when there were too many failures: `login_failure` of one name
    from one address, `login_name` of one name from everywhere. A try that the first refuses does not count for the
    second: one address cannot use up a name's.

    No stranger locks a person out who has what strangers lack. A `device` in which they logged in before has a
    `login_failure` of its own in place of both. A valid code of the second factor (`shows_code`) passes the second; a
    try that it rejects still counts for the address, so that codes cannot be guessed.
    """
    # As the pages look names up, and in one case: no other spelling of a name may be another try.
    person = unicodedata.normalize("NFKC", name).strip().casefold()
    limits = [("login_failure", f"{device or network_of(address)} {person}")]
    if device is None:
        limits.append(("login_name", person))
    counted: list[tuple[str, int]] = []
    outcome = "failed"
    try:
        for limit_name, whom in limits:
            counter, refusal = try_once(limit_name, whom)
            if counter is not None:
                counted.append(counter)
            if refusal is not None and not (limit_name == "login_name" and shows_code()):
                raise refusal
        yield
        outcome = "succeeded"
    except RateLimited:
        outcome = "refused"
        _give_back(counted[-1:])
        raise
    except Unavailable:
        outcome = "not tried"  # no password was looked at
        _give_back(counted)
        raise
    finally:
        # Lines about one name have one mark; the name itself may be a password, typed into the wrong field.
        mark = salted_hmac("platform.log_ins", person).hexdigest()[:12]
        logger.info("log-in %s from %s, name %s", outcome, address, mark)
        if outcome in {"failed", "refused"}:
            audit.emit_now("log_in.failed", user=audit.person(f"name:{mark}"), status_detail=outcome)
    _give_back(counted)


def _give_back(counted: list[tuple[str, int]]) -> None:
    for bucket, window in counted:
        take(bucket, window, -1)

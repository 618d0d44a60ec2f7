"""Log-in attempts: each is counted before the password check, and logged."""

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
    """Count and log one attempt to log in as `name` from `address`. An exception in the block marks it as failed.

    The attempt is counted before the password check, so that concurrent guesses can't exceed the limit. A success
    removes it from the count. Raises RateLimited after too many failures: `login_failure` limits a name from an
    address, `login_name` limits a name from all addresses. An attempt that `login_failure` rejects doesn't count for
    `login_name`, so one address can't exhaust the limit of a name.

    An attacker can't lock out a person who has a known device or a second factor. A known `device` has its own
    `login_failure` limit, which replaces both limits. `login_name` does not limit an attempt with a valid
    code of the second factor (`shows_code`). An attempt that `login_name` rejects still counts for the address, so that
    codes can't be guessed.
    """
    # Normalized as the pages look up names, and case-folded: another spelling must not get its own limit.
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
        outcome = "not tried"  # the password was not checked
        _give_back(counted)
        raise
    finally:
        # Log lines have a keyed hash of the name. The name itself may be a password that was typed into the wrong
        # field.
        mark = salted_hmac("platform.log_ins", person).hexdigest()[:12]
        logger.info("log-in %s from %s, name %s", outcome, address, mark)
        if outcome in {"failed", "refused"}:
            audit.emit_now("log_in.failed", user=audit.person(f"name:{mark}"), status_detail=outcome)
    _give_back(counted)


def _give_back(counted: list[tuple[str, int]]) -> None:
    for bucket, window in counted:
        take(bucket, window, -1)

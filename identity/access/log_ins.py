"""Counting and logging of log-in attempts."""

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
    """Count and log one attempt to log in as `name` from `address`.

    An exception in the block marks the attempt as failed.

    The attempt is counted before the password check, so that concurrent guesses can't exceed the limit. A successful
    attempt is removed from the count. Raises RateLimited after too many failures. `login_failure` limits the attempts
    for a name from an address. `login_name` limits the attempts for a name from all addresses. If `login_failure`
    rejects an attempt, `login_name` does not count it, so one address can't exhaust the limit of a name.

    Two exceptions to `login_name` prevent an attacker from locking out the owner. A known `device`, in which the
    account logged in or reset its password, has only a separate `login_failure` limit. In the API, `login_name` does
    not limit an attempt with a valid code of the second factor (`shows_code`). `login_failure` limits these attempts,
    so codes can't be guessed.
    """
    # All spellings of a name share a limit, because the log-in page also finds the account by each spelling.
    person = unicodedata.normalize("NFKC", name).strip().casefold()
    limits = [("login_failure", f"{device or network_of(address)} {person}")]
    if device is None:
        limits.append(("login_name", person))
    counted: list[tuple[str, int]] = []
    outcome = "failed"
    try:
        for limit_name, subject in limits:
            counter, refusal = try_once(limit_name, subject)
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
        # Log lines contain a keyed hash of the name, because it may be a password that was typed into the wrong field.
        name_hash = salted_hmac("platform.log_ins", person).hexdigest()[:12]
        logger.info("log-in %s from %s, name %s", outcome, address, name_hash)
        if outcome in {"failed", "refused"}:
            audit.emit_now("log_in.failed", user=audit.ocsf_user(f"name:{name_hash}"), status_detail=outcome)
    _give_back(counted)


def _give_back(counted: list[tuple[str, int]]) -> None:
    for bucket, window in counted:
        take(bucket, window, -1)

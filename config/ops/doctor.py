"""What must hold around the program: `manage.py doctor` asks all of it, and each server some of it at its start.

A check is a function that returns what it found, in a few words, or raises Failed or Warned with a sentence that says
what to do. It only reads. An app registers its own in its `ready()`:

    doctor.register("ledger_guard", check_guard)

Those of what all apps share stand in `config.ops.doctor_checks`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError


class Failed(Exception):
    """What is wrong, and what to do."""


class Warned(Exception):
    """What had better be otherwise."""


Check = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one check."""

    name: str
    ok: bool
    why: str


_checks: dict[str, Check] = {}
_at_start: set[str] = set()


def register(name: str, check: Check, *, at_start: bool = False) -> None:
    """Add a check; one that fails `at_start` keeps a server from serving."""
    _checks[name] = check
    if at_start:
        _at_start.add(name)


def examine() -> list[Finding]:
    """Make every check; what a check cannot ask counts as failed."""
    return [_finding(name, check) for name, check in _checks.items()]


def _finding(name: str, check: Check) -> Finding:
    """Make one check."""
    try:
        return Finding(name, ok=True, why=check())
    except Warned as warning:
        return Finding(name, ok=True, why=f"warning: {warning}")
    except (Failed, ImproperlyConfigured) as failure:
        return Finding(name, ok=False, why=str(failure))
    except (DatabaseError, InterfaceError) as error:
        reason = str(error).strip().partition("\n")[0]
        return Finding(name, ok=False, why=f"the database does not answer this: {reason}")


def require_at_start() -> None:
    """Raise ImproperlyConfigured when a check that is made at the start fails.

    A database that is away, or not migrated yet, is no reason: a server starts without it, and says so at `/health`.
    """
    for name in _at_start:
        try:
            _checks[name]()
        except Failed as failure:
            raise ImproperlyConfigured(str(failure)) from None
        except (Warned, DatabaseError, InterfaceError):
            continue

"""The catalogue of facts: what a scorecard may ask about a person, each fact registered by the app that knows it.

A fact is read from the platform's own tables while a score is computed: nobody else is asked. What a person's
application says is not registered, it is read by path: `application_data.monthly_income_cents`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from credit.scoring.card import SCORED_ON

APPLICATION_DATA = "application_data."
TYPES = ("number", "text", "boolean")
_PATH = re.compile(r"application_data(?:\.[A-Za-z0-9_-]{1,60}){1,8}", re.ASCII)

Read = Callable[[int, datetime], Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """`read` returns the value for an account at a moment: an integer, a float, a text, a truth, None for unknown."""

    name: str
    type: str
    read: Read


_registered: dict[str, Fact] = {}


def register(name: str, type_: str, read: Read) -> None:
    """Add a fact to the catalogue; `type_` is one of TYPES. The same name again takes the place of the first."""
    if type_ not in TYPES:
        raise ValueError(f"{type_} is none of {', '.join(TYPES)}")
    _registered[name] = Fact(name, type_, read)


def catalogue() -> dict[str, Fact]:
    return dict(sorted(_registered.items()))


def type_of(name: str) -> str | None:
    """Return the type of a registered fact, `any` of what an application may say, None for an unknown name."""
    if name in _registered:
        return _registered[name].type
    return "any" if _PATH.fullmatch(name) else None


def gather(names: Iterable[str], *, user_id: int, application_data: Any, now: datetime) -> dict[str, Any]:
    """Return the facts of these names about a person, with the day on which they were read; unknown ones are None."""
    facts: dict[str, Any] = {SCORED_ON: now.date().isoformat()}
    for name in sorted(names):
        if name.startswith(APPLICATION_DATA):
            facts[name] = _at(application_data, name)
        else:
            facts[name] = _registered[name].read(user_id, now) if name in _registered else None
    return facts


def _at(data: Any, path: str) -> Any:
    """Return the number, text or truth at a path below `application_data`, None where there is none."""
    for part in path.split(".")[1:]:
        if not isinstance(data, Mapping) or part not in data:
            return None
        data = data[part]
    return data if isinstance(data, str | int | float) else None

"""The catalogue of facts: what a scorecard may ask about a person, each fact declared by the app that knows it.

A fact is read from the platform's own tables while a score is computed, without a call to a third party. Values of a
person's application are not declared, they are read by path: `application_data.monthly_income_cents`, or by JSON
pointer (RFC 6901): `application_data#/monthly income`.

A score can tell what it was computed from: a card of one's own with narrow bins reads a balance to the cent. So each
fact declares the scope that covers it, and callers that gather facts pass which may be read; the others are missing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from config.core.credentials import Credential
from config.core.json_text import escaped
from config.core.registration import declared
from credit.core.card import SCORED_ON

APPLICATION_DATA = "application_data."
_POINTER = "application_data#"
_PATH = re.compile(r"application_data(?:\.[A-Za-z0-9_-]{1,60}){1,8}", re.ASCII)
_POINTED = re.compile(r"(?:/(?:[^/~]|~[01]){0,60}){1,8}")
_SPACES_AND_JOINERS = str.maketrans("", "", "\u00a0\u200c\u200d")
_INDEX = re.compile(r"0|[1-9][0-9]{0,4}", re.ASCII)

# An applicant shares facts with a lender by area: the first part of a fact's name, and the scope for it.
SHAREABLE = {"bank": "bankdata:read", "identity": "identity:read"}

Read = Callable[[int, datetime], Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """`read` returns the value for an account at a moment: an integer, a float, a text, a truth, None for unknown.

    `type` is `number`, `text` or `boolean`. `scope` covers it, `FIRST_PARTY` where no scope does.
    """

    name: str
    type: str
    read: Read
    scope: str


MayRead = Callable[[Fact], bool]


def covered_by(credential: Credential) -> MayRead:
    """Return a predicate of readable facts: those whose scope the credential has."""
    return lambda fact: credential.carries(fact.scope)


def shared(share: Collection[str]) -> MayRead:
    """Return a predicate of facts that enter a score: one of an area of SHAREABLE only if `share` names the area."""
    return lambda fact: (area := fact.name.partition(".")[0]) not in SHAREABLE or area in share


@cache
def catalogue() -> dict[str, Fact]:
    return {fact.name: fact for fact in sorted(declared("facts"), key=lambda fact: fact.name)}


def type_of(name: str) -> str | None:
    """Return the type of a declared fact, `any` of what an application may say, None for an unknown name."""
    if (fact := catalogue().get(name)) is not None:
        return fact.type
    return "any" if path_of(name) else None


def path_of(name: str) -> Sequence[str]:
    """Return the members below `application_data` that a name leads to; none for another name.

    A pointer has no control characters, and none that change the direction of text.
    """
    if _PATH.fullmatch(name):
        return name.split(".")[1:]
    pointer = name.removeprefix(_POINTER)
    if pointer == name or not _POINTED.fullmatch(pointer) or not pointer.translate(_SPACES_AND_JOINERS).isprintable():
        return ()
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def name_of(member: str) -> str:
    """Return the name of the fact that a member of `application_data` is."""
    name = f"{APPLICATION_DATA}{member}"
    return name if _PATH.fullmatch(name) else f"{_POINTER}/{escaped(member)}"


def gather(
    names: Iterable[str], *, user_id: int, application_data: Any, may_read: MayRead, now: datetime
) -> dict[str, Any]:
    """Return the facts of these names about a person, with the day on which they were read.

    A fact that is unknown, or that `may_read` withholds, is None.
    """
    facts: dict[str, Any] = {SCORED_ON: now.date().isoformat()}
    for name in sorted(names):
        if path := path_of(name):
            facts[name] = _at(application_data, path)
        else:
            fact = catalogue().get(name)
            facts[name] = fact.read(user_id, now) if fact is not None and may_read(fact) else None
    return facts


def _at(data: Any, path: Sequence[str]) -> Any:
    """Return the number, text or truth at a path below `application_data`, None where there is none.

    A number names a member of a list, from 0. A list or an object at the end is returned empty: no input can read it,
    and it is not missing.
    """
    for part in path:
        if isinstance(data, Mapping):
            data = data.get(part)
        elif isinstance(data, list) and _INDEX.fullmatch(part) and int(part) < len(data):
            data = data[int(part)]
        else:
            return None
    return type(data)() if isinstance(data, list | dict) else data

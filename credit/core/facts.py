"""The catalog of facts: values about an applicant that a scorecard can read. Each app declares the facts it stores.

To compute a score, the platform reads the facts from its own tables. It sends no requests to third parties. The values
of `application_data` are facts without a declaration. The names of these facts are paths, such as
`application_data.monthly_income_cents`, or JSON pointers (RFC 6901), such as `application_data#/monthly income`. Each
value has a source and a date.

A score can reveal its input. For example, narrow bins can determine a balance to the cent. So each fact declares a
scope. Callers of `read_facts` pass a predicate that selects the readable facts. All other facts count as missing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from config.core.credentials import Credential
from config.core.json_text import escaped
from config.core.registration import declared
from credit.core.card import SCORED_ON, is_claimed
from credit.core.jurisdictions import DEFAULT_CURRENCY, US

APPLICATION_DATA = "application_data."
_CONFIRMED = "confirmed."
_POINTER = "application_data#"
_POINTERS = re.compile(r"(?:application_data|confirmed)#(.*)", re.DOTALL)
_PATH = re.compile(r"(?:application_data|confirmed)(?:\.[A-Za-z0-9_-]{1,60}){1,8}", re.ASCII)
POINTER_MAX_LENGTH = 180
_POINTED = re.compile(r"(?:/(?:[^/~]|~[01]){0,60}){1,8}")
_SPACES_AND_JOINERS = str.maketrans("", "", "\u00a0\u200c\u200d")
_INDEX = re.compile(r"0|[1-9][0-9]{0,4}", re.ASCII)

# An applicant shares facts with a lender by area, which is the first part of a fact's name. Each area has a scope.
SHAREABLE = {"bank": "bankdata:read", "identity": "identity:read"}

# The source of a fact is the party that supplied the value.
BANK, REPORT, CONFIRMED, CORRECTED = "bank", "report", "confirmed", "corrected"
PLATFORM, APPLICANT = "platform", "applicant"
SOURCES = {
    BANK: gettext_noop("The applicant's bank reported it, and the applicant approved it."),
    REPORT: gettext_noop("A credit bureau or an income vendor reported it."),
    CONFIRMED: gettext_noop("A reviewer confirmed it from a document."),
    CORRECTED: gettext_noop("The applicant reported an error, and a reviewer corrected it."),
    PLATFORM: gettext_noop("The platform recorded it."),
    APPLICANT: gettext_noop("The applicant claims it."),
}

# The category of a fact is the first part of its name.
CATEGORIES = {
    "account": gettext_noop("Your account on this platform"),
    "application_data": gettext_noop("What you state in the application"),
    "applications": gettext_noop("Your other applications on this platform"),
    "bank": gettext_noop("Your bank accounts, if you share them"),
    "confirmed": gettext_noop("What a reviewer confirmed from your documents"),
    "identity": gettext_noop("The check of your identity, if you share it"),
    "person": gettext_noop("Your other applications to the same lender"),
    "report": gettext_noop("Consumer reports that the lender requests about you"),
}

Read = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """A declared fact. `read` returns the fact's value for an account at a given time, or None if the value is unknown.

    A value is an integer, a float, a string, or a boolean. `type` is `number`, `text`, or `boolean`. `scope` is the
    required scope, or `FIRST_PARTY` if the fact requires none.

    Facts that are computed together share a `read` function, which returns an object. `part` is the object's attribute
    with the fact's value. `dated` is the attribute with the date of the value. Without `dated`, the value has the date
    of the score. With `in_currency`, `read` also receives a currency, and values in other currencies are missing. With
    `of_application`, `read` receives the application instead of the account. With `excludes_application`, `read` also
    receives the application, which can be None.
    """

    name: str
    type: str
    read: Read
    scope: str
    source: str = PLATFORM
    meaning: str = ""
    unit: str | None = None
    part: str | None = None
    dated: str | None = None
    of_application: bool = False
    in_currency: bool = False
    excludes_application: bool = False


class Known(NamedTuple):
    """The value of a fact (None if missing), the source, and the date of the value (None if unknown)."""

    value: Any
    source: str
    as_of: date | None

    @property
    def as_of_text(self) -> str | None:
        return None if self.as_of is None else self.as_of.isoformat()


# These facts are paths below an application's data, so they are not declared by name.
PATHS = (
    Fact(
        f"{_CONFIRMED}*", "any", lambda _user_id, _now: None, "applications:read", CONFIRMED,
        "The value at a path of the application's data, as a reviewer confirmed it.",
    ),
    Fact(
        f"{APPLICATION_DATA}*", "any", lambda _user_id, _now: None, "applications:read", APPLICANT,
        "What the applicant claims, by path.",
    ),
)  # fmt: skip
MayRead = Callable[[Fact], bool]
# This prefix marks facts about the applicant's other applications with the same lender. Only the lender can read them.
PERSON = "person."


def has_person(names: Iterable[str]) -> bool:
    """Return whether any of these facts is about the applicant's other applications (`PERSON`)."""
    return any(name.startswith(PERSON) for name in names)


def covered_by(credential: Credential) -> MayRead:
    """Return a predicate that accepts a fact if the credential has the fact's scope."""
    return lambda fact: credential.carries(fact.scope)


def shared(share: Collection[str]) -> MayRead:
    """Return a predicate that excludes the facts of areas in SHAREABLE that the applicant does not share."""
    return lambda fact: (area := fact.name.partition(".")[0]) not in SHAREABLE or area in share


@cache
def catalogue() -> dict[str, Fact]:
    return {fact.name: fact for fact in sorted(declared("facts"), key=lambda fact: fact.name)}


def category_of(name: str) -> str:
    return re.split(r"[.#]", name, maxsplit=1)[0]


def source_of(name: str) -> str:
    """Return the source of a fact."""
    if path_of(name):
        return CONFIRMED if category_of(name) == "confirmed" else APPLICANT
    return catalogue()[name].source


def type_of(name: str) -> str | None:
    """Return a declared fact's type, `any` for a path of the application's data, or None for an unknown name."""
    if (fact := catalogue().get(name)) is not None:
        return fact.type
    return "any" if path_of(name) else None


def path_of(name: str) -> Sequence[str]:
    """Return the path below `application_data` in the name of a claimed or confirmed value.

    For other names, the path is empty.

    A pointer must not contain control characters or characters that change the direction of text.
    """
    if _PATH.fullmatch(name):
        return name.split(".")[1:]
    pointed = _POINTERS.fullmatch(name)
    return () if pointed is None else path_of_pointer(pointed[1])


def path_of_pointer(pointer: str) -> Sequence[str]:
    """Parse a JSON pointer into a path. The path is empty if the pointer is invalid or not allowed in a fact's name."""
    if not _POINTED.fullmatch(pointer) or not pointer.translate(_SPACES_AND_JOINERS).isprintable():
        return ()
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer_of(path: Sequence[str]) -> str:
    """Return the JSON pointer (RFC 6901) of a path."""
    return "".join(f"/{escaped(part)}" for part in path)


def confirmed_name(pointer: str) -> str:
    """Return the name of the fact for the confirmed value at a JSON pointer."""
    path = path_of_pointer(pointer)
    name = f"{_CONFIRMED}{'.'.join(path)}"
    return name if list(path_of(name)) == list(path) else f"confirmed#{pointer}"


def claim_of(name: str) -> str:
    """Return the name of the claim that a confirmed fact confirms."""
    return name.replace("confirmed", "application_data", 1)


def name_of(member: str) -> str:
    """Return the name of the fact for a field of `application_data`."""
    name = f"{APPLICATION_DATA}{member}"
    return name if _PATH.fullmatch(name) else f"{_POINTER}/{escaped(member)}"


def read_facts(
    names: Iterable[str],
    *,
    user_id: int,
    application_data: Any,
    may_read: MayRead,
    now: datetime,
    confirmed: Mapping[str, Known] | None = None,
    application: Any = None,
    currency: str = DEFAULT_CURRENCY[US],
) -> dict[str, Known]:
    """Return the named facts about an applicant. `confirmed` maps JSON pointers to the application's confirmed values.

    Amounts are in minor units of `currency`, the offer's currency. Amounts in other currencies are missing. A fact has
    the value None if it is unknown or if `may_read` excludes it. A `read` function that several facts share is called
    once.
    """
    together: dict[Read, Any] = {}
    known: dict[str, Known] = {}
    for name in sorted(names):
        if path := path_of(name):
            claim = Known(_at(application_data, path), APPLICANT, now.date())
            nothing = Known(None, CONFIRMED, None)
            known[name] = claim if is_claimed(name) else (confirmed or {}).get(pointer_of(path), nothing)
            continue
        fact = catalogue().get(name)
        subject = application if fact is not None and fact.of_application else user_id
        if fact is None or subject is None or not may_read(fact):
            known[name] = Known(None, PLATFORM if fact is None else fact.source, None)
            continue
        if fact.part is None:
            value = fact.read(subject, now, *([application] if fact.excludes_application else []))
            known[name] = Known(value, fact.source, now.date())
            continue
        if fact.read not in together:
            together[fact.read] = fact.read(subject, now, *([currency] if fact.in_currency else []))
        known[name] = part_of(fact, together[fact.read], now=now)
    return known


def part_of(fact: Fact, whole: Any, *, now: datetime) -> Known:
    """Extract a fact from `whole`, the object that the shared `read` function of several facts returned."""
    as_of = now.date() if fact.dated is None else getattr(whole, fact.dated)
    return Known(getattr(whole, str(fact.part)), fact.source, as_of)


def gather(names: Iterable[str], *, now: datetime, **about: Any) -> dict[str, Any]:
    """Return the input of a scorecard: the values of `read_facts`, and SCORED_ON."""
    return values_of(read_facts(names, now=now, **about), now=now)


def values_of(known: Mapping[str, Known], *, now: datetime) -> dict[str, Any]:
    return {SCORED_ON: now.date().isoformat(), **{name: fact.value for name, fact in known.items()}}


def _at(data: Any, path: Sequence[str]) -> Any:
    """Return the number, string, or boolean at a path below `application_data`, or None if the value is missing.

    A number in the path is a zero-based list index. For a list or an object at the path, the result is an empty list or
    object. This result does not count as missing, but no input can read it.
    """
    for part in path:
        if isinstance(data, Mapping):
            data = data.get(part)
        elif isinstance(data, list) and _INDEX.fullmatch(part) and int(part) < len(data):
            data = data[int(part)]
        else:
            return None
    return type(data)() if isinstance(data, list | dict) else data

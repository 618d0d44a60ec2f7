"""The catalog of facts: values about a person that a scorecard can read, each declared by the app that stores it.

Computing a score reads facts from the platform's own tables, without calls to third parties. Values of an application
are not declared. They are read by path, `application_data.monthly_income_cents`, or by JSON pointer (RFC 6901),
`application_data#/monthly income`. Each fact has a source, and the day of its value.

A score can reveal its input: with narrow bins, a lender's card can determine a balance to the cent. So each fact
declares its scope. Callers of `read_facts` pass a predicate of readable facts; the others are missing.
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

# An applicant shares facts with a lender by area. An area is the first part of a fact's name; each has a scope.
SHAREABLE = {"bank": "bankdata:read", "identity": "identity:read"}

# The sources of facts: who supplied the value.
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

# The categories of facts: the first part of a fact's name.
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
    """A declared fact: `read` returns its value for an account at a moment, None if unknown.

    A value is an integer, a float, a string, or a boolean; `type` is `number`, `text`, or `boolean`. `scope` is the
    required scope, or `FIRST_PARTY` for facts without one.

    Facts that are computed together share one `read`, which returns an object. `part` is the attribute with the fact's
    value. `dated` is the attribute with the day of the value; without it, the day is that of the score. With
    `in_currency`, `read` also receives a currency, and the fact is missing in other currencies. With `of_application`,
    `read` receives the application instead of the account.
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


class Known(NamedTuple):
    """The value of a fact (None if missing), its source, and the day of the value (None if unknown)."""

    value: Any
    source: str
    as_of: date | None

    @property
    def as_of_text(self) -> str | None:
        return None if self.as_of is None else self.as_of.isoformat()


# Facts that are not declared by name: paths below an application's data.
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
# Prefix of facts about the person's other applications with the lender, which only the lender may read.
PERSON = "person."


def has_person(names: Iterable[str]) -> bool:
    """Return whether these names include facts about the person's other applications (`PERSON`)."""
    return any(name.startswith(PERSON) for name in names)


def covered_by(credential: Credential) -> MayRead:
    """Return a predicate of readable facts: those whose scope the credential has."""
    return lambda fact: credential.carries(fact.scope)


def shared(share: Collection[str]) -> MayRead:
    """Return a predicate of the facts that a score may read: areas of SHAREABLE must be in `share`."""
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
    """Return the type of a declared fact, `any` for a path of the application's data, None for an unknown name."""
    if (fact := catalogue().get(name)) is not None:
        return fact.type
    return "any" if path_of(name) else None


def path_of(name: str) -> Sequence[str]:
    """Return the path below `application_data` in a name of a claimed or confirmed value; empty for other names.

    A pointer must not contain control characters or characters that change the direction of text.
    """
    if _PATH.fullmatch(name):
        return name.split(".")[1:]
    pointed = _POINTERS.fullmatch(name)
    return () if pointed is None else path_of_pointer(pointed[1])


def path_of_pointer(pointer: str) -> Sequence[str]:
    """Return the path in a JSON pointer; empty for an invalid pointer, or one that no fact's name may contain."""
    if not _POINTED.fullmatch(pointer) or not pointer.translate(_SPACES_AND_JOINERS).isprintable():
        return ()
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer_of(path: Sequence[str]) -> str:
    """Return the JSON pointer (RFC 6901) of a path."""
    return "".join(f"/{escaped(part)}" for part in path)


def confirmed_name(pointer: str) -> str:
    """Return the fact's name of the confirmed value at a pointer."""
    path = path_of_pointer(pointer)
    name = f"{_CONFIRMED}{'.'.join(path)}"
    return name if list(path_of(name)) == list(path) else f"confirmed#{pointer}"


def claim_of(name: str) -> str:
    """Return the name of the claim at a confirmed fact's path."""
    return name.replace("confirmed", "application_data", 1)


def name_of(member: str) -> str:
    """Return the fact's name of a field of `application_data`."""
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
    """Return the named facts about a person; `confirmed` has the application's confirmed values, by JSON pointer.

    Amounts are in minor units of `currency`, the offer's currency. Amounts in other currencies are missing. A fact that
    is unknown, or that `may_read` excludes, has the value None. Facts with the same `read` are read once.
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
            known[name] = Known(fact.read(subject, now), fact.source, now.date())
            continue
        if fact.read not in together:
            together[fact.read] = fact.read(subject, now, *([currency] if fact.in_currency else []))
        known[name] = part_of(fact, together[fact.read], now=now)
    return known


def part_of(fact: Fact, whole: Any, *, now: datetime) -> Known:
    """Return one fact of those computed together; `whole` is the object that their `read` returned."""
    as_of = now.date() if fact.dated is None else getattr(whole, fact.dated)
    return Known(getattr(whole, str(fact.part)), fact.source, as_of)


def gather(names: Iterable[str], *, now: datetime, **about: Any) -> dict[str, Any]:
    """Return the values of `read_facts` and SCORED_ON, as a scorecard requires them."""
    return values_of(read_facts(names, now=now, **about), now=now)


def values_of(known: Mapping[str, Known], *, now: datetime) -> dict[str, Any]:
    return {SCORED_ON: now.date().isoformat(), **{name: fact.value for name, fact in known.items()}}


def _at(data: Any, path: Sequence[str]) -> Any:
    """Return the number, string, or boolean at a path below `application_data`; None without a value.

    A number in the path is an index of a list, from 0. A list or an object at the end of the path is returned empty,
    because no input can read it but it is not missing.
    """
    for part in path:
        if isinstance(data, Mapping):
            data = data.get(part)
        elif isinstance(data, list) and _INDEX.fullmatch(part) and int(part) < len(data):
            data = data[int(part)]
        else:
            return None
    return type(data)() if isinstance(data, list | dict) else data

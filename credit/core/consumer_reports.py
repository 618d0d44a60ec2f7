"""`metadata.consumer_report` of a decision: the reports of consumer reporting agencies that it was based on.

For each, the notice of an adverse action contains what 15 USC 1681m(a) (FCRA, section 615(a)) requires.
"""

from datetime import date
from typing import Any

from config.core.errors import ValidationFailed

TEXT_MAX = 255
# 15 USC 1681g(f)(1)(C) and (9): four key factors, and a fifth where the number of inquiries is one of them.
FACTORS_MAX = 4
_REQUIRED = ("agency", "address", "phone")
_OF_SCORE = ("score", "range", "date", "factors")
_WHERE = "metadata.consumer_report"


def report_of(metadata: Any) -> dict[str, Any] | None:
    """Return the reports that a decision's metadata names, each with every member; empty if it names none.

    `consumer_report` is one report or a list of up to REPORTS_MAX: `{agency, address, phone, score?, range?, date?,
    factors?}`. They are texts, whole numbers as `score` and the two of `range`, a day, and a list of texts. `score`
    requires `range`, `date`, and `factors`. Raises ValidationFailed for any other shape, and for an agency named twice.
    """
    given = metadata.get("consumer_report") if isinstance(metadata, dict) else None
    if given is None:
        return None
    if not isinstance(given, dict):
        raise ValidationFailed.of_member(_WHERE, "Must be an object.")
    report: dict[str, Any] = {name: _text(given, name) for name in _REQUIRED}
    if all(given.get(name) is None for name in _OF_SCORE):
        return {**report, **dict.fromkeys(_OF_SCORE)}
    if not _is_number(given.get("score")):
        raise _wrong("score", "Must be a whole number; with it go `range`, `date` and `factors`.")
    span = given.get("range")
    if not isinstance(span, list) or len(span) != 2 or not all(map(_is_number, span)) or span[0] >= span[1]:
        raise _wrong("range", "Must be the lowest and the highest possible score.")
    if not span[0] <= given["score"] <= span[1]:
        raise _wrong("score", "Must be within `range`.")
    return {**report, "score": given["score"], "range": span, "date": _day(given), "factors": _factors(given)}


def _wrong(name: str, message: str) -> ValidationFailed:
    return ValidationFailed.of_member(f"{_WHERE}.{name}", message)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 1_000_000


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= TEXT_MAX and value.isprintable()


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not _is_text(value):
        raise _wrong(name, f"Must be a text of 1 to {TEXT_MAX} printable characters.")
    return str(value)


def _day(given: dict[str, Any]) -> str:
    value = given.get("date")
    try:
        if isinstance(value, str) and date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise _wrong("date", "Must be a day such as 2026-01-31.")


def _factors(given: dict[str, Any]) -> list[str]:
    factors = given.get("factors")
    if not isinstance(factors, list) or not factors or not all(map(_is_text, factors)):
        raise _wrong("factors", "Must be a list of texts, the most important first.")
    tells_inquiries = any("inquir" in factor.casefold() for factor in factors)
    if len(factors) > FACTORS_MAX + tells_inquiries:
        raise _wrong("factors", f"At most {FACTORS_MAX}, or one more where the number of inquiries is one.")
    return list(factors)

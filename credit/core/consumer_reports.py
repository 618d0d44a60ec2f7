"""Validation of `metadata.consumer_report`: the consumer reports on which a decision was based.

For each report, the adverse action notice contains the information that 15 USC 1681m(a) (FCRA, section 615(a))
requires.
"""

from typing import Any

from config.core.errors import ValidationFailed
from config.core.json_text import day_of
from config.core.names import clean_words
from credit.core.applicants import APPLICANTS_MAX, FIRST
from credit.core.machine import COUNTEROFFER

TEXT_MAX = 255
# 15 USC 1681g(f)(1)(C) and (9) require up to four key factors. If the number of inquiries is not among the four, it can
# be a fifth factor.
FACTORS_MAX = 4
REPORTS_MAX = 5
_REQUIRED = ("agency", "address", "phone")
_OF_SCORE = ("score", "range", "date", "factors")
RANK = "ranks_above_percent"
CATEGORIES_MAX = 20
# Directive (EU) 2023/2225, Art. 19(6), requires these fields if a rejection is based on a database.
RESULT, CATEGORIES, SUPPLIER = "result", "categories", "supplier"
_MEMBER = "consumer_report"


def where_of(member: str, to: str) -> str:
    """Return a field's path in the request body: below `metadata` for a decision, at the top for a counteroffer."""
    return member if to == COUNTEROFFER else f"metadata.{member}"


def reports_of(metadata: Any, *, applicants: int = APPLICANTS_MAX, to: str = "") -> list[dict[str, Any]]:
    """Return the consumer reports of a decision's metadata, each with all fields. Without reports, the list is empty.

    `consumer_report` is a report, or a list of up to REPORTS_MAX reports per applicant: `{agency, address, phone,
    score?, range?, date?, factors?, ranks_above_percent?, applicant?, result?, categories?, supplier?}`. `score` and
    the two values of `range` are integers, `date` is a date, and `factors` and `categories` are lists of strings.
    `ranks_above_percent` is the percentage of consumers with a lower score. `applicant` is the number of the report's
    applicant, from 1 (the default) to `applicants`. `categories` are the categories of the report's data. `supplier` is
    the company that supplied the report. `score` requires `range`, `date`, and `factors`. Raises ValidationFailed for
    any other format, and if two reports about an applicant have the same agency.
    """
    named, where = metadata.get(_MEMBER) if isinstance(metadata, dict) else None, where_of(_MEMBER, to)
    if named is None:
        return []
    if not isinstance(named, list):
        return [_report(named, where, applicants)]
    if not 1 <= len(named) <= REPORTS_MAX * applicants:
        most = "up to" if applicants == 1 else "for each applicant up to"
        raise ValidationFailed.of_member(where, f"Must be a report, or a list of {most} {REPORTS_MAX} reports.")
    reports = [_report(item, f"{where}[{position}]", applicants) for position, item in enumerate(named)]
    for applicant in {report["applicant"] for report in reports}:
        agencies = [report["agency"].casefold() for report in reports if report["applicant"] == applicant]
        if len(agencies) > REPORTS_MAX or len(set(agencies)) < len(agencies):
            message = f"Must have at most {REPORTS_MAX} reports for each applicant, with each agency only once."
            raise ValidationFailed.of_member(where, message)
    return reports


def _report(named: Any, where: str, applicants: int) -> dict[str, Any]:
    if not isinstance(named, dict):
        raise ValidationFailed.of_member(where, "Must be an object.")
    report: dict[str, Any] = {name: _text(named, name, where) for name in _REQUIRED}
    report["applicant"] = named.get("applicant", FIRST)
    if type(report["applicant"]) is not int or not FIRST <= report["applicant"] <= applicants:
        message = (
            f"Must be the number of an applicant: {FIRST} to {applicants}." if applicants > FIRST else "Must be 1."
        )
        raise _wrong(where, "applicant", message)
    for name in (RESULT, SUPPLIER):
        report[name] = None if named.get(name) is None else _text(named, name, where)
    report[CATEGORIES] = None if named.get(CATEGORIES) is None else _categories(named, where)
    if all(named.get(name) is None for name in _OF_SCORE):
        return {**report, **dict.fromkeys((*_OF_SCORE, RANK))}
    if not _is_number(named.get("score")):
        raise _wrong(where, "score", "Must be a whole number; it requires `range`, `date`, and `factors`.")
    span = named.get("range")
    if not isinstance(span, list) or len(span) != 2 or not all(map(_is_number, span)) or span[0] >= span[1]:
        raise _wrong(where, "range", "Must be the lowest and the highest possible score.")
    if not span[0] <= named["score"] <= span[1]:
        raise _wrong(where, "score", "Must be within `range`.")
    rank = named.get(RANK)
    if rank is not None and not (type(rank) is int and 0 <= rank <= 100):
        raise _wrong(where, RANK, "Must be a whole number from 0 to 100.")
    day, factors = _day(named, where), _factors(named, where)
    return {**report, "score": named["score"], "range": span, "date": day, "factors": factors, RANK: rank}


def _wrong(where: str, name: str, message: str) -> ValidationFailed:
    return ValidationFailed.of_member(f"{where}.{name}", message)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 1_000_000


def _words(value: Any) -> str:
    """Clean a string with `clean_words`. Raises ValueError for other types and for invalid strings."""
    if not isinstance(value, str) or len(value) > TEXT_MAX:
        raise ValueError
    return clean_words(value)


def _text(report: dict[str, Any], name: str, where: str) -> str:
    try:
        return _words(report.get(name))
    except ValueError:
        raise _wrong(where, name, f"Must be a string of 1 to {TEXT_MAX} printable characters.") from None


def _day(report: dict[str, Any], where: str) -> str:
    day = day_of(report.get("date"))
    if day is None:
        raise _wrong(where, "date", "Must be a date such as 2026-01-31.")
    return day.isoformat()


def _list_of_words(named: Any) -> list[str]:
    """Return a list of cleaned strings, or an empty list if the value is not a list of valid strings."""
    try:
        return [_words(item) for item in named] if isinstance(named, list) else []
    except ValueError:
        return []


def _categories(report: dict[str, Any], where: str) -> list[str]:
    categories = _list_of_words(report[CATEGORIES])
    if not 1 <= len(categories) <= CATEGORIES_MAX:
        raise _wrong(where, CATEGORIES, f"Must be a list of 1 to {CATEGORIES_MAX} strings, such as payment history.")
    return categories


def require_result(reports: list[dict[str, Any]], to: str) -> None:
    """Require `result` and `categories` in each report (Art. 19(6)). Otherwise raise ValidationFailed."""
    for position, report in enumerate(reports):
        for name in (RESULT, CATEGORIES):
            if report[name] is None:
                message = "Required if a rejection in the European Union is based on a report (Article 19(6))."
                raise _wrong(f"{where_of(_MEMBER, to)}[{position}]", name, message)


def _factors(report: dict[str, Any], where: str) -> list[str]:
    factors = _list_of_words(report.get("factors"))
    if not factors:
        raise _wrong(where, "factors", "Must be a list of strings, the most important first.")
    tells_inquiries = any("inquir" in factor.casefold() for factor in factors)
    if len(factors) > FACTORS_MAX + tells_inquiries:
        raise _wrong(
            where,
            "factors",
            f"Must have at most {FACTORS_MAX} factors, or one more if a factor is the number of inquiries.",
        )
    return factors

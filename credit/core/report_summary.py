"""The schema of the report summary that the adapter of every vendor returns."""

import re
from datetime import date, datetime, timedelta
from typing import Any

from config.core.errors import ValidationFailed
from credit.core.consumer_reports import RANK, TEXT_MAX, reports_of

FIGURES = (
    "income_monthly_cents", "obligations_monthly_cents", "delinquencies_24_months", "inquiries_6_months",
    "oldest_account_months",
)  # fmt: skip
_SCORE = {"value", "min", "max", "factors", "supplier", RANK}
_AGENCY = {"name", "address", "phone", "website"}
_MEMBERS = {"score", "agency", "categories", "result", "currency", *FIGURES}
CURRENCY = "USD"  # the default currency of a summary
_CODE = re.compile(r"[A-Z]{3}", re.ASCII)
_FIGURE_MAX = 10**12
CATEGORIES_MAX = 20
# Maps the fields of `consumer_report_of` to the paths of a summary, for error messages.
_PLACES = {
    "agency": "agency.name", "address": "agency.address", "phone": "agency.phone", "score": "score.value",
    "range": "score.min and score.max", "factors": "score.factors", RANK: f"score.{RANK}", "supplier": "score.supplier",
}  # fmt: skip
RAW_MAX_BYTES = 1_048_576
LATEST = timedelta(hours=24)  # the maximum time to wait for a report


def checked_summary(summary: Any) -> dict[str, Any]:
    """Validate a summary, and return it with all fields. Missing values become None."""
    _only(summary, _MEMBERS, "summary")
    _only(summary.get("agency"), _AGENCY, "agency")
    score = summary.get("score")
    if score is not None:
        _only(score, _SCORE, "score")
    for name in FIGURES:
        value = summary.get(name)
        if value is not None and not (type(value) is int and 0 <= value <= _FIGURE_MAX):
            raise ValueError(f"{name} must be a whole number from 0")
    currency = summary.get("currency") or CURRENCY
    if not isinstance(currency, str) or not _CODE.fullmatch(currency):
        raise ValueError("currency must be an ISO 4217 code such as USD")
    categories = summary.get("categories") or []
    if not isinstance(categories, list) or len(categories) > CATEGORIES_MAX:
        raise ValueError(f"categories must be a list of up to {CATEGORIES_MAX} texts")
    texts = [*categories, summary.get("result"), summary["agency"].get("website"), score and score.get("supplier")]
    if not all(text is None or (isinstance(text, str) and len(text) <= TEXT_MAX) for text in texts):
        raise ValueError(f"result, categories, website and supplier must be texts of up to {TEXT_MAX} characters")
    try:
        reports_of({"consumer_report": consumer_report_of(summary, applicant=1, day="2026-01-31")})
    except ValidationFailed as error:
        details: Any = error.details
        name = details[0]["field"].rpartition(".")[2]
        raise ValueError(f"{_PLACES.get(name, name)}: {details[0]['message']}") from None
    return {
        "score": score and {**dict.fromkeys(_SCORE), **score},
        "agency": {**dict.fromkeys(_AGENCY), **summary["agency"]},
        "categories": categories,
        "result": summary.get("result"),
        "currency": currency,
        **{name: summary.get(name) for name in FIGURES},
    }


def checked_raw(raw: Any) -> str | None:
    """Return a vendor's raw response.

    Raises ValueError unless the response is None, or a text of at most RAW_MAX_BYTES.
    """
    if raw is not None and not (isinstance(raw, str) and len(raw.encode()) <= RAW_MAX_BYTES):
        raise ValueError(f"raw must be a string of at most {RAW_MAX_BYTES} bytes")
    return raw


def checked_dates(as_of: Any, expires_at: Any) -> None:
    """Raise ValueError unless `as_of` is a date, and `expires_at` is None or a datetime with a time zone."""
    if type(as_of) is not date:
        raise ValueError("as_of must be a date")
    if expires_at is not None and not (isinstance(expires_at, datetime) and expires_at.tzinfo):
        raise ValueError("expires_at must be a datetime with a time zone")


def consumer_report_of(summary: dict[str, Any], *, applicant: int, day: str) -> dict[str, Any]:
    """Convert a summary to the format of `metadata.consumer_report`, from which notices are created."""
    agency, score = summary["agency"], summary.get("score") or {}
    members = {
        "agency": agency.get("name"),
        "address": agency.get("address"),
        "phone": agency.get("phone"),
        "applicant": applicant,
        "result": summary.get("result"),
        "categories": summary.get("categories") or None,
        "supplier": score.get("supplier"),
    }
    if score:
        span = [score.get("min"), score.get("max")]
        members |= {"score": score.get("value"), "range": span, "date": day, "factors": score.get("factors")}
        members[RANK] = score.get(RANK)
    return {name: value for name, value in members.items() if value is not None}


def _only(value: Any, members: set[str], what: str) -> None:
    if not isinstance(value, dict) or not set(value) <= members:
        raise ValueError(f"{what} must be an object of {', '.join(sorted(members))}")

"""Check the values that an open-banking adapter returns, for `check_vendor` and for each call of an adapter.

If a value is faulty, each function returns a description of the fault, which contains no value of the response.
Otherwise, it returns an empty string.
"""

import re
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from typing import Any

from config.core.adapters import is_text
from config.core.ids import INT64_MAX
from identity.providers.base import SUCCESS, LinkedItem, LinkToken, NameMatch, Progress, VerificationState

REFERENCE_MAX_LENGTH = 255
_LONGEST_URL = 2048
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def _text(longest: int, value: Any) -> str:
    return "" if is_text(value, longest) else f"must be a string of 1 to {longest} characters"


def _text_or_none(longest: int, value: Any) -> str:
    is_right = value is None or value == "" or is_text(value, longest)
    return "" if is_right else f"must be None, or a string of at most {longest} characters"


def _cents(value: Any) -> str:
    return "" if type(value) is int and abs(value) <= INT64_MAX else "must be an integer of 64 bits"


def _cents_or_none(value: Any) -> str:
    return "" if value is None or not _cents(value) else "must be None, or an integer of 64 bits"


def _day(value: Any) -> str:
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            date.fromisoformat(value)
        except ValueError:
            return "must be a day such as 2026-01-31"
        return ""
    return "must be a day such as 2026-01-31"


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "must be True or False"


_Rules = dict[str, Callable[[Any], str]]
_ACCOUNT: _Rules = {
    **dict.fromkeys(("account_id", "item_id", "name"), partial(_text, 255)),
    "type": partial(_text, 64),
    **dict.fromkeys(("official_name", "institution_name", "persistent_account_id"), partial(_text_or_none, 255)),
    **dict.fromkeys(("subtype", "institution_id"), partial(_text_or_none, 64)),
    **dict.fromkeys(("mask", "currency"), partial(_text_or_none, 16)),
    **dict.fromkeys(("available_cents", "current_cents", "limit_cents"), _cents_or_none),
}
_BOOKING: _Rules = {
    **dict.fromkeys(("transaction_id", "account_id", "name"), partial(_text, 255)),
    **dict.fromkeys(("item_id", "merchant_name", "category"), partial(_text_or_none, 255)),
    "currency": partial(_text_or_none, 16),
    "amount_cents": _cents,
    "date": _day,
    "pending": _flag,
}


def _fault_of_rows(rows: Any, rules: _Rules) -> str:
    if not isinstance(rows, list):
        return "must return a list"
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            return f"entry {number} must be a dictionary"
        for name, rule in rules.items():
            fault = rule(row[name]) if name in row else "is missing"
            if fault:
                return f"entry {number}: `{name}` {fault}"
        if unknown := row.keys() - rules.keys():
            return f"entry {number} has keys that the platform does not know: {len(unknown)}"
    return ""


def fault_of_accounts(rows: Any) -> str:
    return _fault_of_rows(rows, _ACCOUNT)


def fault_of_bookings(rows: Any) -> str:
    return _fault_of_rows(rows, _BOOKING)


def fault_of_link(link: Any) -> str:
    if not isinstance(link, LinkToken) or not is_text(link.link_token, _LONGEST_URL):
        return "must return a LinkToken with a non-empty link token"
    is_aware = isinstance(link.expiration, datetime) and link.expiration.tzinfo is not None
    return "" if is_aware else "expiration must be a future datetime with a time zone"


def fault_of_item(item: Any) -> str:
    is_whole = isinstance(item, LinkedItem) and is_text(item.access_token, _LONGEST_URL) and is_text(item.item_id, 255)
    return "" if is_whole else "must return a LinkedItem with both fields"


def fault_of_state(state: Any) -> str:
    if not isinstance(state, VerificationState) or not is_text(state.reference, REFERENCE_MAX_LENGTH):
        return "must return a VerificationState with a reference and steps"
    if not isinstance(state.steps, dict) or not all(
        is_text(name, 255) and is_text(step, 255) for name, step in state.steps.items()
    ):
        return "steps must be a dictionary of strings"
    progress: Any = state.progress
    name_match: Any = state.name_match
    if not isinstance(progress, Progress) or not isinstance(name_match, NameMatch):
        return "progress must be a Progress, and name_match a NameMatch"
    if not is_text(state.status, 64):
        return "status must be a string of 1 to 64 characters"
    if progress is Progress.PASSED and state.status != SUCCESS:
        return f"status must be {SUCCESS!r} if progress is PASSED"
    is_web = state.hosted_url is None or (
        is_text(state.hosted_url, _LONGEST_URL) and state.hosted_url.startswith(("https://", "http://"))
    )
    return "" if is_web else "hosted_url must be None or the URL of a page"


def fault_of_reference(reference: Any) -> str:
    is_right = reference is None or is_text(reference, REFERENCE_MAX_LENGTH)
    return "" if is_right else "must return None, or the reference of a verification"

"""Check an open-banking adapter against its vendor's sandbox."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from django.utils import timezone

from config.core.adapters import attempt
from config.core.credentials import InvalidSignature, TimestampOutOfRange
from identity.bank.serializers import BankAccountPayload, BankTransactionPayload
from identity.providers.base import LinkedItem, LinkToken, OpenBanking, TokenRefused, VerificationState, booked_since

_REPEATS = 2
_WRONG = "not-a-token"
Line = tuple[str, str]


def check_open_banking(vendor: OpenBanking, public_token: str) -> Iterator[Line]:
    """Link, read, and remove a sandbox item. Yield each check and its error, which is empty if the check passes."""
    name = getattr(vendor, "name", None)
    yield "name", "" if isinstance(name, str) and 0 < len(name) <= 32 else "must be a string of 1 to 32 characters"
    yield from _check_verification(vendor)
    link, fault = attempt(vendor.create_link_token, user_id="1")
    yield "create_link_token", fault or _fault_of_link(link)
    _, fault = attempt(vendor.exchange_public_token, _WRONG)
    yield "exchange_public_token of a wrong token", _must_raise(fault, TokenRefused)
    _, fault = attempt(vendor.verify_event, _WRONG, b"{}", now=timezone.now())
    yield "verify_event of a forged event", _must_raise(fault, InvalidSignature, TimestampOutOfRange)
    item, fault = attempt(vendor.exchange_public_token, public_token)
    if not fault and not (isinstance(item, LinkedItem) and item.access_token and item.item_id):
        fault = "must return a LinkedItem with both fields"
    yield "exchange_public_token", fault
    if fault:
        return
    yield from _check_item(vendor, item.access_token)
    for what in ("remove_item", "remove_item of a removed item"):
        yield what, attempt(vendor.remove_item, item.access_token)[1]


def _check_verification(vendor: OpenBanking) -> Iterator[Line]:
    about: dict[str, Any] = {"client_user_id": "check-vendor", "template_id": None, "redirect_uri": None}
    first, fault = attempt(vendor.create_verification, **about)
    yield "create_verification", fault or _fault_of_state(first)
    if fault:
        return
    for what, (again, fault) in (
        ("create_verification of the same user", attempt(vendor.create_verification, **about)),
        ("read_verification", attempt(vendor.read_verification, first.reference)),
    ):
        is_same = fault or again.reference == first.reference
        yield what, fault or _fault_of_state(again) or ("" if is_same else "must return the same verification")


def _check_item(vendor: OpenBanking, access_token: str) -> Iterator[Line]:
    link, fault = attempt(vendor.create_link_token, user_id="1", access_token=access_token)
    yield "create_link_token of an item", fault or _fault_of_link(link)
    accounts, fault = attempt(vendor.list_accounts, access_token)
    yield "list_accounts", fault or _fault_of_rows(accounts, BankAccountPayload)
    for _ in range(_REPEATS):
        again, fault = attempt(vendor.list_accounts, access_token)
        is_same = fault or _ids(again, "account_id") == _ids(accounts, "account_id")
        yield "list_accounts again", fault or ("" if is_same else "must return the same account IDs")
    bookings, fault = attempt(vendor.list_transactions, access_token)
    yield "list_transactions", fault or _fault_of_rows(bookings, BankTransactionPayload)
    if fault or not bookings:
        return
    unknown = _ids(bookings, "account_id") - _ids(accounts or [], "account_id")
    yield "accounts of transactions", f"list_accounts has no {', '.join(sorted(unknown))}" if unknown else ""
    days = sorted(booking["date"] for booking in bookings)
    for day in dict.fromkeys((days[0], days[len(days) // 2], days[-1])):
        since = date.fromisoformat(day)
        later, fault = attempt(vendor.list_transactions, access_token, since=since)
        wanted = _ids(booked_since(bookings, since), "transaction_id")
        is_whole = fault or _ids(later, "transaction_id") == wanted
        yield f"list_transactions since {day}", fault or ("" if is_whole else "must return the same transactions")


def _ids(rows: Any, name: str) -> set[str]:
    return {row[name] for row in rows}


def _must_raise(fault: str, *errors: type[Exception]) -> str:
    names = [error.__name__ for error in errors]
    is_right = any(fault.startswith(f"raised {name}") for name in names)
    return "" if is_right else fault or f"must raise {' or '.join(names)}"


def _fault_of_link(link: Any) -> str:
    if not isinstance(link, LinkToken) or not link.link_token:
        return "must return a LinkToken with a non-empty link token"
    is_aware = isinstance(link.expiration, datetime) and link.expiration.tzinfo is not None
    return (
        "" if is_aware and link.expiration > timezone.now() else "expiration must be a future datetime with a time zone"
    )


def _fault_of_state(state: Any) -> str:
    is_whole = isinstance(state, VerificationState) and state.reference and isinstance(state.steps, dict)
    return "" if is_whole else "must return a VerificationState with a reference and steps"


def _fault_of_rows(rows: Any, payload: Any) -> str:
    """Return the error of the first row that the platform can't store, or an empty string."""
    if not isinstance(rows, list):
        return "must return a list"
    for row in rows:
        checked = payload(data=row)
        if not checked.is_valid():
            return f"the platform can't store {row}: {checked.errors}"
    return ""

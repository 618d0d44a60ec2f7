"""Check an open-banking adapter against its vendor's sandbox."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from django.utils import timezone

from config.core.adapters import attempt
from config.core.credentials import InvalidSignature, TimestampOutOfRange
from identity.providers import answers
from identity.providers.base import OpenBanking, TokenRefused, booked_since

_REPEATS = 2
_WRONG = "not-a-token"
_FORGED = {"Plaid-Verification": _WRONG}
Line = tuple[str, str]


def check_open_banking(vendor: OpenBanking, public_token: str) -> Iterator[Line]:
    """Link, read, and remove a sandbox item. Yield each check and its error, which is empty if the check passes."""
    name = getattr(vendor, "name", None)
    yield "name", "" if isinstance(name, str) and 0 < len(name) <= 32 else "must be a string of 1 to 32 characters"
    yield from _check_verification(vendor)
    link, fault = attempt(vendor.create_link_token, user_id="1")
    yield "create_link_token", fault or _fault_of_future_link(link)
    _, fault = attempt(vendor.exchange_public_token, _WRONG)
    yield "exchange_public_token of a wrong token", _must_raise(fault, TokenRefused)
    _, fault = attempt(vendor.verify_event, _FORGED, b"{}", now=timezone.now())
    yield "verify_event of a forged event", _must_raise(fault, InvalidSignature, TimestampOutOfRange)
    item, fault = attempt(vendor.exchange_public_token, public_token)
    fault = fault or answers.fault_of_item(item)
    yield "exchange_public_token", fault
    if fault:
        return
    yield from _check_item(vendor, item.access_token)
    for what in ("remove_item", "remove_item of a removed item"):
        yield what, attempt(vendor.remove_item, item.access_token)[1]


def _check_verification(vendor: OpenBanking) -> Iterator[Line]:
    about: dict[str, Any] = {"client_user_id": "check-vendor", "template_id": None, "redirect_uri": None}
    first, fault = attempt(vendor.create_verification, **about)
    fault = fault or answers.fault_of_state(first)
    yield "create_verification", fault
    if fault:
        return
    for what, (again, error) in (
        ("create_verification of the same user", attempt(vendor.create_verification, **about)),
        ("read_verification", attempt(vendor.read_verification, first.reference)),
    ):
        fault = error or answers.fault_of_state(again)
        yield what, fault or ("" if again.reference == first.reference else "must return the same verification")


def _check_item(vendor: OpenBanking, access_token: str) -> Iterator[Line]:
    link, fault = attempt(vendor.create_link_token, user_id="1", access_token=access_token)
    yield "create_link_token of an item", fault or _fault_of_future_link(link)
    accounts, fault = attempt(vendor.list_accounts, access_token)
    fault = fault or answers.fault_of_accounts(accounts)
    yield "list_accounts", fault
    if fault:
        return
    for _ in range(_REPEATS):
        again, fault = attempt(vendor.list_accounts, access_token)
        fault = fault or answers.fault_of_accounts(again)
        is_same = fault or _ids(again, "account_id") == _ids(accounts, "account_id")
        yield "list_accounts again", fault or ("" if is_same else "must return the same account IDs")
    bookings, fault = attempt(vendor.list_transactions, access_token)
    fault = fault or answers.fault_of_bookings(bookings)
    yield "list_transactions", fault
    if fault or not bookings:
        return
    unknown = _ids(bookings, "account_id") - _ids(accounts, "account_id")
    yield "accounts of transactions", f"list_accounts has no {', '.join(sorted(unknown))}" if unknown else ""
    days = sorted(booking["date"] for booking in bookings)
    for day in dict.fromkeys((days[0], days[len(days) // 2], days[-1])):
        since = date.fromisoformat(day)
        later, fault = attempt(vendor.list_transactions, access_token, since=since)
        fault = fault or answers.fault_of_bookings(later)
        wanted = _ids(booked_since(bookings, since), "transaction_id")
        is_whole = fault or _ids(later, "transaction_id") == wanted
        yield f"list_transactions since {day}", fault or ("" if is_whole else "must return the same transactions")


def _ids(rows: Any, name: str) -> set[str]:
    return {row[name] for row in rows}


def _must_raise(fault: str, *errors: type[Exception]) -> str:
    names = [error.__name__ for error in errors]
    is_right = any(fault.startswith(f"raised {name}") for name in names)
    return "" if is_right else fault or f"must raise {' or '.join(names)}"


def _fault_of_future_link(link: Any) -> str:
    fault = answers.fault_of_link(link)
    return fault or (
        "" if link.expiration > timezone.now() else "expiration must be a future datetime with a time zone"
    )

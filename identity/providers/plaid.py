"""An adapter for Plaid (API version 2020-09-14): requests, responses, and the mapping of errors.

Amounts are parsed as decimals and converted to cents. A response without required fields is treated like a missing
response. Logs contain the path and the error code, but never a body.
"""

import logging
import re
import time
from collections.abc import Mapping
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NoReturn

from django.conf import settings

from config.clients.provider import READ_TIMEOUT_SECONDS, ProviderAnswer, ProviderError, call
from config.core.adapters import is_text
from config.core.currencies import exponent_of
from config.core.ids import INT64_MAX
from config.core.json_text import parse_rfc3339
from identity.providers import base
from identity.providers.answers import REFERENCE_MAX_LENGTH
from identity.providers.base import Account, LinkedItem, LinkToken, NameMatch, Progress, Transaction, VerificationState
from identity.providers.plaid_events import reference_of, verify_event

logger = logging.getLogger("platform.providers")

API_VERSION = "2020-09-14"
TOTAL_SECONDS = 25.0  # this limits all calls of a request, and callers wait at most 30 s
TRANSACTIONS_PER_PAGE = 250  # a transaction has up to 2 kB, and a response up to 1 MiB
TRANSACTION_PAGES_MAX = 40
SYNC_TRIES = 3
RETRY_SECONDS = 60  # the default if Plaid's response has no Retry-After

_LOGIN_CODES = frozenset(
    {
        "ITEM_LOGIN_REQUIRED", "INVALID_CREDENTIALS", "INVALID_MFA", "INSUFFICIENT_CREDENTIALS",
        "USER_SETUP_REQUIRED", "PASSWORD_RESET_REQUIRED", "ITEM_LOCKED", "INVALID_SEND_METHOD", "INVALID_PHONE_NUMBER",
        "INVALID_OTP", "INVALID_UPDATED_USERNAME", "ACCESS_NOT_GRANTED", "ADDITIONAL_CONSENT_REQUIRED",
        "USER_INPUT_TIMEOUT", "NO_ACCOUNTS", "NO_AUTH_ACCOUNTS", "PENDING_EXPIRATION", "PENDING_DISCONNECT",
    }
)  # fmt: skip
_REFUSED_CODES = frozenset(
    {
        "INVALID_ACCESS_TOKEN", "INVALID_PUBLIC_TOKEN", "ITEM_NOT_FOUND", "ITEM_CONCURRENTLY_DELETED",
        "ITEM_NOT_SUPPORTED", "MFA_NOT_SUPPORTED", "INSTITUTION_NO_LONGER_SUPPORTED", "USER_PERMISSION_REVOKED",
        "USER_ACCOUNT_REVOKED",
    }
)  # fmt: skip
# Only the operator can fix these errors. Codes outside of all lists mean that the bank is not available.
_OUR_CODES = frozenset(
    {
        "INVALID_API_KEYS", "UNAUTHORIZED_ENVIRONMENT", "UNAUTHORIZED_ROUTE_ACCESS", "INVALID_PRODUCT",
        "MISSING_FIELDS", "UNKNOWN_FIELDS", "INVALID_FIELD", "INVALID_BODY", "INVALID_HEADERS", "INVALID_CONFIGURATION",
        "INVALID_INSTITUTION", "INCOMPATIBLE_API_VERSION", "DIRECT_INTEGRATION_NOT_ENABLED", "PRODUCTS_NOT_SUPPORTED",
        "PRODUCT_NOT_ENABLED", "PLAID_DIRECT_ITEM_IMPORT_RETURNED_INVALID_MFA", "UNAUTHORIZED_INSTITUTION",
        "INSTITUTION_REGISTRATION_REQUIRED", "INSTITUTION_NOT_ENABLED_IN_ENVIRONMENT", "INSTITUTION_NOT_FOUND",
        "INVALID_LINK_CUSTOMIZATION", "NO_LONGER_AVAILABLE", "NOT_FOUND", "SANDBOX_ONLY",
    }
)  # fmt: skip
_MUTATION = "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION"
_PROGRESS_OF = {
    "active": Progress.WAITING,
    base.SUCCESS: Progress.PASSED,
    "failed": Progress.FAILED,
    "pending_review": Progress.REVIEW,
    "expired": Progress.EXPIRED,
    "canceled": Progress.CANCELED,
}
_NAME_MATCH_OF = {"match": NameMatch.MATCH, "partial_match": NameMatch.PARTIAL, "no_match": NameMatch.NO_MATCH}
# The states of a step that has not started.
_UNTOUCHED = frozenset({"active", "waiting_for_prerequisite", "not_applicable", "skipped"})
# Plaid's codes are upper case. Other values, such as tokens, must not appear in logs.
_WORD = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)


class PlaidRefusal(base.BankingUnavailable):
    """Plaid returned an error. `word` is Plaid's error code."""

    def __init__(self, word: str, answer: ProviderAnswer, headers: dict[str, str]) -> None:
        status = base.ItemStatus.INTERNAL if word in _OUR_CODES else base.ItemStatus.BANK_DOWN
        super().__init__(f"it returned {word}", headers, item_status=status)
        self.word, self.answer = word, answer


class Plaid:
    """The adapter for Plaid. `identity.providers.base` documents the methods."""

    name = "plaid"

    def __init__(self) -> None:
        self._deadline = time.monotonic() + TOTAL_SECONDS

    def create_verification(
        self,
        *,
        client_user_id: str,
        template_id: str | None,
        redirect_uri: str | None,  # noqa: ARG002
    ) -> VerificationState:
        body = {
            "client_user_id": client_user_id,
            "template_id": template_id or settings.PLAID_TEMPLATE_ID,
            "is_shareable": True,
            "gave_consent": False,
            "is_idempotent": True,
        }
        return _verification(self._send("/identity_verification/create", body))

    def read_verification(self, reference: str) -> VerificationState:
        return _verification(self._send("/identity_verification/get", {"identity_verification_id": reference}))

    def webhook_key(self, key_id: str) -> dict[str, Any] | None:
        """Return the public key (JWK) that signs events. Returns None if Plaid rejects the key ID."""
        try:
            return _object(self._send("/webhook_verification_key/get", {"key_id": key_id}), "key")
        except PlaidRefusal as refusal:
            if refusal.answer.status == 400:
                return None
            raise

    def verify_event(self, headers: Mapping[str, str], body: bytes, *, now: datetime) -> str | None:
        verify_event(headers.get("Plaid-Verification", ""), body, now=now, fetch_key=self.webhook_key)
        return reference_of(body)

    def create_link_token(self, *, user_id: str, access_token: str | None = None) -> LinkToken:
        body: dict[str, Any] = {
            "client_name": settings.PROVIDER_NAME[:30],
            "language": "en",
            "country_codes": settings.PLAID_COUNTRY_CODES,
            "user": {"client_user_id": user_id},
        }
        body |= {"products": ["transactions"]} if access_token is None else {"access_token": access_token}
        document = self._send("/link/token/create", body)
        return LinkToken(_text(document, "link_token"), _moment(document, "expiration"))

    def exchange_public_token(self, public_token: str) -> LinkedItem:
        document = self._send("/item/public_token/exchange", {"public_token": public_token})
        return LinkedItem(_text(document, "access_token"), _text(document, "item_id", longest=255))

    def list_accounts(self, access_token: str) -> list[Account]:
        document = self._send("/accounts/get", {"access_token": access_token})
        item = _object(document, "item")
        _text(item, "item_id", longest=255)
        return [_account(entry, item) for entry in _objects(document, "accounts")]

    def list_transactions(self, access_token: str, *, since: date | None = None) -> list[Transaction]:
        # If transactions change between the requests of two pages, Plaid requires a restart from the first page.
        for _ in range(SYNC_TRIES):
            try:
                return base.booked_since(self._sync(access_token, has_history=since is not None), since)
            except PlaidRefusal as refusal:
                if refusal.word != _MUTATION:
                    raise
        raise base.BankingUnavailable("the transactions keep changing", {"Retry-After": str(RETRY_SECONDS)})

    def _sync(self, access_token: str, *, has_history: bool) -> list[Transaction]:
        """Read all pages of the item's changes. Return the resulting transactions.

        With `has_history`, raises BankingUnavailable until Plaid has fetched the item's history. Until then, Plaid
        returns no transactions or only the transactions of 30 days.
        """
        bookings: dict[str, Transaction] = {}
        body: dict[str, Any] = {"access_token": access_token, "count": TRANSACTIONS_PER_PAGE}
        for _ in range(TRANSACTION_PAGES_MAX):
            document = self._send("/transactions/sync", body)
            if has_history and document.get("transactions_update_status") != "HISTORICAL_UPDATE_COMPLETE":
                raise base.BankingUnavailable("it has no history yet", {"Retry-After": str(RETRY_SECONDS)})
            for entry in (*_objects(document, "added"), *_objects(document, "modified")):
                booking = _transaction(entry)
                bookings[booking["transaction_id"]] = booking
            for entry in _objects(document, "removed"):
                bookings.pop(_text(entry, "transaction_id"), None)
            if document.get("has_more") is not True:
                return list(bookings.values())
            body["cursor"] = _text(document, "next_cursor")
        raise base.BankingUnavailable("it has more transactions than one request can read")

    def remove_item(self, access_token: str) -> None:
        try:
            self._send("/item/remove", {"access_token": access_token})
        except base.TokenRefused:
            logger.info("the item was gone already")

    def _send(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request.

        Raises BankingUnavailable. If the body contains a token, also raises TokenRefused or LoginRequired.
        """
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise base.BankingUnavailable("it took too long")
        try:
            answer = call(
                "POST",
                f"{settings.PLAID_BASE_URL}{path}",
                seconds=min(READ_TIMEOUT_SECONDS, remaining),
                json=body,
                headers={
                    "PLAID-CLIENT-ID": settings.PLAID_CLIENT_ID,
                    "PLAID-SECRET": settings.PLAID_SECRET,
                    "Plaid-Version": API_VERSION,
                },
            )
        except ProviderError as error:
            logger.warning("plaid %s: %s", path, error.word)
            raise base.BankingUnavailable(error.word) from None  # the cause may contain the request
        document = _read(answer)
        if answer.status == 200 and document is not None:
            return document
        if document is None or not isinstance(document.get("error_code"), str):
            logger.warning("plaid %s: status %d without a readable error", path, answer.status)
            raise base.BankingUnavailable(f"it returned the status {answer.status}")
        word = _word(document["error_code"])
        if "access_token" in body or "public_token" in body:
            if word in _LOGIN_CODES:
                raise base.LoginRequired
            if word in _REFUSED_CODES:
                raise base.TokenRefused
        logger.warning("plaid %s: %s", path, word)
        raise PlaidRefusal(word, answer, _retry_headers(word, answer, document))


def _retry_headers(word: str, answer: ProviderAnswer, document: dict[str, Any]) -> dict[str, str]:
    limited = answer.status == 429 or document.get("error_type") == "RATE_LIMIT_EXCEEDED"
    if not limited and word != "PRODUCT_NOT_READY":
        return {}
    seconds = answer.headers.get("retry-after", "")
    return {"Retry-After": seconds if re.fullmatch(r"[0-9]{1,5}", seconds, re.ASCII) else str(RETRY_SECONDS)}


def _word(value: Any) -> str:
    """Return a valid error code of Plaid. Returns a fixed string for other values, because codes appear in logs."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else "an unknown error"


def _read(answer: ProviderAnswer) -> dict[str, Any] | None:
    """Return the JSON object of a response, with Decimal for floats. Returns None for any other response."""
    try:
        document = answer.json(parse_float=Decimal)
    except ProviderError:
        return None
    return document if isinstance(document, dict) else None


def _raise_unreadable(name: str) -> NoReturn:
    logger.warning("plaid: a response without a usable %s", name)
    raise base.BankingUnavailable("its response can't be read")


def _object(document: dict[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else _raise_unreadable(name)


def _objects(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    members = document.get(name)
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        _raise_unreadable(name)
    return members


def _text(document: dict[str, Any], name: str, *, longest: int = 2048) -> str:
    value = document.get(name)
    return value if is_text(value, longest) else _raise_unreadable(name)


def _optional(document: dict[str, Any], name: str, *, longest: int = 255) -> str | None:
    value = document.get(name)
    return value.replace("\0", "")[:longest] or None if isinstance(value, str) else None


def _moment(document: dict[str, Any], name: str) -> datetime:
    return parse_rfc3339(_text(document, name)) or _raise_unreadable(name)


def _flag(document: dict[str, Any], name: str) -> bool:
    value = document.get(name)
    return value if isinstance(value, bool) else _raise_unreadable(name)


def _cents(document: dict[str, Any], name: str, currency: str | None) -> int | None:
    """Return an amount in the currency's minor unit. Fractions, common for investments, are rounded half up."""
    value = document.get(name)
    if value is None:
        return None
    if type(value) not in {int, Decimal}:
        _raise_unreadable(name)
    try:
        units = Decimal(value).scaleb(exponent_of(currency))
        cents = int(units.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    except ArithmeticError:  # too large for Decimal
        _raise_unreadable(name)
    return cents if abs(cents) <= INT64_MAX else _raise_unreadable(name)


def _currency(document: dict[str, Any]) -> str | None:
    iso = _optional(document, "iso_currency_code", longest=16)
    return iso or _optional(document, "unofficial_currency_code", longest=16)


def _account(document: dict[str, Any], item: dict[str, Any]) -> Account:
    balances = _object(document, "balances")
    currency = _currency(balances)
    return {
        "account_id": _text(document, "account_id", longest=255),
        "item_id": _text(item, "item_id", longest=255),
        "institution_id": _optional(item, "institution_id", longest=64),
        "institution_name": _optional(item, "institution_name", longest=255),
        "persistent_account_id": _optional(document, "persistent_account_id"),
        "name": _optional(document, "name") or "Account",
        "official_name": _optional(document, "official_name"),
        "mask": _optional(document, "mask", longest=16),
        "type": _text(document, "type", longest=64),
        "subtype": _optional(document, "subtype", longest=64),
        "currency": currency,
        "available_cents": _cents(balances, "available", currency),
        "current_cents": _cents(balances, "current", currency),
        "limit_cents": _cents(balances, "limit", currency),
    }


def _transaction(document: dict[str, Any]) -> Transaction:
    currency = _currency(document)
    amount = _cents(document, "amount", currency)
    if amount is None:
        _raise_unreadable("amount")
    try:
        booked = date.fromisoformat(_text(document, "date"))
    except ValueError:
        _raise_unreadable("date")
    category = document.get("personal_finance_category")
    return {
        "transaction_id": _text(document, "transaction_id", longest=255),
        "account_id": _text(document, "account_id", longest=255),
        "item_id": None,
        "amount_cents": amount,
        "currency": currency,
        "date": booked.isoformat(),
        "name": _optional(document, "name") or "Transaction",
        "merchant_name": _optional(document, "merchant_name"),
        "category": _optional(category, "primary") if isinstance(category, dict) else None,
        "pending": _flag(document, "pending"),
    }


def _verification(document: dict[str, Any]) -> VerificationState:
    status = _text(document, "status", longest=64)
    progress = _PROGRESS_OF.get(status, Progress.UNKNOWN)
    named = _object(document, "steps")
    steps = {name: _text(named, name, longest=64) for name in named if is_text(name, 64)}
    # The acceptance of the terms is the first step. The applicant has started after any other step.
    has_started = any(state not in _UNTOUCHED for name, state in steps.items() if name != "accept_tos")
    if progress is Progress.WAITING and has_started:
        progress = Progress.RUNNING
    return VerificationState(
        reference=_text(document, "id", longest=REFERENCE_MAX_LENGTH),
        progress=progress,
        status=status,
        steps=steps,
        hosted_url=_optional(document, "shareable_url", longest=2048),
        name_match=name_match_of(document),
    )


def name_match_of(document: dict[str, Any]) -> NameMatch:
    """Return the result of the name check. Return UNKNOWN until the applicant has entered a name."""
    check = document.get("kyc_check")
    name = check.get("name") if isinstance(check, dict) else None
    summary = name.get("summary") if isinstance(name, dict) else None
    return _NAME_MATCH_OF.get(summary, NameMatch.UNKNOWN) if isinstance(summary, str) else NameMatch.UNKNOWN

"""The protocol and types of open-banking adapters.

Amounts are integer cents. Access tokens are used only by adapters and stored only in an encrypted column. Errors never
contain access tokens. Every method may raise ProviderUnavailable.

- `create_verification` is idempotent for the same `client_user_id` and template.
- `create_link_token` with an access token creates a link token for a new log-in to the same item.
- `exchange_public_token` may raise TokenRefused.
- `list_accounts` and `list_transactions` may raise TokenRefused or LoginRequired.
- `list_transactions` with `since` returns all transactions from that day on. It raises BankingUnavailable until the
  vendor has all of these transactions.
- `remove_item` is idempotent.
- `verify_event` gets the event's headers and body. It returns the reference of the verification that the event is
  about, or None for another event. It raises InvalidSignature or TimestampOutOfRange if the vendor did not sign the
  event recently, and MalformedJSON if the body can't be parsed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Protocol

from config.clients.provider import ProviderUnavailable

# These dictionaries have all fields of `BankAccountPayload` and `BankTransactionPayload`. Accounts also have the bank's
# `institution_name`. Fields that a bank does not report are None. Some vendors omit `item_id` of a transaction.
Account = dict[str, Any]
Transaction = dict[str, Any]


class ItemStatus(StrEnum):
    """The status of an item according to the vendor's response."""

    OK = "ok"
    LOGIN_REQUIRED = "login_required"  # the owner can log in again
    GONE = "gone"  # the owner must link the bank again
    BANK_DOWN = "bank_down"  # a retry may succeed later
    INTERNAL = "internal"  # the configuration or the platform's keys are wrong


class TokenRefused(Exception):
    """The vendor rejects the token, because it is unknown, used, revoked, or belongs to another user."""


class LoginRequired(Exception):
    """The item exists, but the bank requires a new log-in."""


class Progress(StrEnum):
    WAITING = "waiting"  # the applicant has not started
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    REVIEW = "review"  # the vendor requests a manual review
    EXPIRED = "expired"
    CANCELED = "canceled"
    UNKNOWN = "unknown"  # an unknown status of the vendor, which has no effect


SUCCESS = "success"  # all vendors report Progress.PASSED with this status


class NameMatch(StrEnum):
    """The vendor's comparison of the applicant's name with its sources."""

    MATCH = "match"
    PARTIAL = "partial"
    NO_MATCH = "no_match"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VerificationState:
    """A verification at the vendor. `status` and `steps` contain the vendor's values."""

    reference: str
    progress: Progress
    status: str
    steps: dict[str, str]
    hosted_url: str | None
    name_match: NameMatch = NameMatch.UNKNOWN


@dataclass(frozen=True, slots=True)
class LinkToken:
    link_token: str
    expiration: datetime


@dataclass(frozen=True, slots=True)
class LinkedItem:
    """A log-in at a bank. `repr` omits the token, because dataclasses appear in logs."""

    access_token: str = field(repr=False)
    item_id: str


class OpenBanking(Protocol):
    """The protocol of an adapter, which the module's docstring describes. Each request creates an adapter."""

    def create_verification(
        self, *, client_user_id: str, template_id: str | None, redirect_uri: str | None
    ) -> VerificationState: ...
    def read_verification(self, reference: str) -> VerificationState: ...
    def create_link_token(self, *, user_id: str, access_token: str | None = None) -> LinkToken: ...
    def exchange_public_token(self, public_token: str) -> LinkedItem: ...
    def list_accounts(self, access_token: str) -> list[Account]: ...
    def list_transactions(self, access_token: str, *, since: date | None = None) -> list[Transaction]: ...
    def remove_item(self, access_token: str) -> None: ...
    def verify_event(self, headers: Mapping[str, str], body: bytes, *, now: datetime) -> str | None: ...


class BankingUnavailable(ProviderUnavailable):
    """The vendor failed. `why` is part of the message, and must not contain data of the request."""

    def __init__(
        self, why: str, headers: dict[str, str] | None = None, *, item_status: ItemStatus = ItemStatus.BANK_DOWN
    ) -> None:
        super().__init__(f"The open-banking vendor is not available: {why}.", headers=headers)
        self.item_status = item_status


def booked_since(bookings: list[Transaction], since: date | None) -> list[Transaction]:
    """Return the transactions since a day, or all if `since` is None. ISO dates compare as strings."""
    return bookings if since is None else [booking for booking in bookings if booking["date"] >= since.isoformat()]

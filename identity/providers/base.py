"""The methods and types of an open-banking adapter.

Amounts are integer cents. Only the encrypted column and an adapter use access tokens, and errors never contain them.
Every method may raise ProviderUnavailable.

`create_verification` is idempotent for `client_user_id` and template. `create_link_token` with an access token creates
a token for a new log-in at its item. `exchange_public_token` may raise TokenRefused. `list_accounts` and
`list_transactions` may also raise LoginRequired. `list_transactions` with `since` returns all bookings from that day
on, or raises BankingUnavailable while the vendor doesn't have all of them. `remove_item` is idempotent. `verify_event`
raises InvalidSignature or TimestampOutOfRange unless the vendor has just signed the event.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Protocol

from config.clients.provider import ProviderUnavailable

# They have all fields of `BankAccountPayload` and `BankTransactionPayload`, because they are staged and returned in
# that form. An account also has the bank's `institution_name`. Fields that a bank does not report are None. Some
# vendors omit a booking's item.
Account = dict[str, Any]
Transaction = dict[str, Any]


class ItemStatus(StrEnum):
    """The status of an item, from the vendor's response."""

    OK = "ok"
    LOGIN_REQUIRED = "login_required"  # the person can log in again
    GONE = "gone"  # the item can't be used again: link the bank again
    BANK_DOWN = "bank_down"  # try again later
    INTERNAL = "internal"  # the configuration or the platform's keys are wrong


class TokenRefused(Exception):
    """The vendor rejects this token: it is unknown, used, revoked, or another person's."""


class LoginRequired(Exception):
    """The item exists, but its bank requires a new log-in."""


class Progress(StrEnum):
    WAITING = "waiting"  # the applicant has not started
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    REVIEW = "review"  # the vendor requests a manual review
    EXPIRED = "expired"
    CANCELED = "canceled"
    UNKNOWN = "unknown"  # a status that the vendor has added since, without any effect


SUCCESS = "success"  # Progress.PASSED as every vendor names it


class NameMatch(StrEnum):
    """The vendor's comparison of the person's name with its sources."""

    MATCH = "match"
    PARTIAL = "partial"
    NO_MATCH = "no_match"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VerificationState:
    """A verification at the vendor. `status` and `steps` have the vendor's values."""

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
    """One log-in at one bank. `repr` omits the token, because dataclasses appear in logs."""

    access_token: str = field(repr=False)
    item_id: str


class OpenBanking(Protocol):
    """The methods of an adapter, which the module describes. Each request creates one without arguments."""

    def create_verification(
        self, *, client_user_id: str, template_id: str | None, redirect_uri: str | None
    ) -> VerificationState: ...
    def read_verification(self, reference: str) -> VerificationState: ...
    def create_link_token(self, *, user_id: str, access_token: str | None = None) -> LinkToken: ...
    def exchange_public_token(self, public_token: str) -> LinkedItem: ...
    def list_accounts(self, access_token: str) -> list[Account]: ...
    def list_transactions(self, access_token: str, *, since: date | None = None) -> list[Transaction]: ...
    def remove_item(self, access_token: str) -> None: ...
    def verify_event(self, token: str, body: bytes, *, now: datetime) -> None: ...


class BankingUnavailable(ProviderUnavailable):
    """Set the reason. `why` must contain nothing of the request."""

    def __init__(
        self, why: str, headers: dict[str, str] | None = None, *, item_status: ItemStatus = ItemStatus.BANK_DOWN
    ) -> None:
        super().__init__(f"The open-banking vendor is not available: {why}.", headers=headers)
        self.item_status = item_status


def booked_since(bookings: list[Transaction], since: date | None) -> list[Transaction]:
    """Return the bookings since a day, or all without one. ISO dates compare as strings."""
    return bookings if since is None else [booking for booking in bookings if booking["date"] >= since.isoformat()]

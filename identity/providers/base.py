"""The API that an open-banking vendor implements.

Amounts are integer cents. Access tokens are texts that only the encrypted column and a provider ever see; nothing here
puts one into an error. Every method may raise ProviderUnavailable.

`create_verification` gives the same one again for the same `client_user_id` and template; `create_link_token` with an
access token is for logging in to its item again. `exchange_public_token` may raise TokenRefused, `list_accounts` and
`list_transactions` LoginRequired as well. `list_transactions` with `since` returns all that was booked from that day
on, or raises BankingUnavailable while the provider has not got all of it yet. `remove_item` of a removed item succeeds.
`verify_event` raises InvalidSignature or TimestampOutOfRange unless the provider itself signed an event just now.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Protocol

from config.clients.provider import ProviderUnavailable

# With all fields of `BankAccountPayload` and `BankTransactionPayload`: they are staged and shown in that form. Fields
# that a bank does not report are None; not every vendor repeats a booking's item.
Account = dict[str, Any]
Transaction = dict[str, Any]


class ItemStatus(StrEnum):
    """The meaning of a vendor's answer about an item for the person."""

    OK = "ok"
    LOGIN_REQUIRED = "login_required"  # the person can log in again
    GONE = "gone"  # the item can't be used again: link the bank again
    BANK_DOWN = "bank_down"  # try again later
    INTERNAL = "internal"  # our configuration or our keys are at fault


class TokenRefused(Exception):
    """The provider does not accept this token: it is unknown, used up, revoked, or another person's."""


class LoginRequired(Exception):
    """The item exists, but its bank wants the person to log in again."""


class Progress(StrEnum):
    WAITING = "waiting"  # time for the applicant to start
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    REVIEW = "review"  # the vendor requests a manual review
    EXPIRED = "expired"
    CANCELED = "canceled"
    UNKNOWN = "unknown"  # a word that the vendor added after this was written: nothing follows from it


SUCCESS = "success"  # Progress.PASSED in the words of every vendor


class NameMatch(StrEnum):
    """The provider's word on whether the name that the person gave is that of its sources."""

    MATCH = "match"
    PARTIAL = "partial"
    NO_MATCH = "no_match"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VerificationState:
    """A verification as the provider shows it; `status` and `steps` in the provider's own words."""

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
    """One log-in at one bank. The token is left out of the text form: dataclasses end up in logs."""

    access_token: str = field(repr=False)
    item_id: str


class OpenBanking(Protocol):
    """What an adapter implements; it is made without arguments for each request. The module describes the methods."""

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
    """`why` contains nothing of the request."""

    def __init__(
        self, why: str, headers: dict[str, str] | None = None, *, item_status: ItemStatus = ItemStatus.BANK_DOWN
    ) -> None:
        super().__init__(f"The open-banking vendor is not available: {why}.", headers=headers)
        self.item_status = item_status


def booked_since(bookings: list[Transaction], since: date | None) -> list[Transaction]:
    """Return the bookings from a day on, all of them without one; days of one form compare as texts."""
    return bookings if since is None else [booking for booking in bookings if booking["date"] >= since.isoformat()]

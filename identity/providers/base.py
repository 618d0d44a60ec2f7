"""What an open-banking provider can do for us, whichever it is.

Amounts are integer cents. Access tokens are texts that only the encrypted column and a provider ever see; nothing here
puts one into an error. Every method may raise ProviderUnavailable.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from config.clients.provider import ProviderUnavailable


class TokenRefused(Exception):
    """The provider does not take this public or access token: it is unknown, used up, or somebody else's."""


class LoginRequired(Exception):
    """The item exists, but its bank wants the person to log in again."""


class Progress(StrEnum):
    WAITING = "waiting"  # for the person to begin
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    REVIEW = "review"  # the provider wants somebody to look at it
    EXPIRED = "expired"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class VerificationState:
    """A verification as the provider shows it; `status` and `steps` in the provider's own words."""

    reference: str
    progress: Progress
    status: str
    steps: dict[str, str]
    hosted_url: str | None


@dataclass(frozen=True, slots=True)
class LinkToken:
    link_token: str
    expiration: datetime


@dataclass(frozen=True, slots=True)
class LinkedItem:
    """One log-in at one bank. The token is left out of the text form: dataclasses end up in logs."""

    access_token: str = field(repr=False)
    item_id: str


@dataclass(frozen=True, slots=True)
class Account:
    """A bank account; an amount that the bank does not tell is None."""

    account_id: str
    item_id: str
    name: str
    official_name: str | None
    mask: str | None
    type: str
    subtype: str | None
    currency: str | None
    available_cents: int | None
    current_cents: int | None
    limit_cents: int | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """A booking. `amount_cents` is positive when money left the account, negative when it came in."""

    transaction_id: str
    account_id: str
    item_id: str | None  # not every provider repeats it
    amount_cents: int
    currency: str | None
    date: str  # 2026-01-31
    name: str
    merchant_name: str | None
    category: str | None
    pending: bool


class OpenBanking(Protocol):
    name: str

    def create_verification(
        self, *, client_user_id: str, template_id: str | None, redirect_uri: str | None
    ) -> VerificationState:
        """Start a verification; the same `client_user_id` and template give the same one again."""

    def read_verification(self, reference: str) -> VerificationState: ...

    def create_link_token(self, *, user_id: str, access_token: str | None = None) -> LinkToken:
        """Return a token for linking a bank; with an access token, for logging in to its item again."""

    def exchange_public_token(self, public_token: str) -> LinkedItem:
        """Turn what Link returned into an access token. Raises TokenRefused."""

    def list_accounts(self, access_token: str) -> list[Account]:
        """Return the item's accounts. Raises TokenRefused, LoginRequired."""

    def list_transactions(self, access_token: str) -> list[Transaction]:
        """Return the item's transactions. Raises TokenRefused, LoginRequired."""

    def remove_item(self, access_token: str) -> None:
        """End the access token. An item that is gone already is no error."""

    def verify_event(self, token: str, body: bytes, *, now: datetime) -> None:
        """Raise InvalidSignature or TimestampOutOfRange unless the provider itself signed this event just now."""


def unavailable(why: str, headers: dict[str, str] | None = None) -> ProviderUnavailable:
    """Return the caller's error; `why` holds nothing of what was sent."""
    return ProviderUnavailable(f"The open-banking provider could not be used: {why}.", headers=headers)

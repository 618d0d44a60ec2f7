"""Check each response of an installation's adapter, so that a fault of the adapter becomes BankingUnavailable."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any, NoReturn

from config.clients.provider import ProviderError
from config.core.credentials import InvalidSignature, TimestampOutOfRange
from config.core.errors import MalformedJSON
from identity.providers import answers
from identity.providers.base import (
    Account,
    BankingUnavailable,
    LinkedItem,
    LinkToken,
    LoginRequired,
    OpenBanking,
    TokenRefused,
    Transaction,
    VerificationState,
)

logger = logging.getLogger("platform.providers")

_DOCUMENTED = (BankingUnavailable, TokenRefused, LoginRequired)
_OF_EVENTS = (BankingUnavailable, InvalidSignature, TimestampOutOfRange, MalformedJSON)


def _raise(method: str, fault: str) -> NoReturn:
    logger.error("the open-banking adapter's %s: %s", method, fault)
    raise BankingUnavailable("its response can't be read") from None  # the cause may contain personal data


class CheckedAdapter:
    """An adapter whose methods return the documented shapes, or raise the documented errors."""

    def __init__(self, adapter: OpenBanking) -> None:
        self.adapter = adapter

    def _call(
        self,
        method: str,
        fault_of: Callable[[Any], str],
        *arguments: Any,
        documented: Any = _DOCUMENTED,
        **options: Any,
    ) -> Any:
        try:
            result = getattr(self.adapter, method)(*arguments, **options)
        except documented:
            raise
        except ProviderError as error:
            logger.warning("the open-banking adapter's %s: %s", method, error.word)
            raise BankingUnavailable(error.word) from None
        except Exception as error:  # noqa: BLE001  an adapter's error message can contain personal data
            _raise(method, f"raised {type(error).__name__}")
        if fault := fault_of(result):
            _raise(method, fault)
        return result

    def create_verification(
        self, *, client_user_id: str, template_id: str | None, redirect_uri: str | None
    ) -> VerificationState:
        about = {"client_user_id": client_user_id, "template_id": template_id, "redirect_uri": redirect_uri}
        state: VerificationState = self._call(
            "create_verification", answers.fault_of_state, documented=BankingUnavailable, **about
        )
        return state

    def read_verification(self, reference: str) -> VerificationState:
        state: VerificationState = self._call(
            "read_verification", answers.fault_of_state, reference, documented=BankingUnavailable
        )
        return state

    def create_link_token(self, *, user_id: str, access_token: str | None = None) -> LinkToken:
        documented = BankingUnavailable if access_token is None else _DOCUMENTED
        about = {"user_id": user_id, "access_token": access_token}
        link: LinkToken = self._call("create_link_token", answers.fault_of_link, documented=documented, **about)
        return link

    def exchange_public_token(self, public_token: str) -> LinkedItem:
        item: LinkedItem = self._call("exchange_public_token", answers.fault_of_item, public_token)
        return item

    def list_accounts(self, access_token: str) -> list[Account]:
        accounts: list[Account] = self._call("list_accounts", answers.fault_of_accounts, access_token)
        return accounts

    def list_transactions(self, access_token: str, *, since: date | None = None) -> list[Transaction]:
        bookings: list[Transaction] = self._call(
            "list_transactions", answers.fault_of_bookings, access_token, since=since
        )
        return bookings

    def remove_item(self, access_token: str) -> None:
        with suppress(TokenRefused):  # the item is gone
            self._call("remove_item", lambda _result: "", access_token)

    def verify_event(self, headers: Mapping[str, str], body: bytes, *, now: datetime) -> str | None:
        reference: str | None = self._call(
            "verify_event", answers.fault_of_reference, headers, body, documented=_OF_EVENTS, now=now
        )
        return reference

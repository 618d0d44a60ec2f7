from functools import partial
from typing import Any

from django.utils import timezone

from config.api.views import ApiRequest, ApiViewSet, endpoint, require_self
from config.clients.provider import ProviderUnavailable
from config.core.errors import UserMismatch
from config.core.lifecycle import actor_of
from identity.bank import serializers, services
from identity.errors import BankItemNotFound, RelinkRequired
from identity.providers.base import LinkToken

_reads = partial(
    endpoint, access="bankdata:read", errors=(UserMismatch, BankItemNotFound, RelinkRequired, ProviderUnavailable)
)


class BankdataViewSet(ApiViewSet):
    """Linked bank accounts and their transactions."""

    tag = "bankdata"

    @endpoint(
        access="bankdata:write",
        body=serializers.LinkTokenRequestSerializer,
        answer=serializers.LinkTokenPageSerializer,
        errors=(UserMismatch, BankItemNotFound, ProviderUnavailable),
    )
    def link_token(self, request: ApiRequest, body: dict[str, Any]) -> LinkToken:
        """Create a link token."""
        require_self(request, body["user_id"])
        return services.create_link_token(user=request.user, item_id=body.get("item_id"))

    @endpoint(access="bankdata:write", errors=(BankItemNotFound,), idempotent=True)
    def unlink(self, request: ApiRequest, item_id: str) -> None:
        """Unlink a bank.

        The API removes the item at the vendor immediately. If the removal fails, the platform retries the removal
        later. The API retains approved accounts and transactions.
        """
        services.unlink_item(actor=actor_of(request), item_id=item_id, now=timezone.now())

    @endpoint(
        access="bankdata:write",
        body=serializers.ExchangeRequestSerializer,
        answer=serializers.ExchangeSerializer,
        idempotent=True,
        leased=True,
        errors=(UserMismatch, ProviderUnavailable),
    )
    def exchange(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Link a bank.

        The request has the result of Plaid Link. The API stages the item's accounts and the booked transactions of the
        previous 90 days. The account's owner approves or rejects the staged items. If the vendor does not have the data
        yet, or there are too many transactions for one request, the platform stages the missing data later.
        """
        require_self(request, body["user_id"])
        return services.link_item(actor=actor_of(request), public_token=body["public_token"], now=timezone.now())

    @_reads(query=serializers.AccountsQuery, answer=serializers.BankAccountsSerializer)
    def accounts(self, request: ApiRequest, user_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """List bank accounts.

        The list has the accounts of all linked items that can be read. For each call, the API requests the accounts
        from the open-banking vendor. If the API can read none of the linked items, it returns 502 `E5003` or `E5004`.
        """
        require_self(request, user_id)
        return services.read_accounts(user=request.user, now=timezone.now(), **query)

    @_reads(query=serializers.TransactionsQuery, answer=serializers.BankTransactionsSerializer)
    def transactions(self, request: ApiRequest, user_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """List bank transactions.

        The list has the transactions of all linked items that can be read, newest first. For each call, the API
        requests the transactions from the open-banking vendor. If the API can read none of the linked items, it returns
        502 `E5003` or `E5004`.
        """
        require_self(request, user_id)
        return services.read_transactions(user=request.user, now=timezone.now(), **query)

from functools import partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from config.api.views import ApiRequest, endpoint, require_self
from config.clients.provider import ProviderUnavailable
from config.core.credentials import FIRST_PARTY
from config.core.errors import UserMismatch
from payments.errors import CardDataRefused, WalletNotFound
from payments.views import CardFreeViewSet
from payments.wallets import serializers
from payments.wallets import services as wallets
from payments.wallets.models import Wallet

LIST_MAX = 1_000
_changes = partial(endpoint, access=FIRST_PARTY, idempotent=True)


class WalletViewSet(CardFreeViewSet):
    """Crypto wallets: custodial wallets, and addresses that the platform stores without proof that you control them."""

    tag = "wallet"

    @_changes(
        body=serializers.CircleWalletRequestSerializer,
        answer=serializers.WalletSerializer,
        leased=True,
        errors=(UserMismatch, CardDataRefused, ProviderUnavailable),
    )
    def connect_circle(self, request: ApiRequest, body: dict[str, Any]) -> Wallet:
        """Connect a custodial wallet.

        The custody vendor controls the keys. You can connect one custodial wallet for each network and label. A
        repeated request returns the connected wallet.
        """
        return wallets.connect_custodial(owner=request.user, now=timezone.now(), **_own(request, body))

    @_changes(
        body=serializers.ReferenceWalletRequestSerializer,
        answer=serializers.WalletSerializer,
        errors=(UserMismatch, CardDataRefused),
    )
    def connect_reference(self, request: ApiRequest, body: dict[str, Any]) -> Wallet:
        """Connect a wallet that you control.

        The API stores only a reference. If the wallet is already connected, a request with the same address and network
        returns the wallet.
        """
        return wallets.connect_reference(owner=request.user, now=timezone.now(), **_own(request, body))

    @endpoint(access="wallet:read", answer=serializers.WalletListSerializer, errors=(UserMismatch, CardDataRefused))
    def list(self, request: ApiRequest, user_id: str) -> dict[str, Any]:
        """List connected wallets.

        The list has the first 1,000 wallets, oldest first.
        """
        require_self(request, user_id)
        connected = request.user.wallets.connected()
        first = [*connected[:LIST_MAX]]
        return {"wallets": first, "total": len(first) if len(first) < LIST_MAX else connected.count()}

    @endpoint(
        access="wallet:read", answer=serializers.WalletConnectionSerializer, errors=(WalletNotFound, CardDataRefused)
    )
    def status(self, request: ApiRequest, wallet_id: str) -> Wallet:
        """Get the status of a wallet."""
        return wallets.load_wallet(wallet_id, request.user)

    @endpoint(
        access="wallet:read",
        answer=serializers.WalletBalanceSerializer,
        errors=(WalletNotFound, CardDataRefused, ProviderUnavailable),
    )
    def balance(self, request: ApiRequest, wallet_id: str) -> dict[str, Any]:
        """Get the balance of a wallet.

        For each call, the API requests the balance from the custody vendor or the settlement chain. For a wallet of the
        kind `walletconnect`, `source` is `simulated` if no chain is configured. The source is `unavailable` if the
        platform does not read the wallet's network.
        """
        wallet = wallets.load_wallet(wallet_id, request.user)
        balance = wallets.read_balance(wallet)
        return {
            "wallet_id": wallet.pk, "asset": wallets.ASSET, "amount": balance.amount, "decimals": balance.decimals,
            "amount_usdc": balance.amount_usdc, "as_of": timezone.now(), "source": balance.source,
        }  # fmt: skip

    @_changes(answer=serializers.WalletSerializer, errors=(WalletNotFound, CardDataRefused))
    def make_default(self, request: ApiRequest, wallet_id: str) -> Wallet:
        """Set the default wallet."""
        return wallets.set_default(wallet_id, owner=request.user, now=timezone.now())

    @_changes(errors=(WalletNotFound, CardDataRefused))
    def disconnect(self, request: ApiRequest, wallet_id: str) -> None:
        """Disconnect a wallet.

        The API removes only the reference. No funds move, and no other wallet becomes the default.
        """
        wallets.disconnect_wallet(wallet_id, owner=request.user, now=timezone.now())


def _own(request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
    """Return the wallet fields of a body, with the default network. Raises UserMismatch for another user's ID."""
    user_id = body.pop("user_id")
    if user_id is not None:
        require_self(request, user_id)
    return {**body, "network": body["network"] or settings.SETTLEMENT_NETWORK}

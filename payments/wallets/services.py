"""Connect, read, and disconnect wallets, and set the default wallet.

A wallet is only a reference. Connecting or disconnecting a wallet moves no funds. After a disconnection, a custodial
account remains at the vendor, and connecting again returns the same account.

A custody adapter has a `name` and three methods:

- `supports` returns whether the vendor supports a network.
- `provision` creates the account of a `CustodyAccount` row, or finds the account of an earlier attempt. It returns the
  account's ID and its address (EIP-55).
- `balance` returns an account's USDC in smallest units, and the number of decimals.

`provision` and `balance` raise `provider.ProviderError`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from config.clients.provider import ProviderError, ProviderUnavailable
from config.core.errors import ValidationFailed
from config.core.ids import INT64_MAX, get_by_uuid, parse_uuid
from config.webhooks.events import record_event
from payments.chain.rpc import Node
from payments.errors import WalletNotFound
from payments.wallets.custody.circle import CircleCustody
from payments.wallets.custody.sandbox import SandboxCustody
from payments.wallets.models import CIRCLE, CONNECTED, DISCONNECTED, WALLETCONNECT, CustodyAccount, Wallet

ASSET = "USDC"
USDC_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class WalletBalance:
    """A wallet's balance of USDC.

    `units` is the number of smallest units, or None if it is unknown. One USDC has 10**decimals units. `source` is
    `sandbox` or `circle` (the custody vendor), `chain`, `simulated` (no chain is configured), or `unavailable` (this
    installation doesn't read the wallet's network).
    """

    units: int | None
    decimals: int
    source: str

    @property
    def amount(self) -> str | None:
        """Return the amount as an exact decimal string without trailing zeros."""
        if self.units is None:
            return None
        whole, rest = divmod(self.units, 10**self.decimals)
        return f"{whole}.{rest:0{self.decimals}d}".rstrip("0").rstrip(".") if self.decimals else str(whole)

    @property
    def amount_usdc(self) -> int | None:
        """Return the number of smallest units, or None if it is unknown or exceeds an int64."""
        return self.units if self.units is not None and self.units <= INT64_MAX else None


def custody_provider(name: str = "") -> SandboxCustody | CircleCustody:
    return CircleCustody() if (name or settings.CUSTODY) == CircleCustody.name else SandboxCustody()


def load_wallet(wallet_id: str, user: Any) -> Wallet:
    return get_by_uuid(Wallet.objects.filter(user=user).connected(), wallet_id, WalletNotFound)


def connect_reference(*, owner: Any, address: str, network: str, label: str | None, now: datetime) -> Wallet:
    """Connect an account that the user controls. Idempotent for the same account.

    No proof of control is required: a reference grants no access to the account, and a payment requires a signature.
    """
    return _connect(owner=owner, kind=WALLETCONNECT, network=network, address=address, label=label, now=now)


def connect_custodial(*, owner: Any, network: str, label: str | None, now: datetime) -> Wallet:
    """Connect the user's custodial account for a network and a label, and create the account if necessary.

    The row is committed before the request to the vendor, and no transaction is open during the request. Raises
    ValidationFailed for an unsupported network. If the vendor fails, raises ProviderUnavailable, and a retry continues
    with the same account.
    """
    provider = custody_provider()
    if not provider.supports(network):
        raise ValidationFailed.of_member(
            "network", f"The custody vendor does not support {network}. Send another network."
        )
    account, is_new = CustodyAccount.objects.get_or_create(
        user=owner, provider=provider.name, network=network, label=label or "", defaults={"requested_at": now}
    )
    if account.address is None:
        try:
            account_id, address = provider.provision(
                reference=account.pk, key=account.idempotency_key, network=network, retried=not is_new
            )
        except ProviderError as error:
            raise ProviderUnavailable("The custody vendor is not available. Retry later.") from error
        CustodyAccount.objects.filter(pk=account.pk, address__isnull=True).update(
            provider_account_id=account_id, address=address, provisioned_at=now
        )
        account.refresh_from_db()
    reference = {"kind": CIRCLE, "network": network, "address": str(account.address)}
    return _connect(owner=owner, label=label, now=now, custody_account=account, **reference)


def set_default(wallet_id: str, *, owner: Any, now: datetime) -> Wallet:
    """Make a wallet the user's default wallet. Raises WalletNotFound."""
    with transaction.atomic():
        _lock_wallets(owner)
        wallet = load_wallet(wallet_id, owner)
        if wallet.is_default:
            return wallet
        # The constraint permits one default, so unset the previous default first.
        previous = Wallet.objects.filter(user=owner, is_default=True).first()
        if previous is not None:
            Wallet.objects.filter(pk=previous.pk).update(is_default=False)
        Wallet.objects.filter(pk=wallet.pk).update(is_default=True)
        wallet.is_default = True
        record_event(
            "wallet.default_changed",
            account_id=owner.pk,
            now=now,
            wallet_id=str(wallet.pk),
            previous_wallet_id=str(previous.pk) if previous is not None else None,
        )
    return wallet


def disconnect_wallet(wallet_id: str, *, owner: Any, now: datetime) -> None:
    """Disconnect a wallet. No funds move, and no other wallet becomes the default. Raises WalletNotFound."""
    identifier = parse_uuid(wallet_id)
    if identifier is None:
        raise WalletNotFound
    with transaction.atomic():
        _lock_wallets(owner)
        own = owner.wallets.connected().filter(pk=identifier)
        if not own.update(status=DISCONNECTED, is_default=False, disconnected_at=now):
            raise WalletNotFound
        record_event(
            "wallet.disconnected", account_id=owner.pk, now=now, wallet_id=str(identifier), status=DISCONNECTED
        )


def read_balance(wallet: Wallet) -> WalletBalance:
    """Read a wallet's balance from the custody vendor or the chain. Raises ProviderUnavailable."""
    try:
        if wallet.custody_account is not None:
            provider = custody_provider(wallet.custody_account.provider)
            units, decimals = provider.balance(str(wallet.custody_account.provider_account_id))
            return WalletBalance(units=units, decimals=decimals, source=provider.name)
        if not settings.SETTLEMENT_RPC_URL:
            return WalletBalance(units=0, decimals=USDC_DECIMALS, source="simulated")
        if wallet.network != settings.SETTLEMENT_NETWORK:
            return WalletBalance(units=None, decimals=USDC_DECIMALS, source="unavailable")
        node = Node()
        return WalletBalance(node.token_balance(wallet.address), node.token_decimals(), source="chain")
    except ProviderError as error:
        raise ProviderUnavailable("The balance is not available now. Retry later.") from error


def _lock_wallets(owner: Any) -> None:
    """Lock a user, so that changes to the user's wallets run one at a time.

    The lock is FOR NO KEY UPDATE, so that rows that refer to the user can still be written.
    """
    get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=owner.pk)


def _connect(
    *, owner: Any, label: str | None, now: datetime, custody_account: CustodyAccount | None = None, **account: str
) -> Wallet:
    """Return or create the user's wallet for an account (kind, network, address).

    The wallet becomes the default if no other wallet is connected.
    """
    with transaction.atomic():
        _lock_wallets(owner)
        known = Wallet.objects.filter(user=owner).connected().filter(**account).first()
        if known is not None:
            return known
        wallet = Wallet.objects.create(
            user=owner,
            **account,
            label=label,
            custody_account=custody_account,
            status=CONNECTED,
            is_default=not owner.wallets.connected().exists(),
            connected_at=now,
        )
        record_event(
            "wallet.connected",
            account_id=owner.pk,
            now=now,
            wallet_id=str(wallet.pk),
            kind=wallet.kind,
            network=wallet.network,
            status=wallet.status,
            is_default=wallet.is_default,
        )
    return wallet

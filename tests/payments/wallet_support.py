"""Create and inspect wallets."""

from django.utils import timezone

from config.webhooks.models import Event
from payments.wallets import services as wallets
from payments.wallets.models import Wallet

NETWORK = "eip155:8453"
# The address is from the text of EIP-55.
ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
OTHER_ADDRESS = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
MISTYPED_ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"
WALLET_MEMBERS = {
    "id", "kind", "address", "network", "account_id", "label", "status", "is_default", "connected_at",
}  # fmt: skip


def connected(user, address=ADDRESS, *, network=NETWORK, label=None):
    """Return a connected wallet that the user controls."""
    return wallets.connect_reference(owner=user, address=address, network=network, label=label, now=timezone.now())


def custodial(user, *, network=NETWORK, label=None):
    return wallets.connect_custodial(owner=user, network=network, label=label, now=timezone.now())


def stored(wallet):
    return Wallet.objects.get(pk=getattr(wallet, "pk", wallet))


def events(user, event_type):
    """Return the objects of a user's events of one type, oldest first."""
    return [event.object for event in Event.objects.filter(account_id=user.pk, type=event_type).order_by("id")]

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.ids import uuid7

CIRCLE, WALLETCONNECT = "circle", "walletconnect"
CONNECTED, DISCONNECTED = "connected", "disconnected"


class CustodyAccount(models.Model):
    """An account at a custody vendor. A user has at most one account per vendor, network, and label.

    The row is committed before the request to the vendor. Each attempt sends the row's key, so a lost response never
    creates a second account. The account remains when its wallets are disconnected. If the user connects again, the
    user gets the same account with its balance.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    provider = models.CharField(max_length=32)
    network = models.CharField(max_length=64)
    label = models.CharField(max_length=255, blank=True, default="")
    # The vendor requires a version 4 UUID.
    idempotency_key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    provider_account_id = models.CharField(max_length=255, null=True)  # noqa: DJ001  null until it is provisioned
    address = models.CharField(max_length=42, null=True)  # noqa: DJ001
    requested_at = models.DateTimeField()
    provisioned_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "provider", "network", "label"], name="payments_custody_one_per_label"
            ),
            models.UniqueConstraint(fields=["provider", "provider_account_id"], name="payments_custody_account"),
            models.CheckConstraint(
                condition=Q(address__isnull=True, provider_account_id__isnull=True, provisioned_at__isnull=True)
                | Q(address__isnull=False, provider_account_id__isnull=False, provisioned_at__isnull=False),
                name="payments_custody_provisioned_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.address or '(not provisioned)'}"


class WalletQuerySet(models.QuerySet["Wallet"]):
    def connected(self) -> "WalletQuerySet":
        return self.filter(status=CONNECTED).order_by("id")


class Wallet(models.Model):
    """A user's reference to an account on a chain. The platform can't move the funds of the account."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The wallet's id.")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="wallets", db_index=False)
    kind = models.CharField(
        max_length=16,
        choices=[(CIRCLE, CIRCLE), (WALLETCONNECT, WALLETCONNECT)],
        help_text="The kind of the wallet. `circle`: a vendor controls the keys. `walletconnect`: the account's owner "
        "controls the keys.",
    )
    network = models.CharField(max_length=64, help_text="The network, as a CAIP-2 id.")
    address = models.CharField(max_length=42, help_text="The address in its EIP-55 spelling: 0x and 40 hex digits.")
    label = models.CharField(  # noqa: DJ001  null and "" differ in the API
        max_length=255, null=True, help_text="The owner's name for the wallet; null if there is none."
    )
    custody_account = models.ForeignKey(CustodyAccount, null=True, on_delete=models.PROTECT, related_name="wallets")
    status = models.CharField(
        max_length=16,
        choices=[(CONNECTED, CONNECTED), (DISCONNECTED, DISCONNECTED)],
        default=CONNECTED,
        help_text="The status of the wallet: `connected` or `disconnected`. The API returns 404 for a disconnected "
        "wallet.",
    )
    is_default = models.BooleanField(default=False, help_text="Whether this is the account's default wallet.")
    connected_at = models.DateTimeField(help_text="When the wallet was connected (UTC).")
    disconnected_at = models.DateTimeField(null=True)

    objects = WalletQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["user", "id"], name="payments_wallet_user")]
        constraints = [
            models.UniqueConstraint(fields=["user"], condition=Q(is_default=True), name="payments_wallet_one_default"),
            models.UniqueConstraint(
                fields=["user", "kind", "network", "address"],
                condition=Q(status=CONNECTED),
                name="payments_wallet_connected_once",
            ),
            models.CheckConstraint(
                condition=Q(status=CONNECTED, disconnected_at__isnull=True)
                | Q(status=DISCONNECTED, disconnected_at__isnull=False, is_default=False),
                name="payments_wallet_status_whole",
            ),
            models.CheckConstraint(
                condition=Q(kind=CIRCLE, custody_account__isnull=False)
                | Q(kind=WALLETCONNECT, custody_account__isnull=True),
                name="payments_wallet_custody_by_kind",
            ),
        ]

    def __str__(self) -> str:
        return self.account_id

    @property
    def account_id(self) -> str:
        return f"{self.network}:{self.address}"

    @property
    def is_custodial(self) -> bool:
        return self.kind == CIRCLE

"""Wallets, custody accounts and crypto payments at the backoffice. All of it is only looked at."""

from decimal import Decimal

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.backoffice.html import NOTHING, code, link, moment, words
from config.backoffice.lists import among
from config.backoffice.owned import AN_ID
from payments.backoffice import OwnedAdmin
from payments.chain.addresses import parse_transaction_hash
from payments.crypto.models import CryptoPayment, CryptoTransaction
from payments.wallets.models import CustodyAccount, Wallet
from payments.wallets.services import ASSET, USDC_DECIMALS


@admin.register(Wallet)
class WalletAdmin(OwnedAdmin):
    """References to accounts, connected and disconnected."""

    list_display = ("short_id", "status_chip", "kind", "person", "account", "is_default", "connected")
    list_filter = ("status", "kind", "is_default")
    personal_fields = ("label",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier", "status_chip", "kind", "person", "account", "label", "is_default", "custody_link",
                    "connected", "disconnected",
                )
            },
        ),
    )  # fmt: skip

    @admin.display(description="account (CAIP-10)")
    def account(self, record: Wallet) -> SafeString | str:
        """Show the account."""
        return code(record.account_id)

    @admin.display(description="custody account")
    def custody_link(self, record: Wallet) -> SafeString | str:
        """Lead to the account at the custody provider."""
        if record.custody_account_id is None:
            return NOTHING
        address = reverse("admin:payments_custodyaccount_change", args=[record.custody_account_id])
        return link(address, str(record.custody_account))

    @admin.display(description="connected", ordering="connected_at")
    def connected(self, record: Wallet) -> SafeString | str:
        """Show when it was connected."""
        return moment(record.connected_at)

    @admin.display(description="disconnected", ordering="disconnected_at")
    def disconnected(self, record: Wallet) -> SafeString | str:
        """Show when it was disconnected."""
        return moment(record.disconnected_at)


@admin.register(CustodyAccount)
class CustodyAccountAdmin(OwnedAdmin):
    """Accounts that a custody provider holds, and those that were asked for and not made yet."""

    list_display = ("short_id", "person", "provider", "network", "address_shown", "requested", "provisioned")
    list_filter = (("provider", among(("sandbox", "circle"))), ("provisioned_at", admin.EmptyFieldListFilter))
    personal_fields = ("label",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier", "person", "provider", "network", "label", "address_shown", "provider_account_id",
                    "idempotency_key", "requested", "provisioned",
                )
            },
        ),
    )  # fmt: skip

    @admin.display(description="address")
    def address_shown(self, record: CustodyAccount) -> SafeString | str:
        """Show the address."""
        return code(record.address or "")

    @admin.display(description="requested", ordering="requested_at")
    def requested(self, record: CustodyAccount) -> SafeString | str:
        """Show when it was asked for."""
        return moment(record.requested_at)

    @admin.display(description="provisioned", ordering="provisioned_at")
    def provisioned(self, record: CustodyAccount) -> SafeString | str:
        """Show when it was made."""
        return moment(record.provisioned_at)


@admin.register(CryptoPayment)
class CryptoPaymentAdmin(OwnedAdmin):
    """Crypto payments with every transaction that was signed for them, and every move."""

    list_display = ("short_id", "status_chip", "person", "amount", "to_address", "network", "simulated", "created")
    list_filter = ("status", "simulated")
    list_defer = ("description",)
    search_help_text = f"{AN_ID}; a transaction's hash; a person's user name (its beginning) or id"
    personal_fields = ("description",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier", "status_chip", "failure", "person", "wallet_link", "amount", "description",
                    "simulated", "created", "expires", "submitted", "settled",
                )
            },
        ),
        (
            "On the chain",
            {"fields": ("network", "from_address", "to_address", "token_address", "hash_shown", "block_number")},
        ),
        ("What happened", {"fields": ("transactions_shown", "history_shown")}),
    )  # fmt: skip

    def search_by_name(self, term: str) -> Q | None:
        """Find by a hash, too: the one that counts, or one that was given and refused."""
        tx_hash = parse_transaction_hash(term)
        if tx_hash is None:
            return super().search_by_name(term)
        given = CryptoTransaction.objects.filter(tx_hash=tx_hash).values_list("payment_id", flat=True)
        counts = CryptoPayment.objects.filter(tx_hash=tx_hash).values_list("pk", flat=True)
        return Q(pk__in={*given, *counts})

    @admin.display(description="amount", ordering="amount_usdc")
    def amount(self, record: CryptoPayment) -> str:
        """Show the amount in whole units of the asset."""
        return f"{Decimal(record.amount_usdc).scaleb(-USDC_DECIMALS):f} {ASSET}"

    @admin.display(description="wallet")
    def wallet_link(self, record: CryptoPayment) -> SafeString | str:
        """Lead to the wallet."""
        return link(reverse("admin:payments_wallet_change", args=[record.wallet_id]), str(record.wallet_id))

    @admin.display(description="transaction")
    def hash_shown(self, record: CryptoPayment) -> SafeString | str:
        """Show the hash of the transaction that counts."""
        return code(record.tx_hash or "")

    @admin.display(description="signed for it")
    def transactions_shown(self, record: CryptoPayment) -> SafeString | str:
        """Show every transaction that was given, also those that the node refused."""
        given = [(moment(one.given_at), code(one.tx_hash), one.nonce) for one in record.transactions.all()]
        rows = format_html_join("", "<tr><td>{}</td><td>{}</td><td>nonce {}</td></tr>", given)
        return format_html('<table class="terms">{}</table>', rows) if given else NOTHING

    @admin.display(description="moves")
    def history_shown(self, record: CryptoPayment) -> SafeString | str:
        """Show every move: when, where to, by whom, and what the node said."""
        moves = [
            (moment(row.changed_at), words(row.status), row.principal or "system", row.credential, row.reason or "")
            for row in record.history.select_related("principal")
        ]
        cells = "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>"
        rows = format_html_join("", cells, moves)
        return format_html('<table class="terms">{}</table>', rows) if moves else NOTHING

    @admin.display(description="created", ordering="created_at")
    def created(self, record: CryptoPayment) -> SafeString | str:
        """Show when it was initiated."""
        return moment(record.created_at)

    @admin.display(description="to be signed until")
    def expires(self, record: CryptoPayment) -> SafeString | str:
        """Show how long it may be signed."""
        return moment(record.expires_at)

    @admin.display(description="submitted")
    def submitted(self, record: CryptoPayment) -> SafeString | str:
        """Show when the network had it."""
        return moment(record.submitted_at)

    @admin.display(description="settled")
    def settled(self, record: CryptoPayment) -> SafeString | str:
        """Show when it was final."""
        return moment(record.settled_at)

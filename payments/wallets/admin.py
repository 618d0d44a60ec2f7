from decimal import Decimal
from functools import partial

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString

from config.backoffice.bases import OwnedRecords
from config.backoffice.html import code, column, grid, moment, record_link, words
from config.backoffice.lists import among
from config.backoffice.personal import mask
from config.backoffice.records import AN_ID
from payments.chain.addresses import parse_transaction_hash
from payments.crypto.models import CryptoPayment, CryptoTransaction
from payments.wallets.models import CustodyAccount, Wallet
from payments.wallets.services import ASSET, USDC_DECIMALS


@admin.register(Wallet)
class WalletAdmin(OwnedRecords):
    list_display = ("short_id", "status_chip", "kind", "person", "account", "is_default", "connected")
    list_filter = ("status", "kind", "is_default")
    personal_fields = ("label",)
    fields = (
        "identifier", "status_chip", "kind", "person", "account", "label", "is_default", "custody_link", "connected",
        "disconnected",
    )  # fmt: skip

    account = column(code, "account_id", "account (CAIP-10)")
    custody_link = column(
        lambda account: record_link("payments_custodyaccount", account and account.pk, account),
        "custody_account",
        "custody account",
    )
    connected = column(moment, "connected_at", "connected", ordering="connected_at")
    disconnected = column(moment, "disconnected_at", "disconnected", ordering="disconnected_at")


@admin.register(CustodyAccount)
class CustodyAccountAdmin(OwnedRecords):
    list_display = ("short_id", "person", "provider", "network", "address_shown", "requested", "provisioned")
    list_filter = (("provider", among(("sandbox", "circle"))), ("provisioned_at", admin.EmptyFieldListFilter))
    personal_fields = ("label",)
    fields = (
        "identifier", "person", "provider", "network", "label", "address_shown", "provider_account_id",
        "idempotency_key", "requested", "provisioned",
    )  # fmt: skip

    address_shown = column(code, "address", "address")
    requested = column(moment, "requested_at", "requested", ordering="requested_at")
    provisioned = column(moment, "provisioned_at", "provisioned", ordering="provisioned_at")


@admin.register(CryptoPayment)
class CryptoPaymentAdmin(OwnedRecords):
    list_display = ("short_id", "status_chip", "person", "amount", "to_address", "network", "simulated", "created")
    list_filter = ("status", "simulated")
    list_defer = ("description",)
    search_help_text = f"{AN_ID}; a transaction's hash; a person's user name (its beginning) or id"
    personal_fields = ("description",)
    fieldsets = (
        (None, {"fields": (
            "identifier", "status_chip", "failure", "person", "wallet_link", "amount", "description",
            "simulated", "created", "expires", "submitted", "settled",
        )}),
        ("On the chain", {"fields": (
            "network", "from_address", "to_address", "token_address", "hash_shown", "block_number",
        )}),
        ("What happened", {"fields": ("transactions_shown", "history_shown")}),
    )  # fmt: skip

    amount = column(
        lambda units: f"{Decimal(units).scaleb(-USDC_DECIMALS):f} {ASSET}",
        "amount_usdc",
        "amount",
        ordering="amount_usdc",
    )
    wallet_link = column(partial(record_link, "payments_wallet"), "wallet_id", "wallet")
    hash_shown = column(code, "tx_hash", "transaction")
    created = column(moment, "created_at", "created", ordering="created_at")
    expires = column(moment, "expires_at", "to be signed until")
    submitted = column(moment, "submitted_at", "submitted")
    settled = column(moment, "settled_at", "settled")

    def search_by_name(self, term: str) -> Q | None:
        """Find by a hash, too: the one that counts, or one that was given and refused."""
        tx_hash = parse_transaction_hash(term)
        if tx_hash is None:
            return super().search_by_name(term)
        given = CryptoTransaction.objects.filter(tx_hash=tx_hash).values_list("payment_id", flat=True)
        counts = CryptoPayment.objects.filter(tx_hash=tx_hash).values_list("pk", flat=True)
        return Q(pk__in={*given, *counts})

    @admin.display(description="signed for it")
    def transactions_shown(self, record: CryptoPayment) -> SafeString | str:
        return grid(
            (moment(one.given_at), code(one.tx_hash), f"nonce {one.nonce}") for one in record.transactions.all()
        )

    @admin.display(description="transitions")
    def history_shown(self, record: CryptoPayment) -> SafeString | str:
        shown = mask if getattr(record, "is_masked", False) else str
        return grid(
            (
                moment(row.changed_at),
                words(row.status),
                row.principal or "system",
                row.credential,
                shown(row.reason or ""),
            )
            for row in record.history.select_related("principal")
        )

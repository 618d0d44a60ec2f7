"""The back office pages of card payments, wallets, and crypto payments."""

from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString

from config.backoffice.bases import OwnedRecords, ReadOnlyAdmin
from config.backoffice.html import NOTHING, chip, code, column, details, document, grid, moment, record_link, words
from config.backoffice.lists import among
from config.backoffice.people import by_status
from config.backoffice.personal import mask
from config.backoffice.queues import Queue
from config.backoffice.records import AN_ID
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry
from config.core.currencies import amount_in_words
from config.core.ids import parse_positive_int64
from payments.cards.methods import PROCESSOR_TYPES
from payments.cards.models import (
    COMPLETED,
    FAILED,
    PENDING,
    PROCESSING,
    UNKNOWN,
    Payment,
    PaymentMethod,
    ProcessorEvent,
)
from payments.chain.addresses import parse_transaction_hash
from payments.crypto import machine as crypto
from payments.crypto.models import CryptoPayment, CryptoTransaction
from payments.wallets.models import CustodyAccount, Wallet
from payments.wallets.services import ASSET, USDC_DECIMALS

ATTEMPTS_MAX = 200  # the page of a payment shows its latest attempts


def _money(field: str, description: str, *, ordering: str | None = None) -> Any:
    """Return a column that shows an amount in the payment's currency."""

    @admin.display(description=description, ordering=ordering)
    def amount(_admin: Any, record: Payment) -> str:
        return amount_in_words(getattr(record, field), record.currency.upper())

    return amount


def _failure_in_words(failure: str | None) -> str:
    return words(failure) if failure else NOTHING


@admin.register(Payment)
class PaymentAdmin(OwnedRecords):
    list_display = (
        "payment_number", "status_chip", "person", "amount", "refunded", "processor", "failure_shown", "created",
    )  # fmt: skip
    list_filter = ("status", "disputed", ("processor", among(("sandbox", "stripe"))))
    list_defer = ("description", "method_token")
    search_help_text = "A payment's id, the beginning of a user name, or a user's id"
    export_columns = (
        "id", "user_id", "status", "failure", "amount_cents", "fee_amount_cents", "refunded_cents", "disputed",
        "currency", "payment_method_id", "provider_account_id", "description", "processor", "transaction_id",
        "created_at", "processed_at",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": (
            "payment_number", "status_chip", "failure_shown", "person", "amount", "fee", "net", "refunded", "disputed",
            "payment_method_id", "provider_account_id", "description", "created", "processed",
        )}),
        ("At the processor", {"fields": (
            "processor", "transaction_shown", "key_shown", "epoch", "server_errors", "due",
        )}),
        ("Requests and responses", {"fields": ("attempts_shown",)}),
    )  # fmt: skip

    failure_shown = column(_failure_in_words, "failure", "failure")
    payment_number = column(str, "pk", "id", ordering="id")
    amount = _money("amount_cents", "amount", ordering="amount_cents")
    fee = _money("fee_amount_cents", "fee")
    net = _money("net_amount_cents", "net")
    refunded = _money("refunded_cents", "refunded", ordering="refunded_cents")
    transaction_shown = column(code, "transaction_id", "transaction")
    key_shown = column(code, "processor_key", "key")
    created = column(moment, "created_at", "created", ordering="created_at")
    processed = column(moment, "processed_at", "processed", ordering="processed_at")

    def search_by_name(self, term: str) -> Q | None:
        """Find payments by the ID of the payment or of the user."""
        number = parse_positive_int64(term.removeprefix("#"))
        return Q(pk=number) | Q(user_id=number) if number else None

    @admin.display(description="checked again")
    def due(self, record: Payment) -> SafeString | str:
        return moment(record.due_at) if record.is_open else NOTHING

    @admin.display(description="attempts")
    def attempts_shown(self, record: Payment) -> SafeString | str:
        latest = list(record.attempts.order_by("-id")[:ATTEMPTS_MAX])
        is_erased = getattr(record, "is_of_erased", False)
        rows = ((row, mask(row.detail) if is_erased else row.detail) for row in reversed(latest))
        return grid(
            (moment(row.at), row.action, chip(row.outcome), f"holder {row.epoch}", details(detail))
            for row, detail in rows
        )


@admin.register(PaymentMethod)
class PaymentMethodAdmin(OwnedRecords):
    list_display = ("short_id", "person", "processor_type", "account_hint", "is_default", "is_active", "created")
    list_filter = (("processor_type", among(PROCESSOR_TYPES)), "is_active")
    list_defer = ("account_token",)
    fields = ("identifier", "person", "processor_type", "account_hint", "is_default", "is_active", "created")

    created = column(moment, "created_at", "added", ordering="created_at")


@admin.register(ProcessorEvent)
class ProcessorEventAdmin(ReadOnlyAdmin):
    is_about_people = True
    list_display = ("id", "type", "payment_shown", "received", "applied")
    list_filter = (("applied_at", admin.EmptyFieldListFilter),)
    list_defer = ("detail",)
    search_fields = ("=id",)
    search_help_text = "A complete event id"
    ordering = ("-received_at",)
    fields = ("id", "type", "payment_shown", "received", "applied", "detail_shown")

    payment_shown = column(partial(record_link, "payments_payment"), "payment_id", "payment")
    received = column(moment, "received_at", "received", ordering="received_at")
    applied = column(moment, "applied_at", "processed", ordering="applied_at")
    detail_shown = column(document, "detail", "content")

    def subject_of(self, record: ProcessorEvent) -> int | None:
        return None if record.payment is None else record.payment.user_id


@admin.register(Wallet)
class WalletAdmin(OwnedRecords):
    list_display = ("short_id", "status_chip", "kind", "person", "account", "is_default", "connected")
    list_filter = ("status", "kind", "is_default")
    fields = (
        "identifier", "status_chip", "kind", "person", "account", "label", "is_default", "custody_link", "connected",
        "disconnected",
    )  # fmt: skip

    account = column(code, "account_id", "account (CAIP-10)")
    connected = column(moment, "connected_at", "connected", ordering="connected_at")
    disconnected = column(moment, "disconnected_at", "disconnected", ordering="disconnected_at")

    @admin.display(description="custody account")
    def custody_link(self, record: Any) -> SafeString | str:
        return record_link(
            "payments_custodyaccount", record.custody_account and record.custody_account.pk, record.custody_account
        )


@admin.register(CustodyAccount)
class CustodyAccountAdmin(OwnedRecords):
    list_display = ("short_id", "person", "provider", "network", "address_shown", "requested", "provisioned")
    list_filter = (("provider", among(("sandbox", "circle"))), ("provisioned_at", admin.EmptyFieldListFilter))
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
    search_help_text = f"{AN_ID}; a transaction's hash; the beginning of a user name; a user's id"
    fieldsets = (
        (None, {"fields": (
            "identifier", "status_chip", "failure", "person", "wallet_link", "amount", "description",
            "simulated", "created", "expires", "submitted", "settled",
        )}),
        ("On the chain", {"fields": (
            "network", "from_address", "to_address", "token_address", "hash_shown", "block_number",
        )}),
        ("History", {"fields": ("transactions_shown", "history_shown")}),
    )  # fmt: skip

    wallet_link = column(partial(record_link, "payments_wallet"), "wallet_id", "wallet")
    hash_shown = column(code, "tx_hash", "transaction")
    created = column(moment, "created_at", "created", ordering="created_at")
    expires = column(moment, "expires_at", "sign by")
    submitted = column(moment, "submitted_at", "submitted")
    settled = column(moment, "settled_at", "settled")

    @admin.display(description="amount", ordering="amount_usdc")
    def amount(self, record: Any) -> SafeString | str:
        return f"{Decimal(record.amount_usdc).scaleb(-USDC_DECIMALS):f} {ASSET}"

    def search_by_name(self, term: str) -> Q | None:
        """Also find payments by the hash of any signed transaction, including rejected transactions."""
        tx_hash = parse_transaction_hash(term)
        if tx_hash is None:
            return super().search_by_name(term)
        signed = CryptoTransaction.objects.filter(tx_hash=tx_hash).values_list("payment_id", flat=True)
        counts = CryptoPayment.objects.filter(tx_hash=tx_hash).values_list("pk", flat=True)
        return Q(pk__in={*signed, *counts})

    @admin.display(description="signed transactions")
    def transactions_shown(self, record: CryptoPayment) -> SafeString | str:
        return grid(
            (moment(row.given_at), code(row.tx_hash), f"nonce {row.nonce}") for row in record.transactions.all()
        )

    @admin.display(description="transitions")
    def history_shown(self, record: CryptoPayment) -> SafeString | str:
        display = mask if getattr(record, "is_masked", False) else str
        return grid(
            (
                moment(row.changed_at),
                words(row.status),
                row.principal or "system",
                row.credential,
                display(row.reason or ""),
            )
            for row in record.history.select_related("principal")
        )


def payments_of(person_id: int, since: datetime) -> list[TimelineEntry]:
    payments = Payment.objects.filter(user_id=person_id, created_at__gte=since)
    return [
        TimelineEntry(
            at=payment.processed_at or payment.created_at,
            title=f"Payment {payment.pk}",
            status=payment.status,
            details={"amount_cents": payment.amount_cents, "currency": payment.currency},
        )
        for payment in payments.defer("method_token").order_by("-id")[:ENTRIES_MAX]
    ]


QUEUE = Queue(
    name="payments",
    title="Payments with an unknown outcome",
    permission="payments.view_payment",
    rows=lambda _user: Payment.objects.filter(status=UNKNOWN),
    waiting_since="created_at",
    address=f"/admin/payments/payment/?status__exact={UNKNOWN}",
    calm="Every payment's outcome is known.",
    urgent_days=1,
    rank=40,
)
LINES = by_status("Card payments", Payment)
TONES = {
    "good": (COMPLETED, crypto.CONFIRMED),
    "bad": (FAILED, crypto.FAILED),
    "wait": (PENDING, PROCESSING, crypto.SUBMITTED),
    "ask": (UNKNOWN, crypto.AWAITING_SIGNATURE),
}

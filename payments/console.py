from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString

from config.backoffice.bases import OwnedRecords, ReadOnlyAdmin
from config.backoffice.html import NOTHING, chip, code, column, document, grid, moment, record_link
from config.backoffice.lists import among
from config.backoffice.people import by_status
from config.backoffice.queues import Queue
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry
from config.core.ids import parse_positive_int64
from payments.cards import models
from payments.cards.methods import PROCESSOR_TYPES
from payments.cards.models import UNKNOWN, Payment, PaymentMethod, ProcessorEvent
from payments.crypto import machine as crypto

ATTEMPTS_MAX = 200  # per payment: a longer history shows its latest part


def _money(field: str, description: str, *, ordering: str | None = None) -> Any:
    """Return a column of amounts; the smallest unit is not a hundredth in every currency, so it is named."""

    @admin.display(description=description, ordering=ordering)
    def shown(_admin: Any, record: Payment) -> str:
        return f"{getattr(record, field):,} {record.currency.upper()} (smallest unit)"

    return shown


@admin.register(Payment)
class PaymentAdmin(OwnedRecords):
    list_display = ("payment_number", "status_chip", "person", "amount", "processor", "failure", "created", "processed")
    list_filter = ("status", ("processor", among(("sandbox", "stripe"))))
    list_defer = ("description", "method_token")
    search_help_text = "A payment's id, or a person's user name (its beginning) or id"
    personal_fields = ("description",)
    fieldsets = (
        (None, {"fields": (
            "payment_number", "status_chip", "failure", "person", "amount", "fee", "net", "payment_method_id",
            "provider_account_id", "description", "created", "processed",
        )}),
        ("At the processor", {"fields": (
            "processor", "transaction_shown", "key_shown", "epoch", "server_errors", "due",
        )}),
        ("Requests and responses", {"fields": ("attempts_shown",)}),
    )  # fmt: skip

    payment_number = column(str, "pk", "id", ordering="id")
    amount = _money("amount_cents", "amount", ordering="amount_cents")
    fee = _money("fee_amount_cents", "fee")
    net = _money("net_amount_cents", "net")
    transaction_shown = column(code, "transaction_id", "transaction")
    key_shown = column(code, "processor_key", "key")
    created = column(moment, "created_at", "created", ordering="created_at")
    processed = column(moment, "processed_at", "processed", ordering="processed_at")

    def search_by_name(self, term: str) -> Q | None:
        """Find by a number: the payment's own, or its person's."""
        number = parse_positive_int64(term.removeprefix("#"))
        return Q(pk=number) | Q(user_id=number) if number else None

    @admin.display(description="looked at again")
    def due(self, record: Payment) -> SafeString | str:
        return moment(record.due_at) if record.is_open else NOTHING

    @admin.display(description="attempts")
    def attempts_shown(self, record: Payment) -> SafeString | str:
        latest = list(record.attempts.order_by("-id")[:ATTEMPTS_MAX])
        return grid(
            (moment(row.at), row.action, chip(row.outcome), f"holder {row.epoch}", document(row.detail))
            for row in reversed(latest)
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
    list_display = ("id", "type", "payment_shown", "received", "applied")
    list_filter = (("applied_at", admin.EmptyFieldListFilter),)
    list_defer = ("detail",)
    search_fields = ("=id",)
    search_help_text = "An event's id, whole"
    ordering = ("-received_at",)
    fields = ("id", "type", "payment_shown", "received", "applied", "detail_shown")

    payment_shown = column(partial(record_link, "payments_payment"), "payment_id", "payment")
    received = column(moment, "received_at", "received", ordering="received_at")
    applied = column(moment, "applied_at", "acted on", ordering="applied_at")
    detail_shown = column(document, "detail", "what it says")


def payments_of(person_id: int, since: datetime) -> list[TimelineEntry]:
    found = Payment.objects.filter(user_id=person_id, created_at__gte=since)
    return [
        TimelineEntry(
            at=payment.processed_at or payment.created_at,
            title=f"Payment {payment.pk}",
            status=payment.status,
            details={"amount_cents": payment.amount_cents, "currency": payment.currency},
        )
        for payment in found.defer("method_token").order_by("-id")[:ENTRIES_MAX]
    ]


QUEUE = Queue(
    name="payments",
    title="Payments with an unknown outcome",
    permission="payments.view_payment",
    rows=lambda _user: Payment.objects.filter(status=UNKNOWN),
    waiting_since="due_at",
    address=f"/admin/payments/payment/?status__exact={UNKNOWN}",
    calm="Every payment's outcome is known.",
    urgent_days=1,
    rank=40,
)
LINES = by_status("Card payments", Payment)
TONES = {
    "good": (models.COMPLETED, crypto.CONFIRMED),
    "bad": (models.FAILED, crypto.FAILED),
    "wait": (models.PENDING, models.PROCESSING, crypto.SUBMITTED),
    "ask": (UNKNOWN, crypto.AWAITING_SIGNATURE),
}

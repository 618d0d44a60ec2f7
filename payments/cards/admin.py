"""Card payments, payment methods and processor events at the backoffice. All of it is only looked at."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.backoffice.admin import ReadOnlyAdmin
from config.backoffice.html import NOTHING, chip, code, document, link, moment
from config.backoffice.lists import among
from config.core.ids import parse_positive_int64
from payments.backoffice import OwnedAdmin
from payments.cards.methods import PROCESSOR_TYPES
from payments.cards.models import Payment, PaymentAttempt, PaymentMethod, ProcessorEvent

ATTEMPTS_MAX = 200  # of one payment: a longer story shows its latest part


@admin.register(Payment)
class PaymentAdmin(OwnedAdmin):
    """Card payments with everything that was said to the processor, and by it."""

    list_display = ("payment_number", "status_chip", "person", "amount", "processor", "failure", "created", "processed")
    list_display_links = ("payment_number",)
    list_filter = ("status", ("processor", among(("sandbox", "stripe"))))
    list_defer = ("description", "method_token")
    search_help_text = "A payment's id, or a person's user name (its beginning) or id"
    personal_fields = ("description",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "payment_number", "status_chip", "failure", "person", "amount", "fee", "net", "payment_method_id",
                    "provider_account_id", "description", "created", "processed",
                )
            },
        ),
        (
            "At the processor",
            {"fields": ("processor", "transaction_shown", "key_shown", "epoch", "server_errors", "due")},
        ),
        ("What was sent, and what came back", {"fields": ("attempts_shown",)}),
    )  # fmt: skip

    def search_by_name(self, term: str) -> Q | None:
        """Find by a number: the payment's own, or its person's."""
        number = parse_positive_int64(term.removeprefix("#"))
        return Q(pk=number) | Q(user_id=number) if number else None

    @admin.display(description="id", ordering="id")
    def payment_number(self, record: Payment) -> str:
        """Show the number under which the person knows the payment."""
        return str(record.pk)

    @admin.display(description="amount", ordering="amount_cents")
    def amount(self, record: Payment) -> str:
        """Show the amount in the smallest unit of its currency."""
        return _money(record.amount_cents, record.currency)

    @admin.display(description="fee")
    def fee(self, record: Payment) -> str:
        """Show the fee."""
        return _money(record.fee_amount_cents, record.currency)

    @admin.display(description="net")
    def net(self, record: Payment) -> str:
        """Show what is left after the fee."""
        return _money(record.net_amount_cents, record.currency)

    @admin.display(description="transaction")
    def transaction_shown(self, record: Payment) -> SafeString | str:
        """Show what the processor calls the charge."""
        return code(record.transaction_id or "")

    @admin.display(description="key")
    def key_shown(self, record: Payment) -> SafeString | str:
        """Show the key under which the processor was asked."""
        return code(record.processor_key)

    @admin.display(description="looked at again")
    def due(self, record: Payment) -> SafeString | str:
        """Show when an open payment is gone on with."""
        return moment(record.due_at) if record.is_open else NOTHING

    @admin.display(description="attempts")
    def attempts_shown(self, record: Payment) -> SafeString | str:
        """Show the attempt log, oldest first."""
        latest = record.attempts.order_by("-id")[:ATTEMPTS_MAX]
        return _attempts(list(latest)[::-1])

    @admin.display(description="created", ordering="created_at")
    def created(self, record: Payment) -> SafeString | str:
        """Show when it was asked for."""
        return moment(record.created_at)

    @admin.display(description="processed", ordering="processed_at")
    def processed(self, record: Payment) -> SafeString | str:
        """Show when its outcome was known."""
        return moment(record.processed_at)


@admin.register(PaymentMethod)
class PaymentMethodAdmin(OwnedAdmin):
    """Payment methods that people keep here; of the token only its last characters are shown."""

    list_display = ("short_id", "person", "processor_type", "account_hint", "is_default", "is_active", "created")
    list_filter = (("processor_type", among(PROCESSOR_TYPES)), "is_active")
    list_defer = ("account_token",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier",
                    "person",
                    "processor_type",
                    "account_hint",
                    "is_default",
                    "is_active",
                    "created",
                )
            },
        ),
    )

    @admin.display(description="added", ordering="created_at")
    def created(self, record: PaymentMethod) -> SafeString | str:
        """Show when it was added."""
        return moment(record.created_at)


@admin.register(ProcessorEvent)
class ProcessorEventAdmin(ReadOnlyAdmin):
    """What the processor told by itself; events without a payment are others' or wait for theirs."""

    list_display = ("id", "type", "payment_shown", "received", "applied")
    list_filter = (("applied_at", admin.EmptyFieldListFilter),)
    list_defer = ("detail",)
    search_fields = ("=id",)
    search_help_text = "An event's id, whole"
    ordering = ("-received_at",)
    fieldsets = ((None, {"fields": ("id", "type", "payment_shown", "received", "applied", "detail_shown")}),)

    @admin.display(description="payment")
    def payment_shown(self, record: ProcessorEvent) -> SafeString | str:
        """Lead to the payment."""
        if record.payment_id is None:
            return NOTHING
        return link(reverse("admin:payments_payment_change", args=[record.payment_id]), record.payment_id)

    @admin.display(description="received", ordering="received_at")
    def received(self, record: ProcessorEvent) -> SafeString | str:
        """Show when it came."""
        return moment(record.received_at)

    @admin.display(description="acted on", ordering="applied_at")
    def applied(self, record: ProcessorEvent) -> SafeString | str:
        """Show when it was acted on."""
        return moment(record.applied_at)

    @admin.display(description="what it says")
    def detail_shown(self, record: ProcessorEvent) -> SafeString | str:
        """Show what was kept of it."""
        return document(record.detail)


def _money(cents: int, currency: str) -> str:
    """Return an amount as people read it; the smallest unit is not a hundredth in every currency, so it is named."""
    return f"{cents:,} {currency.upper()} (smallest unit)"


def _attempts(rows: list[PaymentAttempt]) -> SafeString | str:
    """Return the attempt log as a table."""
    if not rows:
        return NOTHING
    cells: list[tuple[Any, ...]] = [
        (moment(row.at), row.action, chip(row.outcome), row.epoch, document(row.detail)) for row in rows
    ]
    line = "<tr><td>{}</td><td>{}</td><td>{}</td><td>holder {}</td><td>{}</td></tr>"
    return format_html('<table class="terms">{}</table>', format_html_join("", line, cells))

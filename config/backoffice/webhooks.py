"""Events, endpoints and deliveries in the back office. Secrets are shown once, when they are made, and never again."""

from datetime import timedelta
from typing import Any, ClassVar, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.backoffice import queues
from config.backoffice.admin import ReadOnlyAdmin, RecordAction, SeenForm, show_secret
from config.backoffice.html import NOTHING, chip, code, document, link, moment, words
from config.backoffice.lists import among
from config.backoffice.owned import OwnedRecords
from config.core.encryption import UnreadableSecret
from config.core.ids import parse_uuid
from config.webhooks import endpoints
from config.webhooks.catalogue import EVENT_TYPES
from config.webhooks.models import BY_OPERATOR, BY_OWNER, ENABLED, FAILING, GONE, Delivery, Endpoint, Event

CHANGE_ENDPOINT, CHANGE_DELIVERY = "webhooks.change_endpoint", "webhooks.change_delivery"


class AccountRecords(OwnedRecords):
    """Records of an account, which the back office shows to whoever may see webhooks: nothing in them is personal."""

    owner = "account"
    is_about_people = False
    list_select_related: ClassVar[Any] = ("account",)


@admin.register(Event)
class EventAdmin(AccountRecords):
    """What happened, newest first. Events only grow."""

    list_display = ("when", "type", "account", "what", "request_id")
    search_help_text = "An event's id, or a person's user name (its beginning) or id"
    fields = ("id", "type", "account", "when", "request_id", "content")

    @admin.display(description="when", ordering="id")
    def when(self, record: Event) -> SafeString | str:
        """Show the moment."""
        return moment(record.created_at)

    @admin.display(description="about")
    def what(self, record: Event) -> SafeString | str:
        """Show the first member of its object, which names the record."""
        return code(next((f"{name} {value}" for name, value in (record.object or {}).items()), ""))

    @admin.display(description="object")
    def content(self, record: Event) -> SafeString | str:
        """Show the whole object."""
        return document(record.object)


def _test(request: HttpRequest, endpoint: Endpoint, form: SeenForm) -> str:
    """Send a test."""
    del request, form
    return f"The test is delivery {endpoints.send_test(endpoint, now=timezone.now()).pk}."


def _disable(request: HttpRequest, endpoint: Endpoint, form: SeenForm) -> str:
    """Disable the endpoint."""
    del request, form
    with transaction.atomic():
        endpoints.disable(endpoint.pk, BY_OPERATOR, now=timezone.now())
    return "The endpoint is disabled."


def _enable(request: HttpRequest, endpoint: Endpoint, form: SeenForm) -> str:
    """Enable the endpoint."""
    del request, form
    endpoints.change_endpoint(endpoint, changes={"status": ENABLED}, now=timezone.now())
    return "The endpoint is enabled."


class RotationForm(SeenForm):
    """How long the old secret goes on signing."""

    grace_hours = forms.IntegerField(
        min_value=0,
        max_value=endpoints.GRACE_MAX_SECONDS // 3600,
        initial=endpoints.DEFAULT_GRACE_SECONDS // 3600,
        help_text="How many hours the old secret goes on signing beside the new one: 0 to 168.",
    )


def _rotate(request: HttpRequest, endpoint: Endpoint, form: RotationForm) -> HttpResponse:
    """Give the endpoint a new secret and show it once."""
    grace = timedelta(hours=form.cleaned_data["grace_hours"])
    rotated = endpoints.rotate_secret(endpoint.pk, grace=grace, now=timezone.now())
    return show_secret(
        request,
        model_admin=cast("ReadOnlyAdmin", admin.site.get_model_admin(Endpoint)),
        record=rotated,
        title="The new secret",
        secrets={"Secret": rotated.secret},
        note="Store it now. It cannot be shown again.",
    )


def _why_not_working(endpoint: Endpoint) -> str:
    """Return why nothing can be sent to an endpoint."""
    if endpoint.deleted_at is not None:
        return "The endpoint was deleted."
    return "" if endpoint.status == ENABLED else "The endpoint is disabled."


def _why_not_enabled(endpoint: Endpoint) -> str:
    """Return why an endpoint cannot be enabled."""
    if endpoint.deleted_at is not None:
        return "The endpoint was deleted."
    return "The endpoint is enabled." if endpoint.status == ENABLED else ""


def _is_deleted(endpoint: Endpoint) -> str:
    """Return why an endpoint's secret cannot be rotated."""
    return "The endpoint was deleted." if endpoint.deleted_at is not None else ""


def _endpoint_state(endpoint: Endpoint) -> str:
    """Return what a confirmation about an endpoint is bound to."""
    return f"{endpoint.status}:{endpoint.secret_version}:{endpoint.deleted_at}"


queues.register(
    queues.Queue(
        name="webhooks",
        title="Webhooks failing",
        permission=CHANGE_ENDPOINT,
        rows=lambda _user, _now: Endpoint.objects.enabled().filter(failing_since__isnull=False),
        waiting_since="failing_since",
        address="/admin/webhooks/endpoint/?state=failing",
        calm="Every receiver answers.",
        urgent_days=1,
        rank=60,
    )
)


class HealthFilter(admin.SimpleListFilter):
    """Whether an endpoint is used, and whether what is sent to it arrives."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the states."""
        del request, model_admin
        return [("working", "Working"), ("failing", "Failing"), ("disabled", "Disabled"), ("deleted", "Deleted")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> QuerySet[Endpoint]:
        """Keep the endpoints in that state."""
        del request
        used = Q(deleted_at=None, status=ENABLED)
        chosen = {
            "working": used & Q(failing_since=None),
            "failing": used & Q(failing_since__isnull=False),
            "disabled": Q(deleted_at=None) & ~Q(status=ENABLED),
            "deleted": Q(deleted_at__isnull=False),
        }.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(chosen)


@admin.register(Endpoint)
class EndpointAdmin(AccountRecords):
    """Who is told about events, and how that goes."""

    list_display = ("url", "status_chip", "account", "disabled_reason", "failing_since", "created_at")
    list_filter = (HealthFilter, ("disabled_reason", among((BY_OWNER, BY_OPERATOR, GONE, FAILING))))
    list_defer = ("secret", "previous_secret")
    search_help_text = "An endpoint's id, or a person's user name (its beginning) or id"
    fields = (
        "id", "url", "status_chip", "disabled_reason", "account", "description", "told_about", "failing_since",
        "secrets", "deliveries_link", "created_at", "updated_at", "deleted_at",
    )  # fmt: skip
    record_actions = (
        RecordAction(
            name="test",
            label="Send a test",
            permission=CHANGE_ENDPOINT,
            run=_test,
            refusal=_why_not_working,
            seen=_endpoint_state,
            consequences=lambda endpoint: [f"A webhook.test event is sent to {endpoint.url}, and to nobody else."],
        ),
        RecordAction(
            name="rotate",
            label="Rotate secret",
            permission=CHANGE_ENDPOINT,
            run=_rotate,
            form=RotationForm,
            refusal=_is_deleted,
            seen=_endpoint_state,
            consequences=lambda _endpoint: [
                "A new secret is made and shown on the next page, once.",
                "During the grace the old one signs beside it; of earlier ones none does.",
            ],
        ),
        RecordAction(
            name="disable",
            label="Disable",
            permission=CHANGE_ENDPOINT,
            run=_disable,
            refusal=_why_not_working,
            seen=_endpoint_state,
            consequences=lambda _endpoint: [
                "Nothing more is sent to it; what is pending is given up.",
                "Its owner is told by the event webhook.endpoint.disabled, and can enable it again.",
            ],
        ),
        RecordAction(
            name="enable",
            label="Enable",
            permission=CHANGE_ENDPOINT,
            run=_enable,
            refusal=_why_not_enabled,
            seen=_endpoint_state,
            consequences=lambda _endpoint: ["It is told about what happens from now on."],
        ),
    )

    def actions_of(self, request: HttpRequest, record: Endpoint) -> list[RecordAction]:
        """Let nobody see a stranger's secret: its owner rotates it through the API."""
        actions = super().actions_of(request, record)
        is_own = record.account_id == request.user.pk
        return [action for action in actions if is_own or action.name != "rotate"]

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: Endpoint) -> SafeString:
        """Show the status."""
        return chip("deleted" if record.deleted_at is not None else record.status)

    @admin.display(description="told about")
    def told_about(self, record: Endpoint) -> str:
        """Show the event types."""
        return ", ".join("everything" if name == "*" else name for name in record.event_types)

    @admin.display(description="secrets")
    def secrets(self, record: Endpoint) -> str:
        """Show how many there are, never what they are."""
        if record.deleted_at is not None:
            return NOTHING
        try:
            live = record.live_secrets(timezone.now())
        except UnreadableSecret:
            return f"version {record.secret_version}, which no key opens: nothing can be signed. Rotate the secret."
        if len(live) == 1:
            return f"version {record.secret_version}"
        until = moment(record.previous_secret_until)
        proven = "accepted" if record.secret_proven else "not accepted yet"
        text = "version {} ({} by the receiver), and the one before it until {}"
        return format_html(text, record.secret_version, proven, until)

    @admin.display(description="deliveries")
    def deliveries_link(self, record: Endpoint) -> SafeString:
        """Lead to what was sent to it."""
        deliveries = cast("ReadOnlyAdmin", admin.site.get_model_admin(Delivery))
        return link(f"{deliveries.address_of('changelist')}?q={record.pk}", "What was sent to it")


def _redeliver(request: HttpRequest, delivery: Delivery, form: SeenForm) -> str:
    """Send the event again."""
    del request, form
    return f"The event is sent again as delivery {endpoints.redeliver(delivery, now=timezone.now()).pk}."


def _named(identifier: UUID) -> Q:
    """Select the delivery of an id, or those of an endpoint or event: within its account, which an index knows."""
    for model, column in ((Endpoint, "endpoint_id"), (Event, "event_id")):
        account_id = model.objects.filter(pk=identifier).values_list("account_id", flat=True).first()
        if account_id is not None:
            return Q(account_id=account_id, **{column: identifier})
    return Q(pk=identifier)


class EventTypeFilter(admin.SimpleListFilter):
    """Which type of event; the choices come from the catalogue, not from a walk over the table."""

    title = "event type"
    parameter_name = "event"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the types."""
        del request, model_admin
        return [(name, name) for name in EVENT_TYPES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        """Keep the deliveries of that type."""
        del request
        return queryset.filter(event_type=self.value()) if self.value() in EVENT_TYPES else queryset


@admin.register(Delivery)
class DeliveryAdmin(AccountRecords):
    """What was sent, and what became of it."""

    list_display = ("made", "event_type", "status_chip", "receiver", "account", "tries", "last_answer", "due_at")
    list_filter = ("status", EventTypeFilter)
    list_select_related = ("account", "endpoint")
    list_defer = ("endpoint__secret", "endpoint__previous_secret")
    search_help_text = "The id of a delivery, an event or an endpoint, or a person's user name (its beginning) or id"
    fields = (
        "id", "status_chip", "receiver", "account", "event_type", "event_link", "is_redelivery", "made", "due_at",
        "attempt_table", "content",
    )  # fmt: skip
    record_actions = (
        RecordAction(
            name="redeliver",
            label="Redeliver",
            permission=CHANGE_DELIVERY,
            run=_redeliver,
            refusal=lambda delivery: _why_not_working(delivery.endpoint),
            seen=lambda delivery: f"{delivery.status}:{delivery.endpoint.status}",
            consequences=lambda delivery: [
                f"The event is sent to {delivery.endpoint.url} once more, under the same webhook-id.",
                "A receiver that keeps to the rules takes it for a repetition and changes nothing.",
            ],
        ),
    )

    def search_by_name(self, term: str) -> Q | None:
        """Find deliveries by their own id, their event's or their endpoint's."""
        identifier = parse_uuid(term.lower())
        return _named(identifier) if identifier else None

    @admin.display(description="made", ordering="id")
    def made(self, record: Delivery) -> SafeString | str:
        """Show the moment."""
        return moment(record.created_at)

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: Delivery) -> SafeString:
        """Show the status."""
        return chip(record.status)

    @admin.display(description="endpoint")
    def receiver(self, record: Delivery) -> SafeString:
        """Lead to the endpoint."""
        shown = cast("ReadOnlyAdmin", admin.site.get_model_admin(Endpoint))
        return link(shown.address_of("change", record.endpoint_id), record.endpoint.url)

    @admin.display(description="event")
    def event_link(self, record: Delivery) -> SafeString:
        """Lead to the event."""
        shown = cast("ReadOnlyAdmin", admin.site.get_model_admin(Event))
        return link(shown.address_of("change", record.event_id), record.event_id)

    @admin.display(description="attempts")
    def tries(self, record: Delivery) -> int:
        """Show how many attempts there were."""
        return len(record.attempts)

    @admin.display(description="last answer")
    def last_answer(self, record: Delivery) -> str:
        """Show what became of the last attempt."""
        if not record.attempts:
            return NOTHING
        last = record.attempts[-1]
        return str(last["status_code"] or words(last["error"]))

    @admin.display(description="attempts")
    def attempt_table(self, record: Delivery) -> SafeString | str:
        """Show every attempt."""
        if not record.attempts:
            return NOTHING
        rows = format_html_join(
            "",
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{} ms</td></tr>",
            (
                (one["at"], one["status_code"] or NOTHING, words(one["error"] or "accepted"), one["duration_ms"])
                for one in record.attempts
            ),
        )
        head = "<tr><th>at</th><th>answer</th><th>outcome</th><th>took</th></tr>"
        return format_html('<table class="terms">' + head + "{}</table>", rows)

    @admin.display(description="object")
    def content(self, record: Delivery) -> SafeString | str:
        """Show what the event is about."""
        return document(record.event.object)

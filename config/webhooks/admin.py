"""Events, endpoints, and deliveries in the back office. A new secret is displayed once."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.bases import OwnedRecords, RecordAction, SeenForm, show_secret
from config.backoffice.consoles import may
from config.backoffice.html import NOTHING, chip, code, column, document, grid, link, moment, record_link, words
from config.backoffice.lists import ConditionFilter, among
from config.backoffice.queues import Queue
from config.backoffice.site import ConsolePage
from config.core.encryption import UnreadableSecret
from config.core.errors import ValidationFailed
from config.core.ids import parse_uuid
from config.webhooks import endpoints
from config.webhooks.catalogue import event_types
from config.webhooks.models import (
    BY_OPERATOR,
    BY_OWNER,
    BY_RESET,
    ENABLED,
    FAILED,
    FAILING,
    GONE,
    Delivery,
    Endpoint,
    Event,
)

CHANGE_ENDPOINT, CHANGE_DELIVERY = "webhooks.change_endpoint", "webhooks.change_delivery"
RECENT_MAX, RESENT_MAX = 10, 500
_BY_PERSON = "the beginning of a user name, or a user's id"


class AccountRecords(OwnedRecords):
    """A list of an account's records without personal data, for staff with permission to view webhooks."""

    owner = "account"
    is_about_people = False
    list_select_related: ClassVar[Any] = ("account",)


@admin.register(Event)
class EventAdmin(AccountRecords):
    list_display = ("when", "type", "account", "what", "request_id")
    search_help_text = f"An event's id, {_BY_PERSON}"
    fields = ("id", "type", "account", "when", "request_id", "content")

    when = column(moment, "created_at", "when", ordering="id")
    content = column(document, "object", "object")

    @admin.display(description="about")
    def what(self, record: Event) -> SafeString | str:
        return code(next((f"{name} {value}" for name, value in (record.object or {}).items()), ""))


class RotationForm(SeenForm):
    grace_hours = forms.IntegerField(
        min_value=0,
        max_value=endpoints.GRACE_MAX_SECONDS // 3600,
        initial=endpoints.DEFAULT_GRACE_SECONDS // 3600,
        help_text="The number of hours for which the old secret also signs: 0 to 168.",
    )


def _test(_request: HttpRequest, endpoint: Endpoint, _form: SeenForm) -> str:
    return f"The test event is delivery {endpoints.send_test(endpoint, now=timezone.now()).pk}."


def _disable(_request: HttpRequest, endpoint: Endpoint, _form: SeenForm) -> str:
    with transaction.atomic():
        endpoints.disable(endpoint.pk, BY_OPERATOR, now=timezone.now())
    return "The endpoint is disabled."


def _enable(_request: HttpRequest, endpoint: Endpoint, _form: SeenForm) -> str:
    endpoints.change_endpoint(endpoint, changes={"status": ENABLED}, now=timezone.now())
    return "The endpoint is enabled."


def _rotate(request: HttpRequest, endpoint: Endpoint, form: RotationForm) -> HttpResponse:
    grace = timedelta(hours=form.cleaned_data["grace_hours"])
    rotated = endpoints.rotate_secret(endpoint.pk, grace=grace, now=timezone.now())
    note = "Store it now. This page displays it only once."
    return show_secret(request, rotated, title="The new secret", secrets={"Secret": rotated.secret}, note=note)


def resend(rows: Iterable[Delivery]) -> tuple[int, int]:
    """Send deliveries again. Return the number of sent deliveries, and of deliveries with a disabled endpoint."""
    sent = skipped = 0
    for delivery in rows:
        try:
            endpoints.redeliver(delivery, now=timezone.now())
        except (endpoints.WebhookEndpointNotFound, ValidationFailed):
            skipped += 1
        else:
            sent += 1
    return sent, skipped


def _failed(endpoint: Endpoint) -> QuerySet[Delivery]:
    """Return an endpoint's failed deliveries whose events were not sent again, oldest first."""
    later = Delivery.objects.filter(account=endpoint.account_id, endpoint=endpoint, event=OuterRef("event"))
    failed = Delivery.objects.filter(account=endpoint.account_id, endpoint=endpoint, status=FAILED)
    return failed.exclude(Exists(later.filter(pk__gt=OuterRef("pk")))).order_by("id")


def _resend_failed(_request: HttpRequest, endpoint: Endpoint, _form: SeenForm) -> str:
    sent, _skipped = resend(_failed(endpoint)[:RESENT_MAX])
    return f"Deliveries sent again: {sent}."


def _why_not_resent(endpoint: Endpoint) -> str:
    return _why_not_working(endpoint) or ("" if _failed(endpoint).exists() else "No delivery has failed.")


def _is_deleted(endpoint: Endpoint) -> str:
    return "The endpoint was deleted." if endpoint.deleted_at is not None else ""


def _why_not_working(endpoint: Endpoint) -> str:
    return _is_deleted(endpoint) or ("" if endpoint.status == ENABLED else "The endpoint is disabled.")


_EndpointAction = partial(
    RecordAction,
    permission=CHANGE_ENDPOINT,
    seen=lambda endpoint: f"{endpoint.status}:{endpoint.secret_version}:{endpoint.deleted_at}",
)


class HealthFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {
        "working": ("Working", Q(deleted_at=None, status=ENABLED, failing_since=None)),
        "failing": ("Failing", Q(deleted_at=None, status=ENABLED, failing_since__isnull=False)),
        "disabled": ("Disabled", Q(deleted_at=None) & ~Q(status=ENABLED)),
        "deleted": ("Deleted", Q(deleted_at__isnull=False)),
    }


@admin.register(Endpoint)
class EndpointAdmin(AccountRecords):
    list_display = ("receiver", "status_chip", "account", "disabled_reason", "created_at")
    list_filter = (HealthFilter, ("disabled_reason", among((BY_OWNER, BY_OPERATOR, BY_RESET, GONE, FAILING))))
    list_defer = ("secret", "previous_secret")
    search_help_text = f"An endpoint's id, {_BY_PERSON}"
    fields = (
        "id", "receiver", "status_chip", "disabled_reason", "disabled", "account", "description", "told_about",
        "secrets", "recent", "deliveries_link", "created_at", "updated_at", "deleted_at",
    )  # fmt: skip
    record_actions = (
        _EndpointAction(
            "test",
            "Send a test",
            run=_test,
            refusal=_why_not_working,
            consequences=lambda endpoint: [f"The platform sends a webhook.test event to {endpoint} only."],
        ),
        _EndpointAction(
            "resend-failed",
            "Send failed events again",
            run=_resend_failed,
            refusal=_why_not_resent,
            consequences=lambda endpoint: [
                f"Failed events that the platform sends to {endpoint} again: {_failed(endpoint)[:RESENT_MAX].count()}.",
                f"This is at most {RESENT_MAX}, the oldest first. A correct receiver ignores duplicates.",
            ],
        ),
        _EndpointAction(
            "rotate",
            "Rotate secret",
            run=_rotate,
            form=RotationForm,
            refusal=_is_deleted,
            consequences=lambda _endpoint: [
                "The next page displays the new secret once.",
                "During the overlap, the old secret also signs. Earlier secrets do not.",
            ],
        ),
        _EndpointAction(
            "disable",
            "Disable",
            run=_disable,
            refusal=_why_not_working,
            consequences=lambda _endpoint: [
                "The platform cancels pending deliveries, and sends no more events to the endpoint.",
                "The owner gets the event webhook.endpoint.disabled, and can enable the endpoint again.",
            ],
        ),
        _EndpointAction(
            "enable",
            "Enable",
            run=_enable,
            refusal=_is_deleted,
            consequences=lambda _endpoint: ["The endpoint gets events from now on."],
        ),
    )

    receiver = column(str, "shown_url", "receiver")
    disabled = column(moment, "disabled_since", "disabled since")

    @admin.display(description="event types")
    def told_about(self, record: Any) -> SafeString | str:
        return ", ".join(record.event_types).replace("*", "everything")

    @admin.display(description="deliveries")
    def deliveries_link(self, record: Any) -> SafeString | str:
        of_endpoint = f"/admin/webhooks/delivery/?q={record.pk}"
        failures = link(f"{of_endpoint}&status__exact={FAILED}", "Failed deliveries")
        return format_html("{}, {}", failures, link(of_endpoint, "All deliveries"))

    def actions_of(self, request: HttpRequest, record: Endpoint) -> list[RecordAction]:
        """Return the possible actions. Only the owner may see a new secret, so only the owner can rotate it."""
        hidden = set() if record.account_id == request.user.pk else {"rotate"}
        hidden |= {"enable"} if record.status == ENABLED else {"disable", "test", "resend-failed"}
        return [action for action in super().actions_of(request, record) if action.name not in hidden]

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: Endpoint) -> SafeString:
        if record.deleted_at is None and record.status == ENABLED and record.failing_since is not None:
            return format_html("{} since {}", chip(FAILING), moment(record.failing_since))
        return chip("deleted" if record.deleted_at is not None else record.status)

    @admin.display(description="last deliveries")
    def recent(self, record: Endpoint) -> SafeString | str:
        deliveries = Delivery.objects.filter(account=record.account_id, endpoint=record).order_by("-id")[:RECENT_MAX]
        rows = [
            (
                record_link("webhooks_delivery", delivery.pk, delivery.event_type),
                chip(delivery.status),
                moment(delivery.created_at),
                len(delivery.attempts),
                last_answer_of(delivery),
            )
            for delivery in deliveries
        ]
        return grid(rows, head=("event", "status", "created", "attempts", "last response"))

    @admin.display(description="secrets")
    def secrets(self, record: Endpoint) -> str:
        """Describe the endpoint's secrets without displaying them."""
        if record.deleted_at is not None:
            return NOTHING
        try:
            live = record.live_secrets(timezone.now())
        except UnreadableSecret:
            return (
                f"version {record.secret_version}, which no key decrypts: the platform"
                " can't sign events. Rotate the secret."
            )
        if len(live) == 1:
            return f"version {record.secret_version}"
        until = moment(record.previous_secret_until)
        proven = "accepted" if record.secret_proven else "not accepted yet"
        text = "version {} ({} by the receiver), and the previous version until {}"
        return format_html(text, record.secret_version, proven, until)


def last_answer_of(delivery: Delivery) -> str:
    if not delivery.attempts:
        return NOTHING
    last = delivery.attempts[-1]
    return str(last["status_code"] or words(last["error"]))


def _named(identifier: UUID) -> Q:
    """Return the condition that selects deliveries by their own ID, the ID of their endpoint, or the ID of their event.

    The index begins with the account, so the condition includes the account.
    """
    for model, name in ((Endpoint, "endpoint_id"), (Event, "event_id")):
        account_id = model.objects.filter(pk=identifier).values_list("account_id", flat=True).first()
        if account_id is not None:
            return Q(account_id=account_id, **{name: identifier})
    return Q(pk=identifier)


@admin.register(Delivery)
class DeliveryAdmin(AccountRecords):
    list_display = ("made", "event_type", "status_chip", "receiver", "account", "tries", "last_answer", "due_at")
    list_filter = ("status", ("event_type", among(event_types)))
    list_select_related = ("account", "endpoint")
    list_defer = ("endpoint__secret", "endpoint__previous_secret")
    search_help_text = f"The id of a delivery, an event or an endpoint, {_BY_PERSON}"
    fields = (
        "id", "status_chip", "receiver", "account", "event_type", "event_link", "is_redelivery", "made", "due_at",
        "attempt_table", "content",
    )  # fmt: skip
    actions = ("send_again",)
    record_actions = (
        RecordAction(
            name="redeliver",
            label="Send again",
            permission=CHANGE_DELIVERY,
            run=lambda _request, delivery, _form: (
                f"The event is sent again as delivery {endpoints.redeliver(delivery, now=timezone.now()).pk}."
            ),
            refusal=lambda delivery: _why_not_working(delivery.endpoint),
            seen=lambda delivery: f"{delivery.status}:{delivery.endpoint.status}",
            consequences=lambda delivery: [
                f"The platform sends the event to {delivery.endpoint} again, with the same webhook-id.",
                "A correct receiver recognizes the duplicate, and ignores it.",
            ],
        ),
    )

    made = column(moment, "created_at", "created", ordering="id")
    event_link = column(partial(record_link, "webhooks_event"), "event_id", "event")

    content = column(document, "event.object", "object")

    @admin.display(description="attempts")
    def tries(self, record: Delivery) -> int:
        return len(record.attempts)

    @admin.display(description="endpoint")
    def receiver(self, record: Any) -> SafeString | str:
        return record_link("webhooks_endpoint", record.endpoint.pk, record.endpoint)

    def search_by_name(self, term: str) -> Q | None:
        identifier = parse_uuid(term.lower())
        return _named(identifier) if identifier else None

    def title_of(self, record: Delivery) -> str:
        return f"of {record.event_type} to {record.endpoint.shown_url}"

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        rows = Delivery.objects.filter(pk__in=[*filter(None, map(parse_uuid, ids))]).select_related("endpoint")
        return {str(row.pk): self.title_of(row) for row in rows.defer(*self.list_defer)}

    @admin.display(description="last response")
    def last_answer(self, record: Delivery) -> str:
        return last_answer_of(record)

    @admin.action(description="Send again", permissions=["change_delivery"])
    def send_again(self, request: HttpRequest, chosen: QuerySet[Delivery]) -> None:
        """Send the selected deliveries again, oldest first, at most RESENT_MAX."""
        rows = list(chosen.order_by("id")[:RESENT_MAX])
        sent, skipped = resend(rows)
        for delivery in rows:
            self.log_change(request, delivery, "Send again.")
        note = f" Skipped, because the endpoint is disabled: {skipped}." if skipped else ""
        messages.success(request, f"Deliveries sent again: {sent}.{note}")

    def has_change_delivery_permission(self, request: HttpRequest) -> bool:
        return may(request.user, CHANGE_DELIVERY)

    @admin.display(description="attempts")
    def attempt_table(self, record: Delivery) -> SafeString | str:
        rows = [
            (
                moment(datetime.fromisoformat(attempt["at"])),
                attempt["status_code"] or NOTHING,
                words(attempt["error"] or "accepted"),
                f"{attempt['duration_ms']} ms",
            )
            for attempt in record.attempts
        ]
        return grid(rows, head=("time", "response", "result", "duration"))


PAGES = (ConsolePage("webhooks.delivery", "", 81),)
QUEUES = (
    Queue(
        name="webhooks",
        title="Webhooks failing",
        permission=CHANGE_ENDPOINT,
        rows=lambda _user: Endpoint.objects.enabled().filter(failing_since__isnull=False),
        waiting_since="failing_since",
        address="/admin/webhooks/endpoint/?state=failing",
        calm="Every receiver responds.",
        urgent_days=1,
        rank=60,
    ),
)

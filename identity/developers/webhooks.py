import json
from collections.abc import Sequence
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.contrib import messages
from django.db.models import Max, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from config.core.errors import NotFound
from config.core.ids import get_by_uuid, queryable
from config.webhooks import endpoints, serializers
from config.webhooks.catalogue import event_types
from config.webhooks.events import event_body, event_document
from config.webhooks.models import DISABLED, ENABLED, Endpoint, Event
from config.webhooks.publishing import publish_account
from identity.developers.base import (
    DeveloperPage,
    credential_of,
    moment_text,
    offset_in,
    page_of,
    parse_number,
    show_secrets,
)

EVENTS_LOOKED_AT = 10_000  # the maximum number of events that a search without an index reads


def _endpoint_fields(request: HttpRequest) -> dict[str, Any]:
    form = request.POST
    return {
        "url": form.get("url", "").strip(),
        "event_types": form.getlist("event_types") if form.get("reach") == "some" else ["*"],
        "description": form.get("description", ""),
    }


def _show_secret(request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    secrets: dict[str, str | None] = {"Secret": endpoint.secret}
    until = endpoint.previous_secret_until
    facts = {
        "endpoint_url": endpoint.url,
        "endpoint_page": reverse("developers_webhook", args=[endpoint.pk]),
        "old_signs_until": until and moment_text(until),
        "back": reverse("developers_webhooks"),
    }
    return show_secrets(request, "The webhook's secret", secrets, **facts)


def _type_choices(request: HttpRequest, current: Sequence[str]) -> dict[str, Any]:
    """Return the values of the event type checkboxes. A failed submission does not reset the selection."""
    was_sent = "reach" in request.POST
    chosen = request.POST.getlist("event_types") if was_sent else [name for name in current if name != "*"]
    is_all = request.POST.get("reach") != "some" if was_sent else "*" in current
    groups: dict[str, list[Any]] = {}
    for kind in event_types().values():
        groups.setdefault(kind.name.partition(".")[0], []).append(kind)
    shown = [(name, kinds, any(kind.name in chosen for kind in kinds)) for name, kinds in groups.items()]
    return {"event_groups": shown, "chosen": chosen, "is_all": is_all}


class WebhooksPage(DeveloperPage):
    template_name = "developers/webhooks.html"
    buttons = ("add",)

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        own = endpoints.endpoints_of(credential_of(request)).order_by("id")
        return {"endpoints": own, **_type_choices(request, ["*"])}

    def add(self, request: HttpRequest) -> HttpResponse:
        body = serializers.EndpointRequestSerializer.read(_endpoint_fields(request))
        account_id = credential_of(request).user_id
        return _show_secret(request, endpoints.create_endpoint(account_id=account_id, **body, now=timezone.now()))


class WebhookPage(DeveloperPage):
    """A webhook endpoint, its pending rotation, and its deliveries."""

    template_name = "developers/webhook.html"
    tab = "developers_webhooks"
    buttons = ("test", "redeliver", "rotate", "change", "enable", "disable", "remove")

    def facts(self, request: HttpRequest, **parts: str) -> dict[str, Any]:
        credential, now = credential_of(request), timezone.now()
        endpoint = endpoints.find_endpoint(parts["endpoint_id"], credential)
        sent = endpoints.deliveries_of(credential).filter(endpoint=endpoint).select_related("event").order_by("-id")
        deliveries, older = page_of(sent, offset_in(request))
        until = endpoint.previous_secret_until
        return {
            "endpoint": endpoint,
            **_type_choices(request, endpoint.event_types),
            "rotates_until": until if until is not None and until > now else None,
            "grace_hours": endpoints.DEFAULT_GRACE_SECONDS // 3600,
            "grace_max": endpoints.GRACE_MAX_SECONDS // 3600,
            "deliveries": [(delivery, event_body(delivery.event).decode()) for delivery in deliveries],
            "older": older,
        }

    def test(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        endpoints.send_test(endpoint, now=timezone.now())
        messages.success(request, "A test is being sent. Reload the page in a moment.")
        return HttpResponseRedirect(f"{request.path_info}#deliveries")

    def redeliver(self, request: HttpRequest, endpoint_id: str) -> str:
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        own = endpoints.deliveries_of(credential_of(request)).filter(endpoint=endpoint)
        sent = get_by_uuid(own, request.POST.get("delivery_id", ""), NotFound("Delivery not found."))
        endpoints.redeliver(sent, now=timezone.now())
        return "The event is sent again with the same webhook-id."

    def rotate(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        hours = parse_number(request.POST.get("grace_hours", ""))
        seconds = hours * 3600 if isinstance(hours, int) else hours
        body = serializers.RotationRequestSerializer.read({"grace_seconds": seconds})
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        grace = timedelta(seconds=body["grace_seconds"])
        return _show_secret(request, endpoints.rotate_secret(endpoint.pk, grace=grace, now=timezone.now()))

    def change(self, request: HttpRequest, endpoint_id: str) -> str:
        self._change(request, endpoint_id, serializers.EndpointChangeRequestSerializer.read(_endpoint_fields(request)))
        return "The webhook was changed. Earlier events are sent with the old settings."

    def enable(self, request: HttpRequest, endpoint_id: str) -> str:
        self._change(request, endpoint_id, {"status": ENABLED})
        return "The webhook was enabled. The endpoint gets events from now on."

    def disable(self, request: HttpRequest, endpoint_id: str) -> str:
        self._change(request, endpoint_id, {"status": DISABLED})
        return "The webhook was disabled. It gets no more events."

    def remove(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        endpoints.delete_endpoint(endpoint, now=timezone.now())
        messages.success(request, "The webhook was deleted.")
        return HttpResponseRedirect(reverse("developers_webhooks"))

    @staticmethod
    def _change(request: HttpRequest, endpoint_id: str, changes: dict[str, Any]) -> None:
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        endpoints.change_endpoint(endpoint, changes=changes, now=timezone.now())


class EventsPage(DeveloperPage):
    """The event feed, newest first, with filters by record and by request."""

    template_name = "developers/events.html"

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        before, account_id = parse_number(request.GET.get("before", "")), credential_of(request).user_id
        about, request_id = request.GET.get("object", ""), request.GET.get("request_id", "")
        publish_account(account_id, now=timezone.now())
        newest = _newest(account_id, before if isinstance(before, int) else None, about=about, request_id=request_id)
        events, older = page_of(newest, 0)
        return {
            "events": [{**event_document(event), "fields": _texts(event.object)} for event in events],
            "older": events[-1].sequence if older is not None else None,
            "about": about,
            "request_id": request_id,
        }


def _texts(fields: dict[str, Any]) -> dict[str, str]:
    """Return the value of each field as text: a string as it is, and any other value as JSON."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}


def _newest(account_id: int, before: int | None, *, about: str, request_id: str) -> QuerySet[Event]:
    """Return an account's published events, newest first, optionally before a sequence number.

    `about` filters by a field of the event's object and its value (`application_id:0193…`). `request_id` filters by the
    request that caused the event. Both filters search only the latest EVENTS_LOOKED_AT events.
    """
    own = Event.objects.filter(account_id=account_id, sequence__isnull=False)
    if before is not None:
        own = own.filter(sequence__lt=before)
    if about or request_id:
        last = own.aggregate(last=Max("sequence"))["last"] or 0
        own = own.filter(sequence__gt=last - EVENTS_LOOKED_AT)
    if request_id:
        own = own.filter(request_id=queryable(request_id))
    if about:
        name, _, value = queryable(about).partition(":")
        # The value is a string or a number.
        spelled = (f'"{name}":"{value}"', f'"{name}":{value},', f'"{name}":{value}}}')
        named = reduce(or_, (Q(text__contains=text) for text in spelled))
        own = own.annotate(text=Cast("object", TextField())).filter(named)
    return own.order_by("-sequence")

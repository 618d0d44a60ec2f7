from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from config.core.errors import NotFound
from config.core.ids import get_by_uuid
from config.webhooks import endpoints, serializers
from config.webhooks.catalogue import event_types
from config.webhooks.models import DISABLED, ENABLED, Delivery, Endpoint
from identity.developers.base import (
    DeveloperPage,
    credential_of,
    moment_text,
    offset_in,
    page_of,
    parse_number,
    show_secrets,
)
from identity.developers.deliveries import REASONS, describe_delivery, last_failures

RELOADS_MAX = 5  # after these reloads, the page of a test has a link instead
RELOAD_SECONDS = 2


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


def _show_delivery(request: HttpRequest, delivery: Delivery) -> HttpResponse:
    """Redirect to the page of the webhook, which then shows the outcome of a delivery that was just created."""
    return HttpResponseRedirect(f"{request.path_info}?delivery={delivery.pk}#outcome")


def _watched(request: HttpRequest, endpoint: Endpoint) -> dict[str, Any]:
    """Return the delivery that the query string identifies.

    While the delivery has no attempt, also return the address for the next reload of the page.
    """
    identifier = request.GET.get("delivery", "")
    if not identifier:
        return {}
    own = endpoints.deliveries_of(credential_of(request)).filter(endpoint=endpoint).select_related("event")
    watched = describe_delivery(get_by_uuid(own, identifier, NotFound("Delivery not found.")))
    again = f"?delivery={watched['delivery'].pk}"
    reloads = parse_number(request.GET.get("reloads", "0"))
    if not watched["is_waiting"] or not isinstance(reloads, int) or reloads >= RELOADS_MAX:
        return {"watched": watched, "again": again}
    address = f"{again}&reloads={reloads + 1}#outcome"
    return {"watched": watched, "again": again, "reload": {"address": address, "seconds": RELOAD_SECONDS}}


class WebhooksPage(DeveloperPage):
    template_name = "developers/webhooks.html"
    buttons = ("add",)

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        own = list(endpoints.endpoints_of(credential_of(request)).order_by("id"))
        failures = last_failures(request, own)
        rows = [(item, REASONS.get(item.disabled_reason or "", ""), failures.get(item.pk, "")) for item in own]
        return {"endpoints": rows, **_type_choices(request, ["*"])}

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
        was_sent = request.POST.get("do") == "change"
        return {
            "endpoint": endpoint,
            "reason": REASONS.get(endpoint.disabled_reason or "", ""),
            "failure": last_failures(request, [endpoint]).get(endpoint.pk, ""),
            "url": request.POST.get("url") if was_sent else endpoint.url,
            "description": request.POST.get("description") if was_sent else endpoint.description,
            **_type_choices(request, endpoint.event_types),
            "rotates_until": until if until is not None and until > now else None,
            "grace_hours": endpoints.DEFAULT_GRACE_SECONDS // 3600,
            "grace_max": endpoints.GRACE_MAX_SECONDS // 3600,
            "deliveries": [describe_delivery(delivery) for delivery in deliveries],
            "older": older,
            "loaded_at": now,
            **_watched(request, endpoint),
        }

    def test(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        return _show_delivery(request, endpoints.send_test(endpoint, now=timezone.now()))

    def redeliver(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        own = endpoints.deliveries_of(credential_of(request)).filter(endpoint=endpoint)
        sent = get_by_uuid(own, request.POST.get("delivery_id", ""), NotFound("Delivery not found."))
        return _show_delivery(request, endpoints.redeliver(sent, now=timezone.now()))

    def rotate(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        hours = parse_number(request.POST.get("grace_hours", ""))
        seconds = hours * 3600 if isinstance(hours, int) else hours
        body = serializers.RotationRequestSerializer.read({"grace_seconds": seconds})
        endpoint = endpoints.find_endpoint(endpoint_id, credential_of(request))
        grace = timedelta(seconds=body["grace_seconds"])
        return _show_secret(request, endpoints.rotate_secret(endpoint.pk, grace=grace, now=timezone.now()))

    def change(self, request: HttpRequest, endpoint_id: str) -> str:
        self._change(request, endpoint_id, serializers.EndpointChangeRequestSerializer.read(_endpoint_fields(request)))
        return "The webhook was changed. The new event types apply to later events."

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

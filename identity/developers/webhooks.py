from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from config.core.errors import NotFound
from config.core.ids import get_by_uuid
from config.webhooks import endpoints
from config.webhooks.models import DISABLED, ENABLED, Endpoint
from config.webhooks.publishing import newest_events
from config.webhooks.serializers import (
    EndpointChangeRequestSerializer,
    EndpointRequestSerializer,
    RotationRequestSerializer,
)
from identity.developers.base import DeveloperPage, credential_of, offset_in, page_of, show_secrets, whole


def _asked(request: HttpRequest) -> dict[str, Any]:
    given = request.POST
    return {
        "url": given.get("url", "").strip(),
        "event_types": given.get("event_types", "").split(),
        "description": given.get("description", ""),
    }


def _shown(request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    secrets: dict[str, str | None] = {"Secret": endpoint.secret}
    return show_secrets(request, "The webhook's secret", secrets, endpoint=endpoint, back="developers_webhooks")


class WebhooksPage(DeveloperPage):
    template_name = "developers/webhooks.html"
    buttons = ("add",)

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        return {"endpoints": endpoints.endpoints_of(credential_of(request)).order_by("id")}

    def add(self, request: HttpRequest) -> HttpResponse:
        body = EndpointRequestSerializer.read(_asked(request))
        account_id = credential_of(request).user_id
        return _shown(request, endpoints.create_endpoint(account_id=account_id, **body, now=timezone.now()))


class WebhookPage(DeveloperPage):
    """One endpoint: how it stands, its secret and where a rotation stands, what was sent to it."""

    template_name = "developers/webhook.html"
    buttons = ("test", "redeliver", "rotate", "change", "enable", "disable", "remove")

    def facts(self, request: HttpRequest, **parts: str) -> dict[str, Any]:
        credential, now = credential_of(request), timezone.now()
        endpoint = endpoints.find_endpoint(parts["endpoint_id"], credential)
        sent = endpoints.deliveries_of(credential).filter(endpoint=endpoint).order_by("-id")
        deliveries, older = page_of(sent, offset_in(request))
        until = endpoint.previous_secret_until
        return {
            "endpoint": endpoint,
            "types": "\n".join(endpoint.event_types),
            "rotates_until": until if until is not None and until > now else None,
            "grace_hours": endpoints.DEFAULT_GRACE_SECONDS // 3600,
            "grace_max": endpoints.GRACE_MAX_SECONDS // 3600,
            "deliveries": deliveries,
            "older": older,
        }

    def test(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        found = endpoints.find_endpoint(endpoint_id, credential_of(request))
        endpoints.send_test(found, now=timezone.now())
        messages.success(request, "A test is on its way. Look again in a moment.")
        return HttpResponseRedirect(f"{request.path_info}#deliveries")

    def redeliver(self, request: HttpRequest, endpoint_id: str) -> str:
        own = endpoints.deliveries_of(credential_of(request)).filter(endpoint_id=endpoint_id)
        sent = get_by_uuid(own, request.POST.get("delivery_id", ""), NotFound("There is no such delivery."))
        endpoints.redeliver(sent, now=timezone.now())
        return "The event is sent again, under the same webhook-id."

    def rotate(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        hours = whole(request.POST.get("grace_hours", ""))
        seconds = hours * 3600 if isinstance(hours, int) else hours
        grace = timedelta(seconds=RotationRequestSerializer.read({"grace_seconds": seconds})["grace_seconds"])
        found = endpoints.find_endpoint(endpoint_id, credential_of(request))
        return _shown(request, endpoints.rotate_secret(found.pk, grace=grace, now=timezone.now()))

    def change(self, request: HttpRequest, endpoint_id: str) -> str:
        self._change(request, endpoint_id, EndpointChangeRequestSerializer.read(_asked(request)))
        return "The webhook is changed. What happened before is sent under the old settings."

    def enable(self, request: HttpRequest, endpoint_id: str) -> str:
        self._change(request, endpoint_id, {"status": ENABLED})
        return "The webhook is enabled: it is told about what happens from now on."

    def disable(self, request: HttpRequest, endpoint_id: str) -> str:
        self._change(request, endpoint_id, {"status": DISABLED})
        return "The webhook is disabled: nothing more is sent to it."

    def remove(self, request: HttpRequest, endpoint_id: str) -> HttpResponse:
        found = endpoints.find_endpoint(endpoint_id, credential_of(request))
        endpoints.delete_endpoint(found, now=timezone.now())
        messages.success(request, "The webhook is deleted.")
        return HttpResponseRedirect(reverse("developers_webhooks"))

    @staticmethod
    def _change(request: HttpRequest, endpoint_id: str, changes: dict[str, Any]) -> None:
        found = endpoints.find_endpoint(endpoint_id, credential_of(request))
        endpoints.change_endpoint(found, changes=changes, now=timezone.now())


class EventsPage(DeveloperPage):
    """The feed, newest first; about one record, or of one request."""

    template_name = "developers/events.html"

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        asked = request.GET
        before = whole(asked.get("before", ""))
        page = newest_events(
            credential_of(request).user_id,
            before=before if isinstance(before, int) else None,
            about=asked.get("object", ""),
            request_id=asked.get("request_id", ""),
            now=timezone.now(),
        )
        return {
            "events": page.events,
            "older": page.events[-1]["sequence"] if page.has_more else None,
            "about": asked.get("object", ""),
            "request_id": asked.get("request_id", ""),
        }

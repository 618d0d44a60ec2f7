"""What an event looks like from outside: the same in the feed and in a delivery's body."""

from typing import Any

from django.conf import settings

from config.api.renderers import render_json
from config.webhooks.models import Event


def event_document(event: Event) -> dict[str, Any]:
    """Return a published event as receivers see it."""
    return {
        "id": str(event.pk),
        "type": event.type,
        "created_at": event.created_at,
        "sequence": event.sequence,
        "api_version": settings.API_VERSION,
        "data": {"object": event.object},
        "request_id": event.request_id or None,
    }


def event_body(event: Event) -> bytes:
    """Return the body of an event's deliveries: every attempt and every redelivery sends the same bytes."""
    return render_json(event_document(event))

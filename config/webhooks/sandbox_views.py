from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from config.api import serializers
from config.api.views import ApiRequest, endpoint
from config.core.errors import NotFound
from config.sandbox.views import SandboxViewSet
from config.webhooks.catalogue import event_types
from config.webhooks.events import record_event
from config.webhooks.models import Event
from config.webhooks.views import SCOPE

EVENTS_LOOKED_AT = 1_000  # only this number of the newest events of a type is searched


class EventNotFound(NotFound):
    message = "Your account has no event of this type about this object."


class EventAgainRequestSerializer(serializers.RequestSerializer):
    """The event to send again: the newest of its type about an object."""

    type = serializers.OneOfField(tuple(event_types()), help_text="The type of the event to send again.")
    object_id = serializers.IdField(
        help_text="The id of the object: the value of the first field in the schema of the event's object."
    )


class EventAgainSerializer(serializers.ResponseSerializer):
    """The new event."""

    event_id = serializers.UUIDField(help_text="The id of the new event.")


class SandboxEventViewSet(SandboxViewSet):
    """Operations for tests: send an event again, complete a verification, require a bank log-in, and advance the clock.
    Production does not have these operations.
    """

    @endpoint(
        access=SCOPE,
        body=EventAgainRequestSerializer,
        answer=EventAgainSerializer,
        status=201,
        idempotent=True,
        errors=(NotFound,),
    )
    def send(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, UUID]:
        """Send an event of your account again.

        The API adds a new event to the feed. The API sends the event to your enabled webhook endpoints that subscribe
        to its type.
        """
        return {"event_id": send_again(account_id=request.user.pk, now=timezone.now(), **body)}


def send_again(*, account_id: int, type: str, object_id: str, now: datetime) -> UUID:  # noqa: A002  the name of the field in the body
    """Record a copy of the newest event of a type about an object. Return its ID. Raises EventNotFound."""
    of_type = Event.objects.filter(account_id=account_id, type=type).order_by("-id")
    name = next(iter(event_types()[type].schema["properties"]))  # the first field is the record's ID
    for event in of_type[:EVENTS_LOOKED_AT]:
        if str(event.object.get(name)) == object_id:
            return record_event(type, account_id=account_id, now=now, **event.object)
    raise EventNotFound

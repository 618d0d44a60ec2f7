"""Bodies, queries and answers of webhooks (decision 10)."""

from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    FreeField,
    Int32Field,
    Int64Field,
    OneOfField,
    PageField,
    PageQuery,
    QueryInt64Field,
    QuerySerializer,
    RequestSerializer,
    ResponseSerializer,
    StatusField,
    StrictListField,
    TextField,
)
from config.clients.addresses import URL_MAX_LENGTH
from config.core.ids import parse_uuid
from config.webhooks.catalogue import EVENT_TYPES
from config.webhooks.endpoints import DEFAULT_GRACE_SECONDS, GRACE_MAX_SECONDS
from config.webhooks.models import DELIVERED, DISABLED, ENABLED, FAILED, PENDING

DESCRIPTION_MAX_LENGTH = 1_000
UUID_LENGTH = 36
ENDPOINT_STATUSES = (ENABLED, DISABLED)


def _event_types(**options: Any) -> Any:
    """Return the field that says which events an endpoint is told about."""
    return StrictListField(
        child=OneOfField(("*", *EVENT_TYPES)),
        min_length=1,
        max_length=len(EVENT_TYPES) + 1,
        help_text='Names of event types, or ["*"] for all, future ones included.',
        **options,
    )


class EndpointBody(RequestSerializer):
    """A new endpoint."""

    url = TextField(min_length=1, max_length=URL_MAX_LENGTH)
    event_types: Any = _event_types(default=lambda: ["*"])
    description = TextField(max_length=DESCRIPTION_MAX_LENGTH, default="")


class EndpointChangeBody(RequestSerializer):
    """Changes of an endpoint: the members that are present."""

    url = TextField(min_length=1, max_length=URL_MAX_LENGTH, required=False)
    event_types: Any = _event_types(required=False)
    description = TextField(max_length=DESCRIPTION_MAX_LENGTH, required=False)
    status = StatusField(ENDPOINT_STATUSES, required=False)


class RotationBody(RequestSerializer):
    """How long the old secret goes on signing beside the new one."""

    grace_seconds = Int32Field(min_value=0, max_value=GRACE_MAX_SECONDS, default=DEFAULT_GRACE_SECONDS)


class EndpointAnswer(ResponseSerializer):
    """An endpoint, without its secret."""

    id = serializers.UUIDField()
    url = TextField()
    event_types: Any = StrictListField(child=TextField())
    description = TextField()
    status = StatusField(ENDPOINT_STATUSES)
    disabled_reason = TextField(allow_null=True)
    created_at = serializers.DateTimeField()


class EndpointSecretAnswer(EndpointAnswer):
    """An endpoint and its secret, which is shown this once."""

    secret = TextField()


class EndpointsAnswer(ResponseSerializer):
    """All endpoints of the account, oldest first."""

    endpoints = EndpointAnswer(many=True)
    total = Int64Field()


class UuidTextField(serializers.UUIDField):
    """A UUID in a query string, in its one spelling."""

    default_error_messages = {"invalid": "Must be a UUID in lower case with hyphens."}

    def to_internal_value(self, data: Any) -> Any:
        """Return the UUID."""
        identifier = parse_uuid(data) if isinstance(data, str) else None
        if identifier is None:
            self.fail("invalid")
        return identifier


class DeliveryQuery(PageQuery):
    """Filters of the delivery log."""

    endpoint = UuidTextField(source="endpoint_id", required=False, help_text="An endpoint's id.")
    event = OneOfField(tuple(EVENT_TYPES), source="event_type", required=False, help_text="A type of event.")
    status = StatusField((PENDING, DELIVERED, FAILED), required=False)


class AttemptAnswer(ResponseSerializer):
    """One attempt: what was answered (null: nothing), what went wrong (null: nothing), how long it took."""

    at = serializers.DateTimeField()
    status_code = Int32Field(allow_null=True)
    error = TextField(allow_null=True)
    duration_ms = Int64Field()


class DeliveryAnswer(ResponseSerializer):
    """An event on its way to an endpoint."""

    id = serializers.UUIDField()
    endpoint_id = serializers.UUIDField()
    event_id = serializers.UUIDField(help_text="Also the `webhook-id` of every attempt.")
    event_type = TextField()
    status = StatusField((PENDING, DELIVERED, FAILED))
    attempts = AttemptAnswer(many=True)
    next_attempt_at = serializers.DateTimeField(allow_null=True, source="due_at")


class DeliveriesAnswer(ResponseSerializer):
    """A page of the delivery log, newest first."""

    deliveries = DeliveryAnswer(many=True)
    total = Int64Field()
    has_more = FlagField()


class DeliveryIdAnswer(ResponseSerializer):
    """The delivery that was made."""

    delivery_id = serializers.UUIDField()


class FeedQuery(QuerySerializer):
    """Where to read on."""

    after = QueryInt64Field(min_value=0, default=0, help_text="The last sequence that was read; 0 to start.")
    limit = PageField(min_value=1, max_value=100, default=20)


class EventDataAnswer(ResponseSerializer):
    """What an event is about."""

    object = FreeField(help_text="See the schema of the type under `/webhooks/event-types`.")


class EventAnswer(ResponseSerializer):
    """An event, as the feed and every delivery show it."""

    id = serializers.UUIDField()
    type = TextField()
    created_at = serializers.DateTimeField()
    sequence = Int64Field(help_text="Counts the account's events from 1, without a gap.")
    api_version = TextField()
    data: Any = EventDataAnswer()
    request_id = TextField(allow_null=True)


class FeedAnswer(ResponseSerializer):
    """Events in order of their sequence."""

    events = EventAnswer(many=True)
    has_more = FlagField()


class EventTypeAnswer(ResponseSerializer):
    """A type of event, with the JSON Schema of its object."""

    name = TextField()
    description = TextField()
    schema = FreeField()


class EventTypesAnswer(ResponseSerializer):
    """Every type of event."""

    event_types = EventTypeAnswer(many=True)

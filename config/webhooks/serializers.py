from typing import Any

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from config.clients.addresses import URL_MAX_LENGTH
from config.webhooks.catalogue import event_types
from config.webhooks.endpoints import DEFAULT_GRACE_SECONDS, GRACE_MAX_SECONDS
from config.webhooks.models import DELIVERED, DISABLED, ENABLED, FAILED, PENDING, Delivery, Endpoint

DESCRIPTION_MAX_LENGTH = 1_000


def _event_types(more: str = "", **options: Any) -> Any:
    return serializers.ListField(
        child=serializers.OneOfField(("*", *event_types())),
        min_length=1,
        max_length=len(event_types()) + 1,
        help_text=f'Names of event types, or ["*"] for all types, including future types.{more}',
        **options,
    )


class EndpointRequestSerializer(serializers.RequestSerializer):
    """A new endpoint."""

    refuses_unknown = True
    url = serializers.TextField(min_length=1, max_length=URL_MAX_LENGTH)
    event_types = _event_types(' Default: ["*"].', default=lambda: ["*"])
    description = serializers.TextField(
        max_length=DESCRIPTION_MAX_LENGTH, default="", help_text="Your description of the purpose."
    )


class EndpointChangeRequestSerializer(serializers.RequestSerializer):
    """Changes of an endpoint. Absent fields stay unchanged."""

    refuses_unknown = True
    url = serializers.TextField(min_length=1, max_length=URL_MAX_LENGTH, required=False)
    event_types = _event_types(required=False)
    description = serializers.TextField(
        max_length=DESCRIPTION_MAX_LENGTH, required=False, help_text="Your description of the purpose."
    )
    status = serializers.StatusField((ENABLED, DISABLED), required=False, help_text="`enabled` or `disabled`.")


class RotationRequestSerializer(serializers.RequestSerializer):
    """The grace period of the old secret."""

    refuses_unknown = True
    is_optional = True
    grace_seconds = serializers.Int32Field(
        min_value=0,
        max_value=GRACE_MAX_SECONDS,
        default=DEFAULT_GRACE_SECONDS,
        help_text="The grace period in seconds.",
    )


class EndpointSerializer(serializers.ModelResponseSerializer):
    """An endpoint, without its secret."""

    event_types = serializers.ListField(child=serializers.TextField())
    disabled_at = serializers.DateTimeField(
        source="disabled_since",
        allow_null=True,
        help_text="When the endpoint was disabled (UTC). The feed contains all later events. Null while the endpoint "
        "is enabled.",
    )

    class Meta:
        model = Endpoint
        fields = [
            "id", "url", "event_types", "description", "status", "disabled_reason", "disabled_at", "created_at",
        ]  # fmt: skip


class EndpointSecretSerializer(SecretAnswer, EndpointSerializer):
    """An endpoint and its secret."""

    secret = serializers.TextField(
        help_text="The secret that signs the deliveries (Standard Webhooks): `whsec_` and base64. Only creation "
        "and rotation return it."
    )

    class Meta(EndpointSerializer.Meta):
        fields = [*EndpointSerializer.Meta.fields, "secret"]


class EndpointsPageSerializer(serializers.CollectionSerializer):
    """The endpoints of the account, or the endpoints that the app created, oldest first."""

    endpoints = EndpointSerializer(many=True, help_text="The endpoints, oldest first.")
    total = serializers.Int64Field(help_text="The number of endpoints.")


class DeliveryFilter(serializers.FilterSet):
    endpoint = serializers.QueryFilter(
        serializers.UuidTextField(required=False, help_text="An endpoint's id."), "endpoint_id"
    )
    event = serializers.QueryFilter(
        serializers.OneOfField(tuple(event_types()), required=False, help_text="An event type."), "event_type"
    )
    status = serializers.QueryFilter(serializers.StatusField((PENDING, DELIVERED, FAILED), required=False))


class DeliveryQuery(serializers.PageQuery):
    filterset_class = DeliveryFilter


class AttemptSerializer(serializers.JsonPartSerializer):
    """One attempt of a delivery."""

    at = serializers.DateTimeField(help_text="The time of the attempt (UTC).")
    status_code = serializers.Int32Field(
        allow_null=True, help_text="The HTTP status of the response; null if there is no response."
    )
    error = serializers.TextField(allow_null=True, help_text="The reason of the failure; null after a success.")
    duration_ms = serializers.Int64Field(help_text="The duration in milliseconds.")


class DeliverySerializer(serializers.ModelResponseSerializer):
    """A delivery of an event to an endpoint."""

    attempts = AttemptSerializer(many=True, help_text="The attempts, earliest first.")

    class Meta:
        model = Delivery
        fields = ["id", "endpoint_id", "event_id", "event_type", "status", "attempts", "next_attempt_at"]
        extra_kwargs = {"next_attempt_at": {"source": "due_at"}}


class DeliveriesPageSerializer(serializers.PageSerializer):
    """A page of the delivery log, newest first."""

    deliveries = DeliverySerializer(many=True, help_text="The deliveries, newest first.")


class RedeliverySerializer(serializers.ModelResponseSerializer):
    """The new delivery."""

    class Meta:
        model = Delivery
        fields = ["delivery_id"]
        extra_kwargs = {"delivery_id": {"source": "id", "help_text": "The id of the new delivery."}}


class FeedQuery(serializers.QuerySerializer):
    """The position in the feed after which the page of events starts."""

    refuses_unknown = True

    after = serializers.QueryInt64Field(
        min_value=0, default=0, help_text="The last `sequence` that you have. Send 0 to start."
    )
    limit = serializers.PageField(min_value=1, max_value=100, default=20)


class EventDataSerializer(serializers.JsonPartSerializer):
    """The record that an event is about."""

    object = serializers.FreeField(
        shape=serializers.OPEN_OBJECT, help_text="`GET /v1/webhooks/event-types` returns the schema for each type."
    )


class EventSerializer(serializers.JsonPartSerializer):
    """An event in the feed and in every delivery."""

    id = serializers.UUIDField(help_text="The event's id: the `webhook-id` of each delivery.")
    type = serializers.TextField(help_text="The type of the event.")
    created_at = serializers.DateTimeField(help_text="When the event happened (UTC).")
    sequence = serializers.Int64Field(help_text="The number of the event in the account's feed, from 1, without a gap.")
    api_version = serializers.TextField(help_text="The version of the API.")
    data: Any = EventDataSerializer(help_text="The record that the event is about.")
    request_id = serializers.TextField(
        allow_null=True,
        help_text="The id of the request that caused the event; null if a worker or a command caused it.",
    )


class FeedSerializer(serializers.ResponseSerializer):
    """Events in the order of their `sequence` numbers."""

    events = EventSerializer(many=True, help_text="The events, ordered by `sequence`.")
    has_more = serializers.FlagField(help_text="Whether more events follow.")


class EventTypeSerializer(serializers.ResponseSerializer):
    """A type of event, with the JSON Schema of its object."""

    name = serializers.TextField(help_text="The `type` of these events.")
    description = serializers.TextField(help_text="When the event is sent.")
    schema = serializers.FreeField(shape=serializers.OPEN_OBJECT, help_text="The JSON Schema of `data.object`.")


class EventTypesPageSerializer(serializers.ResponseSerializer):
    """All event types."""

    event_types = EventTypeSerializer(many=True, help_text="All event types.")

from typing import Any

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from config.clients.addresses import URL_MAX_LENGTH
from config.webhooks.catalogue import event_types
from config.webhooks.endpoints import DEFAULT_GRACE_SECONDS, GRACE_MAX_SECONDS
from config.webhooks.models import DELIVERED, DISABLED, ENABLED, FAILED, PENDING, Delivery, Endpoint

DESCRIPTION_MAX_LENGTH = 1_000
ENDPOINT_STATUSES = (ENABLED, DISABLED)


def _event_types(**options: Any) -> Any:
    return serializers.ListField(
        child=serializers.OneOfField(("*", *event_types())),
        min_length=1,
        max_length=len(event_types()) + 1,
        help_text='Names of event types, or ["*"] for all, future ones included.',
        **options,
    )


class EndpointRequestSerializer(serializers.RequestSerializer):
    """A new endpoint."""

    refuses_unknown = True
    url = serializers.TextField(min_length=1, max_length=URL_MAX_LENGTH)
    event_types = _event_types(default=lambda: ["*"])
    description = serializers.TextField(
        max_length=DESCRIPTION_MAX_LENGTH, default="", help_text="Your description of its purpose."
    )


class EndpointChangeRequestSerializer(serializers.RequestSerializer):
    """Changes of an endpoint: the members that are present."""

    refuses_unknown = True
    url = serializers.TextField(min_length=1, max_length=URL_MAX_LENGTH, required=False)
    event_types = _event_types(required=False)
    description = serializers.TextField(
        max_length=DESCRIPTION_MAX_LENGTH, required=False, help_text="Your description of its purpose."
    )
    status = serializers.StatusField(ENDPOINT_STATUSES, required=False, help_text="`enabled` again, or `disabled`.")


class RotationRequestSerializer(serializers.RequestSerializer):
    """Time during which the old secret also signs."""

    refuses_unknown = True
    is_optional = True
    grace_seconds = serializers.Int32Field(
        min_value=0, max_value=GRACE_MAX_SECONDS, default=DEFAULT_GRACE_SECONDS, help_text="In seconds."
    )


class EndpointSerializer(serializers.ModelResponseSerializer):
    """An endpoint, without its secret."""

    event_types = serializers.ListField(child=serializers.TextField())
    disabled_at = serializers.DateTimeField(
        source="disabled_since",
        allow_null=True,
        help_text="When the endpoint was disabled (UTC): the feed has the events since then.",
    )

    class Meta:
        model = Endpoint
        fields = [
            "id", "url", "event_types", "description", "status", "disabled_reason", "disabled_at", "created_at",
        ]  # fmt: skip


class EndpointSecretSerializer(SecretAnswer, EndpointSerializer):
    """An endpoint and its secret, which is shown this once."""

    secret = serializers.TextField(
        help_text="Signs its deliveries (Standard Webhooks): `whsec_` and base64. Shown only this once."
    )

    class Meta(EndpointSerializer.Meta):
        fields = [*EndpointSerializer.Meta.fields, "secret"]


class EndpointsPageSerializer(serializers.CollectionSerializer):
    """All endpoints of the account, oldest first."""

    endpoints = EndpointSerializer(many=True, help_text="The oldest first.")


class DeliveryFilter(serializers.FilterSet):
    endpoint = serializers.QueryFilter(
        serializers.UuidTextField(required=False, help_text="An endpoint's id."), "endpoint_id"
    )
    event = serializers.QueryFilter(
        serializers.OneOfField(tuple(event_types()), required=False, help_text="A type of event."), "event_type"
    )
    status = serializers.QueryFilter(serializers.StatusField((PENDING, DELIVERED, FAILED), required=False))


class DeliveryQuery(serializers.PageQuery):
    filterset_class = DeliveryFilter


class AttemptSerializer(serializers.JsonPartSerializer):
    """One attempt: what was answered (null: nothing), what went wrong (null: nothing), how long it took."""

    at = serializers.DateTimeField(help_text="When it was sent (UTC).")
    status_code = serializers.Int32Field(
        allow_null=True, help_text="The HTTP status of the answer; null where none came."
    )
    error = serializers.TextField(allow_null=True, help_text="The reason of the failure; null after a success.")
    duration_ms = serializers.Int64Field(help_text="How long it took, in milliseconds.")


class DeliverySerializer(serializers.ModelResponseSerializer):
    """An event on its way to an endpoint."""

    attempts = AttemptSerializer(many=True, help_text="The earliest first.")

    class Meta:
        model = Delivery
        fields = ["id", "endpoint_id", "event_id", "event_type", "status", "attempts", "next_attempt_at"]
        extra_kwargs = {"next_attempt_at": {"source": "due_at"}}


class DeliveriesPageSerializer(serializers.PageSerializer):
    """A page of the delivery log, newest first."""

    deliveries = DeliverySerializer(many=True, help_text="The newest first.")


class RedeliverySerializer(serializers.ModelResponseSerializer):
    """The delivery that was made."""

    class Meta:
        model = Delivery
        fields = ["delivery_id"]
        extra_kwargs = {"delivery_id": {"source": "id", "help_text": "The id of the new delivery."}}


class FeedQuery(serializers.QuerySerializer):
    """Where to read on."""

    after = serializers.QueryInt64Field(
        min_value=0, default=0, help_text="The last sequence that was read; 0 to start."
    )
    limit = serializers.PageField(min_value=1, max_value=100, default=20)


class EventDataSerializer(serializers.JsonPartSerializer):
    """The record that an event is about."""

    object = serializers.FreeField(help_text="See the schema of the type under `/webhooks/event-types`.")


class EventSerializer(serializers.JsonPartSerializer):
    """An event, as the feed and every delivery show it."""

    id = serializers.UUIDField(help_text="The event's id: the `webhook-id` of each delivery.")
    type = serializers.TextField(help_text="The type of the event.")
    created_at = serializers.DateTimeField(help_text="When it happened (UTC).")
    sequence = serializers.Int64Field(help_text="Counts the account's events from 1, without a gap.")
    api_version = serializers.TextField(help_text="The version of the API that it was written in.")
    data: Any = EventDataSerializer(help_text="The record that it is about.")
    request_id = serializers.TextField(
        allow_null=True, help_text="The id of the request that led to it; null where a clock or an operator did."
    )


class FeedSerializer(serializers.ResponseSerializer):
    """Events in order of their sequence."""

    events = EventSerializer(many=True, help_text="In order of `sequence`.")
    has_more = serializers.FlagField(help_text="Whether there are more behind the last.")


class EventTypeSerializer(serializers.ResponseSerializer):
    """A type of event, with the JSON Schema of its object."""

    name = serializers.TextField(help_text="The `type` of such events.")
    description = serializers.TextField(help_text="When it is sent.")
    schema = serializers.FreeField(help_text="The JSON Schema of `data.object`.")


class EventTypesPageSerializer(serializers.ResponseSerializer):
    """Every type of event."""

    event_types = EventTypeSerializer(many=True, help_text="Every type there is.")

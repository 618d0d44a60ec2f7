from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.decorators import action

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.errors import NotFound, ValidationFailed
from config.core.ids import get_by_uuid
from config.webhooks import endpoints, serializers
from config.webhooks.catalogue import event_types
from config.webhooks.models import Delivery, Endpoint
from config.webhooks.publishing import feed_page

SCOPE = "webhooks"
_NOT_FOUND = (endpoints.WebhookEndpointNotFound,)


class WebhookEndpointViewSet(ApiViewSet):
    """Your webhook endpoints, their deliveries, and the event feed."""

    lookup_url_kwarg = "endpoint_id"
    tag = "webhooks"

    @endpoint(access=SCOPE, answer=serializers.EndpointsPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[Endpoint]:
        """List webhook endpoints.

        An app gets only the endpoints that it created.
        """
        return endpoints.endpoints_of(request.auth).order_by("id")

    @endpoint(
        access=SCOPE,
        body=serializers.EndpointRequestSerializer,
        answer=serializers.EndpointSecretSerializer,
        status=201,
        idempotent=True,
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Endpoint:
        """Create a webhook endpoint.

        Only this response contains the secret. A retry with the same Idempotency-Key returns the secret again. The
        endpoint receives the events that happen from now on. An account has at most 16 endpoints.
        """
        made_by = {"account_id": request.user.pk, "client_id": request.auth.client_id or ""}
        return endpoints.create_endpoint(**made_by, now=timezone.now(), **body)

    @endpoint(access=SCOPE, answer=serializers.EndpointSerializer, errors=_NOT_FOUND)
    def retrieve(self, request: ApiRequest, endpoint_id: str) -> Endpoint:
        """Get a webhook endpoint.

        The response does not contain the secret.
        """
        return endpoints.find_endpoint(endpoint_id, request.auth)

    @endpoint(
        access=SCOPE,
        body=serializers.EndpointChangeRequestSerializer,
        answer=serializers.EndpointSerializer,
        idempotent=True,
        errors=_NOT_FOUND,
    )
    def partial_update(self, request: ApiRequest, endpoint_id: str, body: dict[str, Any]) -> Endpoint:
        """Update a webhook endpoint.

        The request changes the endpoint's URL, event types, description, or status. The new event types apply to events
        that happen from now on.
        """
        record = endpoints.find_endpoint(endpoint_id, request.auth)
        return endpoints.change_endpoint(record, changes=body, now=timezone.now())

    @endpoint(access=SCOPE, idempotent=True, errors=_NOT_FOUND)
    def destroy(self, request: ApiRequest, endpoint_id: str) -> None:
        """Delete a webhook endpoint.

        The delivery log retains the endpoint's deliveries for 30 days after their creation.
        """
        record = endpoints.find_endpoint(endpoint_id, request.auth)
        endpoints.delete_endpoint(record, now=timezone.now())

    @action(detail=True, methods=["post"], url_path="rotate-secret")
    @endpoint(
        access=SCOPE,
        body=serializers.RotationRequestSerializer,
        answer=serializers.EndpointSecretSerializer,
        idempotent=True,
        errors=_NOT_FOUND,
    )
    def rotate(self, request: ApiRequest, endpoint_id: str, body: dict[str, Any]) -> Endpoint:
        """Rotate the secret of an endpoint.

        Only this response contains the new secret. A retry with the same Idempotency-Key returns the secret again.

        During the grace period, `webhook-signature` has one signature for each secret. `X-Service-Signature` uses the
        new secret after the first successful test, or after the grace period.
        """
        record = endpoints.find_endpoint(endpoint_id, request.auth)
        grace = timedelta(seconds=body["grace_seconds"])
        return endpoints.rotate_secret(record.pk, grace=grace, now=timezone.now())

    @action(detail=True, methods=["post"])
    @endpoint(
        access=SCOPE, answer=serializers.RedeliverySerializer, idempotent=True, errors=(*_NOT_FOUND, ValidationFailed)
    )
    def test(self, request: ApiRequest, endpoint_id: str) -> Delivery:
        """Test a webhook endpoint.

        The API sends a `webhook.test` event only to this endpoint, regardless of its event types. The endpoint must be
        enabled.
        """
        record = endpoints.find_endpoint(endpoint_id, request.auth)
        return endpoints.send_test(record, now=timezone.now())


class WebhookDeliveryViewSet(ApiViewSet):
    tag = "webhooks"

    @endpoint(access=SCOPE, page=serializers.DeliveryQuery, answer=serializers.DeliveriesPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[Delivery]:
        """List deliveries with their attempts.

        The newest delivery is first. An app gets only the deliveries to the endpoints that it created.
        """
        return endpoints.deliveries_of(request.auth).order_by("-id")

    @endpoint(
        access=SCOPE,
        answer=serializers.RedeliverySerializer,
        idempotent=True,
        errors=(NotFound, *_NOT_FOUND, ValidationFailed),
    )
    def redeliver(self, request: ApiRequest, delivery_id: str) -> Delivery:
        """Send a delivery again.

        The API sends the event to the same endpoint with the same `webhook-id`, regardless of the outcome of earlier
        deliveries. The endpoint must be enabled.
        """
        delivery = get_by_uuid(endpoints.deliveries_of(request.auth), delivery_id, NotFound("Delivery not found."))
        return endpoints.redeliver(delivery, now=timezone.now())


class WebhookEventViewSet(ApiViewSet):
    tag = "webhooks"

    @endpoint(access=SCOPE, query=serializers.FeedQuery, answer=serializers.FeedSerializer)
    def list(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List the events of the account.

        The events are in order, without a gap. The API stores an event in the same transaction as the change. To
        continue, set `after` to the last `sequence` that you received.
        """
        events, has_more = feed_page(account_id=request.user.pk, now=timezone.now(), **query)
        return {"events": events, "has_more": has_more}

    @endpoint(access=SCOPE, answer=serializers.EventTypesPageSerializer)
    def types(self, request: ApiRequest) -> dict[str, Any]:  # noqa: ARG002
        """List event types.

        For each event type, the response has the JSON Schema of the event's object.
        """
        return {"event_types": list(event_types().values())}

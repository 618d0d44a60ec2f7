from datetime import timedelta
from typing import Any

from django.utils import timezone

from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint, page_of
from config.core.errors import NotFound, ValidationFailed
from config.core.ids import get_by_uuid
from config.webhooks import endpoints, serializers
from config.webhooks.catalogue import EVENT_TYPES
from config.webhooks.models import Delivery, Endpoint
from config.webhooks.publishing import feed_page

SCOPE = "webhooks"
_NOT_FOUND = (endpoints.WebhookEndpointNotFound,)


class WebhookEndpointViewSet(ApiViewSet):
    """Endpoints of yours that are told what happens, what was delivered to them, and the feed to catch up from."""

    tag = "webhooks"

    @endpoint(access=SCOPE, answer=serializers.EndpointsAnswer)
    def page(self, request: ApiRequest) -> dict[str, Any]:
        """List the account's endpoints."""
        own = Endpoint.objects.present().filter(account_id=request.user.pk).order_by("id")
        shown = [serializers.EndpointAnswer.represent(one) for one in own]
        return {"endpoints": shown, "total": len(shown)}

    @endpoint(access=SCOPE, body=serializers.EndpointBody, answer=serializers.EndpointSecretAnswer, status=201)
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Endpoint:
        """Make an endpoint; the answer shows its secret, this once.

        It is told about what happens from now on. An Idempotency-Key is not honoured: the stored answer would be a
        stored secret.
        """
        return endpoints.create_endpoint(account_id=request.user.pk, now=timezone.now(), **body)

    @endpoint(access=SCOPE, answer=serializers.EndpointAnswer, errors=_NOT_FOUND)
    def retrieve(self, request: ApiRequest, endpoint_id: str) -> Endpoint:
        """Return an endpoint, without its secret."""
        return endpoints.find_endpoint(endpoint_id, account_id=request.user.pk)

    @endpoint(access=SCOPE, body=serializers.EndpointChangeBody, answer=serializers.EndpointAnswer, errors=_NOT_FOUND)
    def change(self, request: ApiRequest, endpoint_id: str, body: dict[str, Any]) -> Endpoint:
        """Change an endpoint's address, event types, description or status.

        What happened before is delivered under the old settings.
        """
        found = endpoints.find_endpoint(endpoint_id, account_id=request.user.pk)
        return endpoints.change_endpoint(found, changes=body, now=timezone.now())

    @endpoint(access=SCOPE, errors=_NOT_FOUND)
    def remove(self, request: ApiRequest, endpoint_id: str) -> None:
        """Remove an endpoint; its deliveries stay in the log."""
        found = endpoints.find_endpoint(endpoint_id, account_id=request.user.pk)
        endpoints.delete_endpoint(found, now=timezone.now())

    @endpoint(
        access=SCOPE,
        body=serializers.RotationBody,
        body_optional=True,
        answer=serializers.EndpointSecretAnswer,
        errors=_NOT_FOUND,
    )
    def rotate(self, request: ApiRequest, endpoint_id: str, body: dict[str, Any]) -> Endpoint:
        """Give the endpoint a new secret; the answer shows it, this once.

        During the grace `webhook-signature` carries a signature by each. `X-Service-Signature` is by the new secret
        from the first successful test, or the end of the grace.
        """
        found = endpoints.find_endpoint(endpoint_id, account_id=request.user.pk)
        grace = timedelta(seconds=body["grace_seconds"])
        return endpoints.rotate_secret(found.pk, grace=grace, now=timezone.now())

    @endpoint(access=SCOPE, answer=serializers.RedeliveryAnswer, errors=(*_NOT_FOUND, ValidationFailed))
    def test(self, request: ApiRequest, endpoint_id: str) -> dict[str, Any]:
        """Send a `webhook.test` event to this endpoint alone, whatever types it asked for."""
        found = endpoints.find_endpoint(endpoint_id, account_id=request.user.pk)
        return {"delivery_id": endpoints.send_test(found, now=timezone.now()).pk}


class WebhookDeliveryViewSet(ApiViewSet):
    tag = "webhooks"

    @endpoint(access=SCOPE, query=PageQuery, filters=serializers.DeliveryFilter, answer=serializers.DeliveriesAnswer)
    def page(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List deliveries with their attempts, newest first."""
        found = self.filter_queryset(Delivery.objects.filter(account_id=request.user.pk)).order_by("-id")
        return page_of(found, query, "deliveries", serializers.DeliveryAnswer)

    @endpoint(access=SCOPE, answer=serializers.RedeliveryAnswer, errors=(NotFound, *_NOT_FOUND, ValidationFailed))
    def redeliver(self, request: ApiRequest, delivery_id: str) -> dict[str, Any]:
        """Send the event to the same endpoint again, under the same `webhook-id`, whatever became of it before."""
        own = Delivery.objects.filter(account_id=request.user.pk)
        found = get_by_uuid(own, delivery_id, NotFound("There is no such delivery."))
        return {"delivery_id": endpoints.redeliver(found, now=timezone.now()).pk}


class WebhookEventViewSet(ApiViewSet):
    tag = "webhooks"

    @endpoint(access=SCOPE, query=serializers.FeedQuery, answer=serializers.FeedAnswer)
    def page(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """Read the account's events in order, without a gap.

        An event is here as soon as the change that it tells about is. Ask again with the last `sequence` you have.
        """
        events, has_more = feed_page(account_id=request.user.pk, now=timezone.now(), **query)
        return {"events": events, "has_more": has_more}

    @endpoint(access=SCOPE, answer=serializers.EventTypesAnswer)
    def types(self, request: ApiRequest) -> dict[str, Any]:  # noqa: ARG002
        """List every type of event with the JSON Schema of its object."""
        return {"event_types": [serializers.EventTypeAnswer.represent(one) for one in EVENT_TYPES.values()]}

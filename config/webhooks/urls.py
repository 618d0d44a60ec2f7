from django.urls import path

from config.webhooks.views import WebhookDeliveryViewSet, WebhookEndpointViewSet, WebhookEventViewSet

_ONE = "webhooks/endpoints/<str:endpoint_id>"

urlpatterns = [
    path("webhooks/endpoints", WebhookEndpointViewSet.as_view({"get": "list", "post": "create"})),
    path(_ONE, WebhookEndpointViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"})),
    path(f"{_ONE}/rotate-secret", WebhookEndpointViewSet.as_view({"post": "rotate"})),
    path(f"{_ONE}/test", WebhookEndpointViewSet.as_view({"post": "test"})),
    path("webhooks/deliveries", WebhookDeliveryViewSet.as_view({"get": "list"})),
    path("webhooks/deliveries/<str:delivery_id>/redeliver", WebhookDeliveryViewSet.as_view({"post": "redeliver"})),
    path("webhooks/events", WebhookEventViewSet.as_view({"get": "list"})),
    path("webhooks/event-types", WebhookEventViewSet.as_view({"get": "types"})),
]

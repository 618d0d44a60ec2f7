from django.urls import path

from config.api.routers import ApiRouter
from config.webhooks.views import WebhookDeliveryViewSet, WebhookEndpointViewSet, WebhookEventViewSet

router = ApiRouter()
router.register("webhooks/endpoints", WebhookEndpointViewSet, basename="webhook-endpoint")
urlpatterns = [
    *router.urls,
    path("webhooks/deliveries", WebhookDeliveryViewSet.as_view({"get": "list"})),
    path("webhooks/deliveries/<str:delivery_id>/redeliver", WebhookDeliveryViewSet.as_view({"post": "redeliver"})),
    path("webhooks/events", WebhookEventViewSet.as_view({"get": "list"})),
    path("webhooks/event-types", WebhookEventViewSet.as_view({"get": "types"})),
]

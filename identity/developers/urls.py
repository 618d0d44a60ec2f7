from django.urls import path

from identity.developers.base import SecretPage
from identity.developers.events import EventPage, EventsPage
from identity.developers.pages import ClientPage, ClientsPage, KeysPage, Overview
from identity.developers.requests import RequestPage, RequestsPage
from identity.developers.webhooks import WebhookPage, WebhooksPage

urlpatterns = [
    path("", Overview.as_view(), name="developers"),
    path("/keys", KeysPage.as_view(), name="developers_keys"),
    path("/clients", ClientsPage.as_view(), name="developers_clients"),
    path("/clients/<str:client_id>", ClientPage.as_view(), name="developers_client"),
    path("/webhooks", WebhooksPage.as_view(), name="developers_webhooks"),
    path("/webhooks/<str:endpoint_id>", WebhookPage.as_view(), name="developers_webhook"),
    path("/secret", SecretPage.as_view(), name="developers_secret"),
    path("/events", EventsPage.as_view(), name="developers_events"),
    path("/events/<str:event_id>", EventPage.as_view(), name="developers_event"),
    path("/requests", RequestsPage.as_view(), name="developers_requests"),
    path("/requests/<str:line_id>", RequestPage.as_view(), name="developers_request"),
]

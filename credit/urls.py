"""Addresses of this app under /v1."""

from django.urls import path

from credit.views import ApplicationViewSet, CatalogueViewSet, OfferViewSet

urlpatterns = [
    path("applications", ApplicationViewSet.as_view({"get": "list", "post": "create"})),
    path("applications/<str:application_id>", ApplicationViewSet.as_view({"get": "retrieve", "put": "change"})),
    path("applications/<str:application_id>/history", ApplicationViewSet.as_view({"get": "history"})),
    path("applications/<str:application_id>/status", ApplicationViewSet.as_view({"put": "move"})),
    path(
        "applications/<str:application_id>/pending-decision",
        ApplicationViewSet.as_view({"delete": "end_pending_decision"}),
    ),
    path("applications/<str:application_id>/transitions", ApplicationViewSet.as_view({"get": "transitions"})),
    path("applications/<str:application_id>/proof", ApplicationViewSet.as_view({"get": "proof"})),
    path("provider-offers", OfferViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "provider-offers/<str:offer_id>",
        OfferViewSet.as_view({"get": "retrieve", "put": "replace", "delete": "deactivate"}),
    ),
    path("ucp/catalog/items", CatalogueViewSet.as_view({"get": "items"})),
]

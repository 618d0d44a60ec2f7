"""Addresses of this app under /v1."""

from django.urls import include, path

from credit.document_views import DocumentViewSet
from credit.match_views import MatchViewSet
from credit.score_views import ScoreViewSet, VerifierViewSet
from credit.views import ApplicationViewSet, CatalogueViewSet, OfferViewSet, ProviderViewSet

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
    path(
        "applications/<str:application_id>/acceptance",
        ApplicationViewSet.as_view({"get": "acceptance", "post": "accept"}),
    ),
    path("applications/<str:application_id>/score", ScoreViewSet.as_view({"get": "score"})),
    path("applications/<str:application_id>/decision-bundle", ScoreViewSet.as_view({"get": "bundle"})),
    path("scoring/verifier", VerifierViewSet.as_view({"get": "verifier"})),
    path("providers", ProviderViewSet.as_view({"get": "page"})),
    path("providers/<str:provider_id>/members", ProviderViewSet.as_view({"get": "members", "post": "add_member"})),
    path("providers/<str:provider_id>/members/<str:user_id>", ProviderViewSet.as_view({"delete": "remove_member"})),
    path("providers/<str:provider_id>/applications", ProviderViewSet.as_view({"get": "inbox"})),
    path("applications/<str:application_id>/documents", DocumentViewSet.as_view({"get": "page", "post": "ask"})),
    path(
        "applications/<str:application_id>/documents/<str:document_id>/files",
        DocumentViewSet.as_view({"get": "files", "post": "add_file"}),
    ),
    path(
        "applications/<str:application_id>/documents/<str:document_id>/files/<str:file_id>",
        DocumentViewSet.as_view({"get": "file"}),
    ),
    path("provider-offers", OfferViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "provider-offers/<str:offer_id>",
        OfferViewSet.as_view({"get": "retrieve", "put": "replace", "delete": "deactivate"}),
    ),
    path("provider-offers/<str:offer_id>/quote", OfferViewSet.as_view({"get": "quote"})),
    path("offers/match", MatchViewSet.as_view({"post": "create"})),
    path("scoring/", include("credit.scoring.urls")),
    path("ucp/catalog/items", CatalogueViewSet.as_view({"get": "items"})),
    path("ucp/", include("credit.commerce.urls")),
]

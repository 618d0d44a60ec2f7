"""Addresses of this app under /v1."""

from django.urls import include, path

from credit.document_views import DocumentViewSet
from credit.score_views import ScoreViewSet, VerifierViewSet
from credit.views import ApplicationViewSet, CatalogueViewSet, MatchViewSet, OfferViewSet, ProviderViewSet

_APPLICATION = "applications/<str:application_id>"
_FILES = f"{_APPLICATION}/documents/<str:document_id>/files"
_PROVIDER = "providers/<str:provider_id>"

urlpatterns = [
    path("applications", ApplicationViewSet.as_view({"get": "list", "post": "create"})),
    path(_APPLICATION, ApplicationViewSet.as_view({"get": "retrieve", "put": "change"})),
    path(f"{_APPLICATION}/history", ApplicationViewSet.as_view({"get": "history"})),
    path(f"{_APPLICATION}/status", ApplicationViewSet.as_view({"put": "move"})),
    path(f"{_APPLICATION}/pending-decision", ApplicationViewSet.as_view({"delete": "end_pending_decision"})),
    path(f"{_APPLICATION}/transitions", ApplicationViewSet.as_view({"get": "transitions"})),
    path(f"{_APPLICATION}/proof", ApplicationViewSet.as_view({"get": "proof"})),
    path(f"{_APPLICATION}/acceptance", ApplicationViewSet.as_view({"get": "acceptance", "post": "accept"})),
    path(f"{_APPLICATION}/score", ScoreViewSet.as_view({"get": "score"})),
    path(f"{_APPLICATION}/decision-bundle", ScoreViewSet.as_view({"get": "bundle"})),
    path("scoring/verifier", VerifierViewSet.as_view({"get": "verifier"})),
    path("providers", ProviderViewSet.as_view({"get": "page"})),
    path(f"{_PROVIDER}/members", ProviderViewSet.as_view({"get": "members", "post": "add_member"})),
    path(f"{_PROVIDER}/members/<str:user_id>", ProviderViewSet.as_view({"delete": "remove_member"})),
    path(f"{_PROVIDER}/applications", ProviderViewSet.as_view({"get": "inbox"})),
    path(f"{_APPLICATION}/documents", DocumentViewSet.as_view({"get": "page", "post": "ask"})),
    path(_FILES, DocumentViewSet.as_view({"get": "files", "post": "add_file"})),
    path(f"{_FILES}/<str:file_id>", DocumentViewSet.as_view({"get": "file"})),
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

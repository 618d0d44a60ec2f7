from django.urls import path

from credit.applications.views import ApplicationViewSet
from credit.documents.views import DocumentViewSet
from credit.notices.views import ConsentViewSet, NoticeViewSet, ProviderNoticeViewSet, ReviewRequestViewSet
from credit.offers.commerce.views import CommerceViewSet
from credit.offers.views import CatalogueViewSet, DecisionViewSet, MatchViewSet, OfferViewSet, ProviderViewSet
from credit.requirements.views import ApplicationRequirementViewSet, OfferRequirementViewSet
from credit.scoring import views as scoring
from credit.scoring.score_views import ScoreViewSet, VerifierViewSet
from credit.terms.views import AgreementViewSet, CounterofferViewSet

_APPLICATION = "applications/<str:application_id>"
_COUNTEROFFER = f"{_APPLICATION}/counteroffers/<str:counteroffer_id>"
_FILES = f"{_APPLICATION}/documents/<str:document_id>/files"
_VERSION = "scoring/models/<str:model_id>/versions/<str:number>"
_PROVIDER = "providers/<str:provider_id>"

urlpatterns = [
    path("applications", ApplicationViewSet.as_view({"get": "list", "post": "create"})),
    path(_APPLICATION, ApplicationViewSet.as_view({"get": "retrieve", "put": "update"})),
    path(f"{_APPLICATION}/history", ApplicationViewSet.as_view({"get": "history"})),
    path(f"{_APPLICATION}/status", ApplicationViewSet.as_view({"put": "move"})),
    path(f"{_APPLICATION}/pending-decision", ApplicationViewSet.as_view({"delete": "end_pending_decision"})),
    path(f"{_APPLICATION}/transitions", ApplicationViewSet.as_view({"get": "transitions"})),
    path(f"{_APPLICATION}/requirements", ApplicationRequirementViewSet.as_view({"get": "retrieve"})),
    path(f"{_APPLICATION}/proof", ApplicationViewSet.as_view({"get": "proof"})),
    path(f"{_APPLICATION}/acceptance", ApplicationViewSet.as_view({"get": "acceptance", "post": "accept"})),
    path(f"{_APPLICATION}/agreement", AgreementViewSet.as_view({"get": "retrieve"})),
    path(f"{_APPLICATION}/counteroffers", CounterofferViewSet.as_view({"get": "list", "post": "create"})),
    path(_COUNTEROFFER, CounterofferViewSet.as_view({"delete": "withdraw"})),
    path(f"{_COUNTEROFFER}/decline", CounterofferViewSet.as_view({"post": "decline"})),
    path(f"{_APPLICATION}/score", ScoreViewSet.as_view({"get": "score"})),
    path(f"{_APPLICATION}/decision-bundle", ScoreViewSet.as_view({"get": "bundle"})),
    path("scoring/verifier", VerifierViewSet.as_view({"get": "verifier"})),
    path(f"{_APPLICATION}/notices", NoticeViewSet.as_view({"get": "list"})),
    path(f"{_APPLICATION}/notices/<str:notice_id>", NoticeViewSet.as_view({"get": "retrieve"})),
    path(f"{_APPLICATION}/notices/<str:notice_id>/deliveries", NoticeViewSet.as_view({"post": "deliver"})),
    path(f"{_APPLICATION}/review-requests", ReviewRequestViewSet.as_view({"get": "list", "post": "create"})),
    path("notice-consent", ConsentViewSet.as_view({"get": "retrieve", "put": "give", "delete": "withdraw"})),
    path("providers", ProviderViewSet.as_view({"get": "list", "post": "create"})),
    path(_PROVIDER, ProviderViewSet.as_view({"put": "replace"})),
    path(f"{_PROVIDER}/notices", ProviderNoticeViewSet.as_view({"get": "list"})),
    path(f"{_PROVIDER}/members", ProviderViewSet.as_view({"get": "members", "post": "invite"})),
    path(f"{_PROVIDER}/members/me", ProviderViewSet.as_view({"post": "accept_invitation"})),
    path(
        f"{_PROVIDER}/members/<str:user_id>",
        ProviderViewSet.as_view({"put": "change_member", "delete": "remove_member"}),
    ),
    path(f"{_PROVIDER}/invitations/<str:invitation_id>", ProviderViewSet.as_view({"delete": "withdraw_invitation"})),
    path(f"{_PROVIDER}/applications", ProviderViewSet.as_view({"get": "inbox"})),
    path(f"{_PROVIDER}/decisions", DecisionViewSet.as_view({"get": "list"})),
    path(f"{_APPLICATION}/documents", DocumentViewSet.as_view({"get": "list", "post": "ask"})),
    path(_FILES, DocumentViewSet.as_view({"get": "files", "post": "add_file"})),
    path(f"{_FILES}/<str:file_id>", DocumentViewSet.as_view({"get": "file"})),
    path("provider-offers", OfferViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "provider-offers/<str:offer_id>",
        OfferViewSet.as_view({"get": "retrieve", "put": "replace", "delete": "deactivate"}),
    ),
    path("provider-offers/<str:offer_id>/quote", OfferViewSet.as_view({"get": "quote"})),
    path("provider-offers/<str:offer_id>/requirements", OfferRequirementViewSet.as_view({"get": "retrieve"})),
    path("offers/match", MatchViewSet.as_view({"post": "create"})),
    path("scoring/definition-schema", scoring.ScoringCatalogueViewSet.as_view({"get": "definition_schema"})),
    path("scoring/facts", scoring.ScoringCatalogueViewSet.as_view({"get": "facts"})),
    path("scoring/models", scoring.ScoringModelViewSet.as_view({"get": "list", "post": "create"})),
    path("scoring/models/<str:model_id>", scoring.ScoringModelViewSet.as_view({"get": "retrieve"})),
    path(
        "scoring/models/<str:model_id>/versions", scoring.ModelVersionViewSet.as_view({"get": "list", "post": "create"})
    ),
    path(_VERSION, scoring.ModelVersionViewSet.as_view({"get": "retrieve"})),
    path(f"{_VERSION}/publish", scoring.ModelVersionViewSet.as_view({"post": "publish"})),
    path(f"{_VERSION}/retire", scoring.ModelVersionViewSet.as_view({"post": "retire"})),
    path(f"{_VERSION}/compare", scoring.ScoreMonitoringViewSet.as_view({"post": "compare"})),
    path("scoring/models/<str:model_id>/monitoring", scoring.ScoreMonitoringViewSet.as_view({"get": "monitor"})),
    path(f"{_VERSION}/evaluate", scoring.ModelVersionViewSet.as_view({"post": "evaluate"})),
    path("ucp/catalog/items", CatalogueViewSet.as_view({"get": "items"})),
    path("ucp/catalog/search", CommerceViewSet.as_view({"post": "search"})),
    path("ucp/catalog/lookup", CommerceViewSet.as_view({"post": "lookup"})),
    path("ucp/catalog/product", CommerceViewSet.as_view({"post": "product"})),
]

from django.urls import URLPattern, URLResolver, include, path

from credit.api.applications.views import ApplicationViewSet
from credit.api.commerce.views import CommerceViewSet
from credit.api.documents.views import DocumentViewSet
from credit.api.notices.views import (
    ConsentViewSet,
    HoldViewSet,
    NoticeViewSet,
    ProviderNoticeViewSet,
    ReviewRequestViewSet,
)
from credit.api.offers.views import CatalogueViewSet, DecisionViewSet, MatchViewSet, OfferViewSet, ProviderViewSet
from credit.api.reports.views import ReportViewSet
from credit.api.requirements.views import ApplicationRequirementViewSet, OfferRequirementViewSet
from credit.api.rights.views import AutomationViewSet, CorrectionViewSet, ExplanationViewSet
from credit.api.scoring import views as scoring
from credit.api.scoring.score_views import ScoreViewSet, VerifierViewSet
from credit.api.terms.views import AgreementViewSet, CounterofferViewSet, PrecontractViewSet, WithdrawalViewSet

_of_an_application = [
    path("", ApplicationViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("/status", ApplicationViewSet.as_view({"put": "move"})),
    path("/history", ApplicationViewSet.as_view({"get": "history"})),
    path("/pending-decision", ApplicationViewSet.as_view({"delete": "end_pending_decision"})),
    path("/transitions", ApplicationViewSet.as_view({"get": "transitions"})),
    path("/requirements", ApplicationRequirementViewSet.as_view({"get": "retrieve"})),
    path("/proof", ApplicationViewSet.as_view({"get": "proof"})),
    path("/acceptance", ApplicationViewSet.as_view({"get": "acceptance", "post": "accept"})),
    path("/precontract", PrecontractViewSet.as_view({"get": "of_application"})),
    path("/agreement", AgreementViewSet.as_view({"get": "retrieve"})),
    path("/withdrawal", WithdrawalViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("/counteroffers", CounterofferViewSet.as_view({"get": "list", "post": "create"})),
    path("/counteroffers/<str:counteroffer_id>", CounterofferViewSet.as_view({"delete": "withdraw"})),
    path("/counteroffers/<str:counteroffer_id>/decline", CounterofferViewSet.as_view({"post": "decline"})),
    path("/score", ScoreViewSet.as_view({"get": "score", "post": "score_again"})),
    path("/facts", ScoreViewSet.as_view({"get": "facts"})),
    path("/confirmations", ScoreViewSet.as_view({"post": "confirm"})),
    path("/reports", ReportViewSet.as_view({"get": "list", "post": "create"})),
    path("/reports/<str:report_id>", ReportViewSet.as_view({"get": "retrieve"})),
    path("/decision-bundle", ScoreViewSet.as_view({"get": "bundle"})),
    path("/notices", NoticeViewSet.as_view({"get": "list"})),
    path("/notices/<str:notice_id>", NoticeViewSet.as_view({"get": "retrieve"})),
    path("/notices/<str:notice_id>/deliveries", NoticeViewSet.as_view({"post": "deliver"})),
    path("/corrections", CorrectionViewSet.as_view({"get": "list", "post": "create"})),
    path("/corrections/<str:correction_id>", CorrectionViewSet.as_view({"put": "answer"})),
    path("/explanation", ExplanationViewSet.as_view({"get": "retrieve"})),
    path("/hold", HoldViewSet.as_view({"get": "retrieve", "put": "replace"})),
    path("/review-requests", ReviewRequestViewSet.as_view({"get": "list", "post": "create"})),
    path("/documents", DocumentViewSet.as_view({"get": "list", "post": "ask"})),
    path("/documents/<str:document_id>/files", DocumentViewSet.as_view({"get": "files", "post": "add_file"})),
    path("/documents/<str:document_id>/files/<str:file_id>", DocumentViewSet.as_view({"get": "file"})),
]
_of_a_provider = [
    path("", ProviderViewSet.as_view({"put": "replace"})),
    path("/notices", ProviderNoticeViewSet.as_view({"get": "list"})),
    path("/application-links", ProviderViewSet.as_view({"post": "link"})),
    path("/members", ProviderViewSet.as_view({"get": "members", "post": "invite"})),
    path("/members/me", ProviderViewSet.as_view({"post": "accept_invitation"})),
    path("/members/<str:user_id>", ProviderViewSet.as_view({"put": "change_member", "delete": "remove_member"})),
    path("/invitations/<str:invitation_id>", ProviderViewSet.as_view({"delete": "withdraw_invitation"})),
    path("/applications", ProviderViewSet.as_view({"get": "inbox"})),
    path("/decisions", DecisionViewSet.as_view({"get": "list"})),
]
_of_an_offer = [
    path("", OfferViewSet.as_view({"get": "retrieve", "put": "replace", "delete": "deactivate"})),
    path("/automation", AutomationViewSet.as_view({"get": "retrieve"})),
    path("/precontract", PrecontractViewSet.as_view({"get": "of_offer"})),
    path("/quote", OfferViewSet.as_view({"get": "quote"})),
    path("/requirements", OfferRequirementViewSet.as_view({"get": "retrieve"})),
]
_of_a_version = [
    path("", scoring.ModelVersionViewSet.as_view({"get": "retrieve"})),
    path("/publish", scoring.ModelVersionViewSet.as_view({"post": "publish"})),
    path("/retire", scoring.ModelVersionViewSet.as_view({"post": "retire"})),
    path("/compare", scoring.ScoreMonitoringViewSet.as_view({"post": "compare"})),
    path("/certificate", scoring.ModelVersionViewSet.as_view({"get": "certificate"})),
    path("/instructions", scoring.ModelVersionViewSet.as_view({"get": "instructions"})),
    path("/evaluate", scoring.ModelVersionViewSet.as_view({"post": "evaluate"})),
]
_scoring: list[URLPattern | URLResolver] = [
    path("verifier", VerifierViewSet.as_view({"get": "verifier"})),
    path("definition-schema", scoring.ScoringCatalogueViewSet.as_view({"get": "definition_schema"})),
    path("facts", scoring.ScoringCatalogueViewSet.as_view({"get": "facts"})),
    path("models", scoring.ScoringModelViewSet.as_view({"get": "list", "post": "create"})),
    path("models/<str:model_id>", scoring.ScoringModelViewSet.as_view({"get": "retrieve"})),
    path("models/<str:model_id>/monitoring", scoring.ScoreMonitoringViewSet.as_view({"get": "monitor"})),
    path("models/<str:model_id>/versions", scoring.ModelVersionViewSet.as_view({"get": "list", "post": "create"})),
    path("models/<str:model_id>/versions/<str:number>", include(_of_a_version)),
]
urlpatterns = [
    path("applications", ApplicationViewSet.as_view({"get": "list", "post": "create"})),
    path("applications/<str:application_id>", include(_of_an_application)),
    path("notice-consent", ConsentViewSet.as_view({"get": "retrieve", "put": "give", "delete": "withdraw"})),
    path("providers", ProviderViewSet.as_view({"get": "list", "post": "create"})),
    path("providers/<str:provider_id>", include(_of_a_provider)),
    path("provider-offers", OfferViewSet.as_view({"get": "list", "post": "create"})),
    path("provider-offers/<str:offer_id>", include(_of_an_offer)),
    path("offers/match", MatchViewSet.as_view({"post": "create"})),
    path("scoring/", include(_scoring)),
    path("ucp/catalog/items", CatalogueViewSet.as_view({"get": "items"})),
    path("ucp/catalog/search", CommerceViewSet.as_view({"post": "search"})),
    path("ucp/catalog/lookup", CommerceViewSet.as_view({"post": "lookup"})),
    path("ucp/catalog/product", CommerceViewSet.as_view({"post": "product"})),
]

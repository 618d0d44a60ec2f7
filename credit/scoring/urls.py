"""Addresses of scoring models under /v1/scoring."""

from django.urls import path

from credit.scoring.views import (
    ModelVersionViewSet,
    ScoreMonitoringViewSet,
    ScoringCatalogueViewSet,
    ScoringModelViewSet,
)

_VERSION = "models/<str:model_id>/versions/<str:number>"

urlpatterns = [
    path("definition-schema", ScoringCatalogueViewSet.as_view({"get": "definition_schema"})),
    path("facts", ScoringCatalogueViewSet.as_view({"get": "facts"})),
    path("models", ScoringModelViewSet.as_view({"get": "page", "post": "create"})),
    path("models/<str:model_id>", ScoringModelViewSet.as_view({"get": "retrieve"})),
    path("models/<str:model_id>/versions", ModelVersionViewSet.as_view({"get": "page", "post": "create"})),
    path(_VERSION, ModelVersionViewSet.as_view({"get": "retrieve"})),
    path(f"{_VERSION}/publish", ModelVersionViewSet.as_view({"post": "publish"})),
    path(f"{_VERSION}/retire", ModelVersionViewSet.as_view({"post": "retire"})),
    path(f"{_VERSION}/compare", ScoreMonitoringViewSet.as_view({"post": "compare"})),
    path("models/<str:model_id>/monitoring", ScoreMonitoringViewSet.as_view({"get": "monitor"})),
    path(f"{_VERSION}/evaluate", ModelVersionViewSet.as_view({"post": "evaluate"})),
]

"""Addresses of service A."""

from django.contrib import admin
from django.urls import include, path

from config.api.docs import DocumentViewSet, docs_page, front_page
from config.ops.health import HealthViewSet
from credit.views import DiscoveryViewSet
from identity.oauth.views import MetadataViewSet
from identity.views import KeySetViewSet

handler400 = "config.api.errors.bad_request"
handler403 = "config.api.errors.permission_denied"
handler404 = "config.api.errors.not_found"
handler500 = "config.api.errors.server_error"

urlpatterns = [
    path(".well-known/ucp", DiscoveryViewSet.as_view({"get": "document"})),
    path(".well-known/jwks.json", KeySetViewSet.as_view({"get": "keys"})),
    path(".well-known/oauth-authorization-server", MetadataViewSet.as_view({"get": "document"})),
    path("oauth/", include("identity.oauth.urls")),
    path("v1/health", HealthViewSet.as_view({"get": "check"})),
    path("v1/openapi.json", DocumentViewSet.as_view({"get": "document"}), name="openapi"),
    path("v1/docs", docs_page, name="docs"),
    path("v1/", include("identity.urls")),
    path("v1/", include("credit.urls")),
    path("v1/", include("claims.urls")),
    path("v1/", include("payments.urls")),
    path("v1/", include("staging.urls")),
    path("v1/", include("config.webhooks.urls")),
    path("", front_page),
    path("admin/", admin.site.urls),
]

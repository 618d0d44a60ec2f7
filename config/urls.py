"""The root URLs of the platform (service A)."""

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from config.api.docs import OpenapiViewSet
from config.docs.views import reference, reference_section, root, try_document, try_page
from config.mail.development import mail_page
from config.ops.health import HealthViewSet
from config.ops.requests import RequestViewSet
from config.sandbox.views import SandboxAccountViewSet
from config.webhooks.sandbox_views import SandboxEventViewSet
from credit.api.anchoring.views import RecordKeyViewSet
from credit.api.commerce.views import DiscoveryViewSet
from credit.my.apply import logo
from identity.oauth.pages import ConsentPage, GrantsPage
from identity.oauth.views import MetadataViewSet
from identity.sandbox_views import SandboxIdentityViewSet
from identity.views import KeySetViewSet

handler400 = "config.api.errors.bad_request"
handler403 = "config.api.errors.permission_denied"
handler404 = "config.api.errors.not_found"
handler500 = "config.api.errors.server_error"

v1: list[URLPattern | URLResolver] = [
    path("", include("credit.api.urls")),  # Django tries URL patterns in order, and these URLs must be first
    path("health", HealthViewSet.as_view({"get": "check"})),
    path("requests", RequestViewSet.as_view({"get": "list"})),
    path("openapi.json", OpenapiViewSet.as_view({"get": "document"}), name="openapi"),
    path("docs", reference, name="docs"),
    path("docs/try", try_page, name="try"),
    path("docs/try.json", try_document, name="try_document"),
    path("docs/<slug:name>", reference_section, name="docs_section"),
    path("", include("payments.urls")),
    path("", include("identity.urls")),
    path("", include("claims.urls")),
    path("", include("staging.urls")),
    path("", include("config.webhooks.urls")),
]
if settings.ENVIRONMENT != "production":  # `config.checks` rejects these operations in production
    v1 += [
        path("sandbox/clock", SandboxAccountViewSet.as_view({"post": "advance"})),
        path("sandbox/events", SandboxEventViewSet.as_view({"post": "send"})),
        path(
            "sandbox/verifications/<str:verification_id>/outcome",
            SandboxIdentityViewSet.as_view({"post": "play_outcome"}),
        ),
        path(
            "sandbox/bank-items/<str:item_id>/require-login", SandboxIdentityViewSet.as_view({"post": "require_login"})
        ),
    ]
urlpatterns = [
    path("v1/", include(v1)),  # Django tries URL patterns in order, and these URLs must be first
    path(".well-known/ucp", DiscoveryViewSet.as_view({"get": "document"})),
    path(".well-known/jwks.json", KeySetViewSet.as_view({"get": "keys"})),
    path(".well-known/record-keys.json", RecordKeyViewSet.as_view({"get": "keys"})),
    path(".well-known/oauth-authorization-server", MetadataViewSet.as_view({"get": "document"})),
    path("account/", include("identity.accounts.urls")),
    path("my", include("credit.my.urls")),
    re_path(r"^logos/(?P<sha256>[0-9a-f]{64})$", logo, name="logo"),
    path("developers", include("identity.developers.urls")),
    path("oauth/authorize", ConsentPage.as_view()),
    path("oauth/grants", GrantsPage.as_view()),
    path("", root),
    path("", include("config.docs.urls")),
    path("admin/", admin.site.urls),
]
if not settings.PRODUCTION:
    urlpatterns.append(path("dev/mail", mail_page))

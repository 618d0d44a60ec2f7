from django.urls import path

from config.api.routers import ApiRouter
from identity.access.views import ApiKeyViewSet
from identity.accounts.privacy_views import (
    AccountConsentViewSet,
    AccountErasureViewSet,
    AccountExportViewSet,
    ManagedErasureViewSet,
    ManagedExportViewSet,
)
from identity.accounts.views import AccountInvitationViewSet, ManagedAccountViewSet
from identity.bank.views import BankdataViewSet
from identity.kyc.views import KycViewSet, SandboxPage
from identity.oauth.views import OAuthClientViewSet, OAuthViewSet
from identity.views import AuthViewSet

router = ApiRouter()
router.register("oauth/clients", OAuthClientViewSet, basename="oauth-client")
urlpatterns = [
    path("auth/token", AuthViewSet.as_view({"post": "token"})),
    path("auth/refresh", AuthViewSet.as_view({"post": "refresh"})),
    path("auth/revoke", AuthViewSet.as_view({"post": "revoke"})),
    path("oauth/token", OAuthViewSet.as_view({"post": "token"})),
    path("oauth/revoke", OAuthViewSet.as_view({"post": "revoke"})),
    *router.urls,
    path("invitations", AccountInvitationViewSet.as_view({"get": "list", "post": "create"})),
    path("invitations/<str:invitation_id>", AccountInvitationViewSet.as_view({"delete": "revoke"})),
    path("account/consents", AccountConsentViewSet.as_view({"get": "list"})),
    path("account/consents/<str:consent_id>", AccountConsentViewSet.as_view({"delete": "destroy"})),
    path("account/erasure", AccountErasureViewSet.as_view({"post": "create", "get": "retrieve", "delete": "destroy"})),
    path("account/exports", AccountExportViewSet.as_view({"post": "create"})),
    path("account/exports/<str:export_id>", AccountExportViewSet.as_view({"get": "retrieve"})),
    path("account/exports/<str:export_id>/file", AccountExportViewSet.as_view({"get": "file"})),
    path("accounts", ManagedAccountViewSet.as_view({"get": "list", "post": "create"})),
    path("accounts/<str:account_id>", ManagedAccountViewSet.as_view({"get": "retrieve", "delete": "disable"})),
    path("accounts/<str:account_id>/tokens", ManagedAccountViewSet.as_view({"post": "issue_token"})),
    path(
        "accounts/<str:account_id>/erasure",
        ManagedErasureViewSet.as_view({"post": "create", "get": "retrieve", "delete": "destroy"}),
    ),
    path("accounts/<str:account_id>/exports", ManagedExportViewSet.as_view({"post": "create"})),
    path("accounts/<str:account_id>/exports/<str:export_id>", ManagedExportViewSet.as_view({"get": "retrieve"})),
    path("accounts/<str:account_id>/exports/<str:export_id>/file", ManagedExportViewSet.as_view({"get": "file"})),
    path("api-keys", ApiKeyViewSet.as_view({"get": "list", "post": "create"})),
    path("api-keys/<str:key_id>", ApiKeyViewSet.as_view({"delete": "revoke"})),
    path("api-keys/<str:key_id>/rotate", ApiKeyViewSet.as_view({"post": "rotate"})),
    path("auth/me", AuthViewSet.as_view({"get": "me"})),
    path("auth/keys/<str:key_id>/collect", AuthViewSet.as_view({"post": "collect"})),
    path("kyc/create", KycViewSet.as_view({"post": "create"})),
    path("kyc/status/<str:verification_id>", KycViewSet.as_view({"get": "status"})),
    path("kyc/provider-events", KycViewSet.as_view({"post": "receive"})),
    path("kyc/sandbox/<str:page_token>", SandboxPage.as_view(), name="kyc-sandbox"),
    path("bankdata/link-token", BankdataViewSet.as_view({"post": "link_token"})),
    path("bankdata/exchange", BankdataViewSet.as_view({"post": "exchange"})),
    path("bankdata/items/<str:item_id>", BankdataViewSet.as_view({"delete": "unlink"})),
    path("bankdata/accounts/<str:user_id>", BankdataViewSet.as_view({"get": "accounts"})),
    path("bankdata/transactions/<str:user_id>", BankdataViewSet.as_view({"get": "transactions"})),
]

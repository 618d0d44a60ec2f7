from django.urls import path

from identity.bank.views import BankdataViewSet
from identity.kyc.views import KycViewSet, SandboxPage
from identity.oauth.views import OAuthViewSet
from identity.views import AuthViewSet

urlpatterns = [
    path("auth/token", AuthViewSet.as_view({"post": "token"})),
    path("auth/refresh", AuthViewSet.as_view({"post": "refresh"})),
    path("auth/revoke", AuthViewSet.as_view({"post": "revoke"})),
    path("oauth/token", OAuthViewSet.as_view({"post": "token"})),
    path("oauth/revoke", OAuthViewSet.as_view({"post": "revoke"})),
    path("auth/me", AuthViewSet.as_view({"get": "me"})),
    path("auth/keys/<str:key_id>/collect", AuthViewSet.as_view({"post": "collect"})),
    path("kyc/create", KycViewSet.as_view({"post": "create"})),
    path("kyc/status/<str:verification_id>", KycViewSet.as_view({"get": "status"})),
    path("kyc/provider-events", KycViewSet.as_view({"post": "receive"})),
    path("kyc/sandbox/<str:page_token>", SandboxPage.as_view(), name="kyc-sandbox"),
    path("bankdata/link-token", BankdataViewSet.as_view({"post": "link_token"})),
    path("bankdata/exchange", BankdataViewSet.as_view({"post": "exchange"})),
    path("bankdata/accounts/<str:user_id>", BankdataViewSet.as_view({"get": "accounts"})),
    path("bankdata/transactions/<str:user_id>", BankdataViewSet.as_view({"get": "transactions"})),
]

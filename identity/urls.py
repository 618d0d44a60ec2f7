"""Addresses of this room under /v1."""

from django.urls import path

from identity.oauth.views import OAuthViewSet
from identity.views import AuthViewSet

urlpatterns = [
    path("auth/token", AuthViewSet.as_view({"post": "token"})),
    path("auth/refresh", AuthViewSet.as_view({"post": "refresh"})),
    path("auth/revoke", AuthViewSet.as_view({"post": "revoke"})),
    path("oauth/token", OAuthViewSet.as_view({"post": "token"})),
    path("oauth/revoke", OAuthViewSet.as_view({"post": "revoke"})),
    path("auth/me", AuthViewSet.as_view({"get": "me"})),
]

"""Addresses of this room, below `/v1/`."""

from django.urls import URLPattern, path

from payments.views import FeeViewSet

_card: list[URLPattern] = [
    path("payments/calculate-fee", FeeViewSet.as_view({"get": "quote"})),
]
_wallets_and_crypto: list[URLPattern] = []

urlpatterns = [*_card, *_wallets_and_crypto]

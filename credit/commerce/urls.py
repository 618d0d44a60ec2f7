"""Addresses of the protocol, below the endpoint that the profile names."""

from django.urls import path

from credit.commerce.views import CommerceViewSet

urlpatterns = [
    path("catalog/search", CommerceViewSet.as_view({"post": "search"})),
    path("catalog/lookup", CommerceViewSet.as_view({"post": "lookup"})),
    path("catalog/product", CommerceViewSet.as_view({"post": "product"})),
]

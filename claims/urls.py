from django.urls import path

from claims.views import ClaimViewSet

urlpatterns = [
    path("claims", ClaimViewSet.as_view({"get": "list", "post": "create"})),
    path("claims/<str:claim_id>", ClaimViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})),
    path("claims/<str:claim_id>/status", ClaimViewSet.as_view({"put": "move"})),
]

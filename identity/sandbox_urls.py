from django.urls import path

from identity.sandbox_views import SandboxIdentityViewSet

urlpatterns = [
    path("verifications/<str:verification_id>/outcome", SandboxIdentityViewSet.as_view({"post": "play_outcome"})),
    path("bank-items/<str:item_id>/require-login", SandboxIdentityViewSet.as_view({"post": "require_login"})),
]

from django.urls import path

from config.sandbox.views import SandboxAccountViewSet

urlpatterns = [
    path("clock", SandboxAccountViewSet.as_view({"post": "advance"})),
    path("reset", SandboxAccountViewSet.as_view({"post": "reset"})),
]

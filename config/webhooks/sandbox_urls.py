from django.urls import path

from config.webhooks.sandbox_views import SandboxEventViewSet

urlpatterns = [path("events", SandboxEventViewSet.as_view({"post": "send"}))]

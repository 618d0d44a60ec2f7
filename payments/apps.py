"""The app of this room."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    """Names the room to Django."""

    name = "payments"
    default_auto_field = "django.db.models.BigAutoField"

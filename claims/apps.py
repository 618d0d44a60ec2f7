"""The app of this room."""

from django.apps import AppConfig


class ClaimsConfig(AppConfig):
    """Names the room to Django."""

    name = "claims"
    default_auto_field = "django.db.models.BigAutoField"

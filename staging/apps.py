"""The app of this room."""

from django.apps import AppConfig


class StagingConfig(AppConfig):
    """Names the room to Django."""

    name = "staging"
    default_auto_field = "django.db.models.BigAutoField"

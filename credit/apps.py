"""The app of this room."""

from django.apps import AppConfig


class CreditConfig(AppConfig):
    """Registers offers and applications."""

    name = "credit"
    default_auto_field = "django.db.models.BigAutoField"

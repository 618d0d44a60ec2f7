"""The app that owns the kit's own tables: idempotency records and rate counters."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Registers the kit's tables under the label `api`."""

    name = "config.api"
    label = "api"
    verbose_name = "API"
    default_auto_field = "django.db.models.BigAutoField"

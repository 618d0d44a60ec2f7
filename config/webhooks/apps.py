"""The app that owns the outbox."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Registers the outbox under the label `webhooks`."""

    name = "config.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"
    default_auto_field = "django.db.models.BigAutoField"

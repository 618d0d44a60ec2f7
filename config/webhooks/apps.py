"""The app that owns the outbox."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Registers the outbox under the label `webhooks`."""

    name = "config.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what the outbox gives to others: rules of forgetting, readings, demo data."""
        from config.ops import demo, readings
        from config.webhooks import catalogue, metrics, pruning
        from config.webhooks.demo import seed

        catalogue.register_own()
        pruning.register()
        readings.register(self.get_model("Event"), metrics.measure)
        demo.register(seed)

from datetime import timedelta

from django.apps import AppConfig

KEEP_DAYS = 30  # a month in which an accepted or given-up delivery can be looked at and sent again


class WebhooksConfig(AppConfig):
    name = "config.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from config.api import capabilities
        from config.ops import demo, pruning, readings
        from config.webhooks import metrics, models, sandbox_records
        from config.webhooks.demo import seed

        readings.register(models.Event, metrics.measure)
        demo.register(seed)
        capabilities.register("webhooks")
        over = models.Delivery.objects.filter(status__in=[models.DELIVERED, models.FAILED])
        pruning.register(
            models.Delivery,
            "webhook_deliveries",
            lambda now: over.filter(created_at__lt=now - timedelta(days=KEEP_DAYS)),
        )
        sandbox_records.register()

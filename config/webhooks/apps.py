from django.apps import AppConfig

from config.core.registration import Declarations


class WebhooksConfig(Declarations, AppConfig):
    name = "config.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"

    personal_data = "privacy.TABLES"
    event_types = "catalogue.FAMILIES"
    capabilities = {"webhooks": ""}
    demo = ("demo.seed",)
    failed_item_models = {"delivery": "webhooks.delivery", "event": "webhooks.event"}
    erasure_steps = ("endpoints.end_endpoints",)
    prune_rules = "queue.PRUNE_RULES"
    readings = ("metrics.READING",)
    sandbox_timers = "sandbox_records.TIMERS"
    tones = "models.TONES"
    console_pages = "admin.PAGES"
    queues = "admin.QUEUES"

from django.apps import AppConfig

from config.core.registration import Declarations


class StagingConfig(Declarations, AppConfig):
    name = "staging"

    personal_data = "privacy.TABLES"
    event_types = "events.FAMILIES"
    capabilities = {"staging": ""}
    demo = ("demo.seed",)
    failed_item_models = {"staged_item": "staging.stageditem"}
    prune_tasks = ("services.expire_staged",)
    sandbox_timers = "sandbox_records.TIMERS"
    tones = "machine.TONES"
    staged_kinds = "staged.KINDS"

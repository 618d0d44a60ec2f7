from django.apps import AppConfig

from config.core.registration import Declarations


class ClaimsConfig(Declarations, AppConfig):
    name = "claims"

    personal_data = "privacy.TABLES"
    event_types = "events.FAMILIES"
    capabilities = {"claims": ""}
    demo = ("demo.seed",)
    sandbox_timers = "sandbox_records.TIMERS"
    tones = "machine.TONES"
    queues = ("admin.QUEUE",)
    person_lines = case_lines = ("admin.LINES",)
    staged_kinds = "staged.KINDS"

from django.apps import AppConfig
from django.conf import settings

from config.core.registration import Declarations


class CreditConfig(Declarations, AppConfig):
    name = "credit"

    event_types = "events.FAMILIES"
    capabilities = {
        **dict.fromkeys(("applications", "catalog", "documents", "offers", "quotes", "scoring"), ""),
        "decision_proofs": "ANCHOR_DECISIONS",
    }
    demo = ("demo.seeding.seed",)
    invitation_roles = "offers.invited.ROLES"
    account_not_acted_for = ("offers.invited.why_nobody_acts_for",)
    prune_rules = "offers.invited.PRUNE_RULES"
    prune_tasks = ("documents.storage.forget_abandoned", "notices.services.forget_old")
    readings = ("applications.metrics.READING", "notices.metrics.READING")
    backup_parts = "documents.storage.BACKUP_PARTS"
    sandbox = ("sandbox_records.RECORDS",)
    tones = "review.queues.TONES"
    queues = (
        "review.queues.REVIEW",
        "review.queues.DOCUMENTS",
        "review.queues.COUNTEROFFERS",
        "review.queues.ANCHORS",
        "notices.admin.TO_TELL",
        "notices.admin.LOOK_AGAIN",
        "review.admin.QUEUE",
    )
    desks = ("desk.seats_of",)
    desk_rules = "desk.RULES"
    desk_permissions = "desk.PERMISSIONS"
    charts = "review.charts.CHARTS"
    person_lines = ("applications.admin.LINES",)
    facts = "scoring.known_facts.FACTS"

    def ready(self) -> None:
        from config.ops.checks import DOCTOR, START, register
        from credit.anchoring.record_keys import check_ledger_access, check_record_key
        from credit.documents import scanning, storage

        register(check_ledger_access, DOCTOR)
        register(storage.check_document_storage, DOCTOR)
        register(scanning.check_document_scanner, DOCTOR)
        if settings.SERVICE == "platform":
            register(check_record_key, DOCTOR, START)

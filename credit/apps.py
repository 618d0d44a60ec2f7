"""The app of this app."""

from django.apps import AppConfig
from django.conf import settings


class CreditConfig(AppConfig):
    name = "credit"

    def ready(self) -> None:
        from config.api import capabilities
        from config.backoffice.html import register_tones
        from config.ops import backup, demo, doctor, pruning, readings
        from credit import document_storage, events, machine, metrics, sandbox_records, scanning
        from credit.demo import seed
        from credit.facts import register_facts
        from credit.models import RequestedDocument

        events.register_types()
        register_facts()
        register_tones(
            good=[
                machine.APPROVED,
                "active",
                "anchored",
                RequestedDocument.ACCEPTED,
                "approve",
                "champion",
                "published",
                "added",
            ],
            bad=[machine.REJECTED, "decline", "removed"],
            wait=[machine.SUBMITTED, machine.UNDER_REVIEW, "pending", "refer", "challenger"],
            ask=[machine.PENDING_DOCUMENTS, RequestedDocument.RECEIVED, "changed"],
        )
        demo.register(seed)
        for name in ("applications", "catalog", "documents", "offers", "quotes", "scoring"):
            capabilities.register(name)
        capabilities.register("decision_proofs", enabled=lambda: settings.ANCHOR_DECISIONS)
        pruning.register_task(document_storage.forget_abandoned)
        sandbox_records.register()
        backup.parts["documents"] = backup.Part(document_storage.describe_storage, document_storage.missing_files)
        doctor.register("document_storage", document_storage.check_storage)
        doctor.register("document_scanner", scanning.check_scanner)
        readings.register(self.get_model("Application"), metrics.measure)

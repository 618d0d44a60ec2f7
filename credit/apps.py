"""The app of this app."""

from django.apps import AppConfig


class CreditConfig(AppConfig):
    name = "credit"

    def ready(self) -> None:
        from config.backoffice.html import register_tones
        from config.ops import demo, readings
        from credit import events, machine, metrics
        from credit.demo import seed
        from credit.models import RequestedDocument

        events.register_types()
        register_tones(
            good=[machine.APPROVED, "active", "anchored", RequestedDocument.ACCEPTED],
            bad=[machine.REJECTED],
            wait=[machine.SUBMITTED, machine.UNDER_REVIEW, "pending"],
            ask=[machine.PENDING_DOCUMENTS, RequestedDocument.RECEIVED],
        )
        demo.register(seed)
        readings.register(self.get_model("Application"), metrics.measure)

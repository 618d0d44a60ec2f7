from functools import partial

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    name = "payments"

    def ready(self) -> None:
        from config.api import capabilities
        from config.backoffice.html import register_tones
        from config.ops import demo, readings
        from payments import events, metrics, sandbox_records
        from payments.cards import models as cards
        from payments.crypto import machine as crypto
        from payments.demo import seed

        events.register_types()
        register_tones(
            good=[cards.COMPLETED, crypto.CONFIRMED],
            bad=[cards.FAILED, crypto.FAILED],
            wait=[cards.PENDING, cards.PROCESSING, crypto.SUBMITTED],
            ask=[cards.UNKNOWN, crypto.AWAITING_SIGNATURE],
        )
        demo.register(seed)
        sandbox_records.register()
        for name, provider in (
            ("payments", "CARD_PROCESSOR"),
            ("crypto_payments", "SETTLEMENT_RPC_URL"),
            ("wallets", "CUSTODY"),
        ):
            capabilities.register(name, enabled=partial(capabilities.is_provided, provider))
        readings.register(self.get_model("Payment"), metrics.measure)

"""The app of this app."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    name = "payments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from config.backoffice.html import register_tones
        from config.ops import demo, pruning, readings
        from payments import events, metrics
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
        readings.register(self.get_model("Payment"), metrics.measure)
        pruning.keeps(self.get_model("Payment"), "money moved, or did not")
        pruning.keeps(self.get_model("PaymentAttempt"), "a story that only grows")
        pruning.keeps(self.get_model("ProcessorEvent"), "a story that only grows")
        pruning.keeps(self.get_model("SandboxCharge"), "the sandbox's memory")
        pruning.keeps(self.get_model("PaymentMethod"), "until its owner removes it")
        pruning.keeps(self.get_model("CustodyAccount"), "holds what is somebody's")
        pruning.keeps(self.get_model("Wallet"), "a disconnected one is named by payments")
        pruning.keeps(self.get_model("CryptoPayment"), "money moved, or did not")
        pruning.keeps(self.get_model("CryptoTransaction"), "a story that only grows")
        pruning.keeps(self.get_model("CryptoPaymentHistory"), "a story that only grows")

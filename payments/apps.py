from django.apps import AppConfig

from config.core.registration import Declarations


class PaymentsConfig(Declarations, AppConfig):
    name = "payments"

    personal_data = "privacy.TABLES"
    event_types = "events.FAMILIES"
    capabilities = {"payments": "CARD_PROCESSOR", "crypto_payments": "SETTLEMENT_RPC_URL", "wallets": "CUSTODY"}
    demo = ("demo.seed",)
    failed_item_models = {
        "crypto_payment": "payments.cryptopayment",
        "payment": "payments.payment",
        "processor_event": "payments.processorevent",
    }
    readings = ("metrics.READING",)
    sandbox_timers = "sandbox_records.TIMERS"
    sandbox_workers = ("sandbox_records.settle",)
    erasure_grounds = "in_flight.GROUNDS"
    account_not_closed = ("in_flight.why_not_closed",)
    tones = "console.TONES"
    queues = ("console.QUEUE",)
    person_lines = ("console.LINES",)
    timeline_sources = ("console.payments_of",)

from django.apps import AppConfig

from config.core.registration import Declarations


class PaymentsConfig(Declarations, AppConfig):
    name = "payments"

    event_types = "events.FAMILIES"
    capabilities = {"payments": "CARD_PROCESSOR", "crypto_payments": "SETTLEMENT_RPC_URL", "wallets": "CUSTODY"}
    demo = ("demo.seed",)
    readings = ("metrics.READING",)
    sandbox = ("sandbox_records.RECORDS",)
    account_not_closed = ("on_its_way.why_not_closed",)
    tones = "cards.admin.TONES"
    queues = ("cards.admin.QUEUE",)
    person_lines = ("cards.admin.LINES",)
    timeline_sources = ("cards.admin.payments_of",)

from django.apps import AppConfig
from django.conf import settings

from config.core.registration import Declarations


class MailConfig(Declarations, AppConfig):
    name = "config.mail"
    label = "mail"
    verbose_name = "Mail"

    personal_data = "privacy.TABLES"
    erasure_steps = ("erasure.erase_mails",)
    export_parts = ("erasure.mails_to",)
    blind_indexes = ("erasure.index_recipients",)
    prune_rules = "delivery.PRUNE_RULES"
    readings = ("metrics.READING",)

    def ready(self) -> None:
        from config.mail.delivery import check_mail
        from config.ops.checks import DOCTOR, register

        if settings.SERVICE != "ledger":  # the ledger sends no mail
            register(check_mail, DOCTOR)

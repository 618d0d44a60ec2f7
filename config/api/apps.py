from django.apps import AppConfig
from django.core.signals import got_request_exception

from config.core.registration import Declarations


class ApiConfig(Declarations, AppConfig):
    name = "config.api"
    label = "api"
    verbose_name = "Interface"

    personal_data = "privacy.TABLES"

    def ready(self) -> None:
        from config.api.errors import log_unhandled

        got_request_exception.connect(log_unhandled, dispatch_uid="log-unhandled")

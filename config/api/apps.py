from django.apps import AppConfig
from django.core.signals import got_request_exception


class ApiConfig(AppConfig):
    name = "config.api"
    label = "api"
    verbose_name = "Interface"

    def ready(self) -> None:
        from config.api.errors import log_unhandled

        got_request_exception.connect(log_unhandled, dispatch_uid="log-unhandled")

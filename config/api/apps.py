"""The app that owns the shared tables: idempotency records and rate counters."""

from django.apps import AppConfig
from django.core.signals import got_request_exception


class ApiConfig(AppConfig):
    """Registers the shared tables under the label `api`."""

    name = "config.api"
    label = "api"
    verbose_name = "API"

    def ready(self) -> None:
        from config.api.errors import log_unhandled

        got_request_exception.connect(log_unhandled, dispatch_uid="log-unhandled")

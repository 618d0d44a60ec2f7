from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class BackOfficeConfig(AppConfig):
    name = "config.backoffice"
    label = "backoffice"
    verbose_name = "Back office"

    def ready(self) -> None:
        from config.backoffice.html import register_tones
        from config.webhooks import models as webhooks

        register_tones(
            good=["confirmed", webhooks.DELIVERED, webhooks.ENABLED],
            bad=["void", webhooks.FAILED, webhooks.DISABLED],
            wait=["open", webhooks.PENDING],
        )


class BackOfficeAdminConfig(AdminConfig):
    default_site = "config.backoffice.site.BackOfficeSite"

    def ready(self) -> None:
        super().ready()
        from config.backoffice import audit, webhooks  # noqa: F401  registers them

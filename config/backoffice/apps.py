"""The app of the back office, and the admin that runs on its site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class BackOfficeConfig(AppConfig):
    """Registers the back office's templates, style sheet and models."""

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
    """Django's admin, with `admin.site` being ours: apps register with it as usual."""

    default_site = "config.backoffice.site.BackOfficeSite"

    def ready(self) -> None:
        """Register the apps' pages, and those of the webhooks, which stand below the back office."""
        super().ready()
        from config.backoffice import webhooks  # noqa: F401  registers them

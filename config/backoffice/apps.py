"""The app of the back office, and the admin that runs on its site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class BackOfficeConfig(AppConfig):
    """Registers the back office's templates, style sheet and models."""

    name = "config.backoffice"
    label = "backoffice"
    verbose_name = "Back office"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.admin.models import LogEntry

        from config.backoffice.html import register_tones
        from config.ops import pruning
        from config.webhooks import models as webhooks

        register_tones(
            good=["confirmed", webhooks.DELIVERED, webhooks.ENABLED],
            bad=["void", webhooks.FAILED, webhooks.DISABLED],
            wait=["open", webhooks.PENDING],
        )
        pruning.keeps(self.get_model("DataAccess"), "evidence of who saw whose data")
        pruning.keeps(self.get_model("Proposal"), "evidence of who proposed a decision")
        pruning.keeps(self.get_model("Assignment"), "ends with the work")
        pruning.keeps(self.get_model("Authenticator"), "until it is reset")
        pruning.keeps(LogEntry, "evidence of who did what")


class BackOfficeAdminConfig(AdminConfig):
    """Django's admin, with `admin.site` being ours: apps register with it as usual."""

    default_site = "config.backoffice.site.BackOfficeSite"

    def ready(self) -> None:
        """Register the apps' pages, and those of the webhooks, which stand below the back office."""
        super().ready()
        from config.backoffice import webhooks  # noqa: F401  registers them

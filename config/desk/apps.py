"""The app of the desk, and the admin that runs on its site."""

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.apps import AdminConfig


class DeskConfig(AppConfig):
    """Registers the desk's templates, style sheet and models."""

    name = "config.desk"
    label = "desk"
    verbose_name = "Desk"
    default_auto_field = "django.db.models.BigAutoField"


class DeskAdminConfig(AdminConfig):
    """Django's admin, with `admin.site` being ours: rooms register with it as usual.

    Under DESK_ON_DEMAND, which `config/wsgi.py` sets, a room's pages are loaded by the first request for the desk
    (`config/desk/urls.py`): a process that answers API calls alone never pays for them.
    """

    default_site = "config.desk.site.DeskSite"

    def ready(self) -> None:
        """Load every room's pages, unless the first request is to do that."""
        if not settings.DESK_ON_DEMAND:
            super().ready()

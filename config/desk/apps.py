"""The app of the desk, and the admin that runs on its site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class DeskConfig(AppConfig):
    """Registers the desk's templates, style sheet and models."""

    name = "config.desk"
    label = "desk"
    verbose_name = "Desk"
    default_auto_field = "django.db.models.BigAutoField"


class DeskAdminConfig(AdminConfig):
    """Django's admin, with `admin.site` being ours: rooms register with it as usual."""

    default_site = "config.desk.site.DeskSite"

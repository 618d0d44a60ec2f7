from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig

from config.core.registration import Declarations


class BackOfficeConfig(Declarations, AppConfig):
    name = "config.backoffice"
    label = "backoffice"
    verbose_name = "Back office"

    personal_data = "privacy.TABLES"
    tones = "html.TONES"
    queues = "admin.QUEUES"
    desk_rules = "desks.RULES"
    desk_permissions = "desks.PERMISSIONS"


class BackOfficeAdminConfig(AdminConfig):
    default_site = "config.backoffice.site.BackOfficeSite"

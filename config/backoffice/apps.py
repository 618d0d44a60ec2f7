from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig

from config.core.registration import Declarations


class BackOfficeConfig(Declarations, AppConfig):
    name = "config.backoffice"
    label = "backoffice"
    verbose_name = "Back office"

    personal_data = "privacy.TABLES"
    export_parts = ("notes_about.notes_about",)
    erasure_steps = ("notes_about.erase_texts",)
    tones = "html.TONES"
    console_pages = "site.PAGES"
    queues = "admin.QUEUES"
    console_rules = "consoles.RULES"
    console_permissions = "consoles.PERMISSIONS"

    def ready(self) -> None:
        from django.contrib.admin.models import LogEntry
        from django.db.models.signals import post_save

        from config.backoffice.audited import audit_entry

        post_save.connect(audit_entry, sender=LogEntry, dispatch_uid="audit-back-office")


class BackOfficeAdminConfig(AdminConfig):
    default_site = "config.backoffice.site.BackOfficeSite"

from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from config.backoffice.bases import HistoryAdmin
from config.backoffice.html import record_link
from config.backoffice.lists import among
from credit.core.machine import MACHINE
from credit.models import ApplicationHistory, ApplicationRevision


@admin.register(ApplicationHistory)
class ApplicationHistoryAdmin(HistoryAdmin):
    about = "application"
    list_display = ("when", "application_link", "transition", "changed_by", "principal", "credential", "reason")
    list_filter = (("status", among(MACHINE.statuses)),)

    @admin.display(description="application")
    def application_link(self, record: Any) -> SafeString | str:
        return record_link("credit_application", record.application_id, f"…{str(record.application_id)[-12:]}")


@admin.register(ApplicationRevision)
class ApplicationRevisionAdmin(HistoryAdmin):
    about = "application"
    list_display = ("when", "application_id", "status", "sha256", "updated_by", "principal", "credential")
    list_defer = ("changes",)
    # Not `changes`: personal data is shown on the application's own page, to those who may see it.
    fields = (
        "application",
        "status",
        "sha256",
        "applicants_sha256",
        "updated_by",
        "changed_at",
        "principal",
        "credential",
    )

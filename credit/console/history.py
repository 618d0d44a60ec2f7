from django.contrib import admin

from config.backoffice.bases import HistoryAdmin
from config.backoffice.html import column, record_link
from config.backoffice.lists import among
from credit.core.machine import MACHINE
from credit.models import ApplicationHistory, ApplicationRevision


@admin.register(ApplicationHistory)
class ApplicationHistoryAdmin(HistoryAdmin):
    about = "application"
    list_display = ("when", "application_link", "transition", "changed_by", "principal", "credential", "reason")
    list_filter = (("status", among(MACHINE.statuses)),)

    application_link = column(
        lambda pk: record_link("credit_application", pk, f"…{str(pk)[-12:]}"), "application_id", "application"
    )


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

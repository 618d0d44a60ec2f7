"""The back office of this app: what tells an application's story, offers, providers and their members."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.backoffice.admin import HistoryAdmin, ReadOnlyAdmin
from config.backoffice.html import chip, column, document, record_link, table, words
from config.backoffice.lists import among
from credit.machine import MACHINE
from credit.models import ApplicationHistory, ApplicationRevision, DecisionAnchor, Offer, Provider, ProviderMember


@admin.register(ApplicationHistory)
class ApplicationHistoryAdmin(HistoryAdmin):
    list_display = ("when", "application_link", "transition", "changed_by", "principal", "credential", "reason")
    list_filter = (("status", among(MACHINE.statuses)),)

    application_link = column(
        lambda pk: record_link("credit_application", pk, f"…{str(pk)[-12:]}"), "application_id", "application"
    )


@admin.register(ApplicationRevision)
class ApplicationRevisionAdmin(HistoryAdmin):
    list_display = ("when", "application_id", "status", "sha256", "updated_by", "principal", "credential")
    list_defer = ("changes",)
    # Not `changes`: personal data is seen on the application's own page, by whoever may.
    fields = ("application", "status", "sha256", "updated_by", "changed_at", "principal", "credential")


@admin.register(DecisionAnchor)
class DecisionAnchorAdmin(ReadOnlyAdmin):
    """Decisions, acceptances and published scoring models on their way into the ledger, newest first."""

    list_display = ("record_sha256", "report_type", "state", "application_id", "attempts", "block_number", "last_error")
    list_filter = (("anchored_at", admin.EmptyFieldListFilter),)
    list_defer = ("proof", "proof_file")
    ordering = ("-id",)
    fields = (
        "record_sha256", "report_type", "state", "application_id", "record", "due_at", "attempts", "last_error",
        "anchored_at", "block_number", "proof_document", "proof_file",
    )  # fmt: skip

    state = column(lambda at: chip("anchored" if at else "pending"), "anchored_at", "state")
    proof_document = column(document, "proof", "proof")


@admin.register(Offer)
class OfferAdmin(ReadOnlyAdmin):
    """Offers; their owners change them through the API, which counts versions."""

    list_display = ("name", "state", "product_type", "provider_id", "owner", "version", "updated_at")
    list_filter = ("is_active",)
    list_select_related = ("owner",)
    search_fields = ("name", "=provider__id")
    search_help_text = "Part of a name, or a provider's id"
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("id", "state", "name", "description", "product_type", "provider", "owner", "version")}),
        ("Terms", {"fields": ("terms",)}),
        ("When", {"fields": ("created_at", "updated_at")}),
    )

    state = column(
        lambda is_active: chip("active" if is_active else "inactive"), "is_active", "state", ordering="is_active"
    )

    @admin.display(description="terms")
    def terms(self, record: Offer) -> SafeString | str:
        shown = {"name", "description", "product_type", "provider_id"}
        return table(
            (words(name), value) for name, value in record.terms().items() if value is not None and name not in shown
        )


def may_change_members(request: HttpRequest, provider: Provider | None) -> bool:
    """Say whether this person decides who acts for a provider: its owner, or a superuser.

    A member reviews applications, so no permission to look after providers is enough for making oneself one.
    """
    is_owner = provider is not None and provider.owner_id == request.user.pk
    return is_owner or bool(getattr(request.user, "is_superuser", False))


class ProviderMemberInline(admin.StackedInline):  # type: ignore[type-arg]
    """Who acts for a provider; whoever sees the provider sees them."""

    model = ProviderMember
    autocomplete_fields = ("user",)
    extra = 0
    verbose_name = "member"
    verbose_name_plural = "members: may make offers under this id and review its applications"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return bool(request.user.has_perm("credit.view_provider"))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_change_members(request, obj)

    has_change_permission = has_delete_permission = has_add_permission


@admin.register(Provider)
class ProviderAdmin(ReadOnlyAdmin):
    """Providers; their members are added and removed here, by the provider's owner or a superuser."""

    list_display = ("id", "owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("=id", "owner__username")
    search_help_text = "A provider's id, or its owner's user name"
    ordering = ("-created_at",)
    fields = readonly_fields = ("id", "owner", "created_at")
    inlines = (ProviderMemberInline,)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let whoever decides about members save the page, on which nothing else can be edited."""
        return may_change_members(request, obj)

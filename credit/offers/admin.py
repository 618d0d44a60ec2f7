from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.backoffice.bases import ReadOnlyAdmin
from config.backoffice.html import chip, column, table, words
from credit.models import Offer, Provider, ProviderMember
from credit.requirements.profile import title_of


def in_brief(terms: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return terms that are set by their names in words; of a schema, the titles of its members."""
    shown = {**terms}
    if schema := shown.get("application_schema"):
        shown["application_schema"] = [title_of(name, member) for name, member in schema["properties"].items()]
    return [(words(name), value) for name, value in shown.items() if value not in (None, "")]


@admin.register(Offer)
class OfferAdmin(ReadOnlyAdmin):
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
        return table(in_brief({name: value for name, value in record.terms().items() if name not in shown}))


def may_change_members(request: HttpRequest, provider: Provider | None) -> bool:
    """Say whether this person decides who acts for a provider: its owner, or a superuser.

    A member reviews applications, so no permission to look after providers is enough for making oneself one.
    """
    is_owner = provider is not None and provider.owner_id == request.user.pk
    return is_owner or bool(getattr(request.user, "is_superuser", False))


class ProviderMemberInline(admin.StackedInline):  # type: ignore[type-arg]
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

    list_display = ("id", "name", "owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("=id", "name", "owner__username")
    search_help_text = "A provider's id, part of its name, or its owner's user name"
    ordering = ("-created_at",)
    fields = readonly_fields = ("id", "name", "address", "owner", "created_at")
    inlines = (ProviderMemberInline,)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let whoever decides about members save the page, on which nothing else can be edited."""
        return may_change_members(request, obj)

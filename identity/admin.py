"""Admin pages of accounts and groups."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from config.backoffice import people
from config.backoffice.bases import ReadOnlyAdmin, RecordAction
from config.backoffice.consoles import may
from config.backoffice.forms import ExplainedForm
from config.backoffice.html import NOTHING
from config.backoffice.site import ConsolePage
from config.backoffice.transitions import actor_of
from config.core.ids import parse_positive_int64
from config.core.names import clean_words
from identity.access import admin as access_admin
from identity.access.second_factor import has_one
from identity.accounts import admin as accounts_admin
from identity.accounts.names import check_of_operator, is_generated
from identity.accounts.support import remove_second_factors
from identity.bank import admin as bank_admin
from identity.kyc import admin as kyc_admin
from identity.models import User
from identity.oidc.services import unlink

# Django imports only this module of an app. Each package has a separate admin module.
__all__ = ["access_admin", "accounts_admin", "bank_admin", "kyc_admin"]

EDIT = "edit"  # the query parameter of the edit form


def _forget_device(request: HttpRequest, person: Any, form: ExplainedForm) -> str:
    remove_second_factors(person, by=actor_of(request), reason=form.cleaned_data["reason"], now=timezone.now())
    return "The owner must add a new second factor at the next log-in."


def _unlink(request: HttpRequest, person: Any, form: ExplainedForm) -> str:
    unlink(person, by=actor_of(request), reason=form.cleaned_data["reason"], now=timezone.now())
    return "The owner's next log-in with single sign-on requires a new invitation."


class _OperatorUserName:
    """Validate the names that an operator enters. An unchanged user name is always valid, even if it is old."""

    def clean_first_name(self) -> str:
        return self._clean_words("first_name")

    def clean_last_name(self) -> str:
        return self._clean_words("last_name")

    def _clean_words(self, field: str) -> str:
        form: Any = self
        text: str = form.cleaned_data[field]
        try:
            return clean_words(text) if text else ""
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def clean_username(self) -> str:
        form: Any = self
        name: str = form.cleaned_data["username"]
        if name != form.instance.username:
            check_of_operator(name, form.instance)
        return name


class PersonForm(_OperatorUserName, UserChangeForm):  # type: ignore[type-arg]
    pass


class NewPersonForm(_OperatorUserName, AdminUserCreationForm):  # type: ignore[type-arg]
    pass


@admin.register(User)
class UserAdmin(ReadOnlyAdmin, DjangoUserAdmin):  # type: ignore[type-arg]
    list_title = "People"
    list_display = ("username", "id", "email", "is_active", "is_staff", "group_names", "last_login")
    list_filter = ("is_staff", "is_active", "groups")
    search_fields = ("=id", "username__istartswith", "email__iexact")
    search_help_text = (
        "An account's id; the beginning of a user name; an email address; whole words of an applicant's name; a phone"
        " number"
    )
    ordering = ("-id",)
    filter_horizontal = ()
    change_form_template = "identity/backoffice_person.html"
    form, add_form = PersonForm, NewPersonForm
    readonly_fields = ("last_login", "date_joined")
    is_about_people = True
    export_columns = (
        "id", "username", "email", "first_name", "last_name", "is_active", "is_staff", "date_joined", "last_login",
    )  # fmt: skip
    record_actions = (
        *accounts_admin.HELP,
        RecordAction(
            name="unlink-issuer",
            label="Unlink single sign-on",
            permission="identity.delete_staffidentity",
            run=_unlink,
            form=ExplainedForm,
            refusal=lambda person: (
                "" if person.staff_identities.exists() else "The account is not linked to single sign-on."
            ),
            consequences=lambda _person: [
                "This ends the owner's single sign-on sessions.",
                "The next log-in with single sign-on requires a new invitation.",
            ],
        ),
        RecordAction(
            name="reset-second-factor",
            label="Reset second factor",
            permission="mfa.delete_authenticator",
            run=_forget_device,
            form=ExplainedForm,
            refusal=lambda person: "" if has_one(person) else "The account has no second factor to reset.",
            consequences=lambda _person: [
                "The owner's authenticator stops working.",
                "The next log-in requires a new authenticator: verify that the request comes from the account's owner.",
            ],
        ),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        matching_rows, has_duplicates = super().get_search_results(request, queryset, search_term)
        if search_term.strip():
            account_ids = people.find_people(search_term, request.user)
            matching_rows |= queryset.filter(pk__in=account_ids)
            match = request.resolver_match
            if account_ids and match is not None and match.url_name == "identity_user_changelist":
                messages.info(request, "The search also found accounts by a name, an email address, or a phone number.")
        return matching_rows, has_duplicates

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Hide the password from staff who have only view permission."""
        if obj is None:
            return super().get_fieldsets(request, obj)
        if self.has_change_permission(request, obj):
            return [
                (None, {"fields": ("username", "password")}),
                ("Person", {"fields": ("first_name", "last_name", "email")}),
                ("At the back office", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
                ("When", {"fields": ("last_login", "date_joined")}),
            ]
        return []  # the summary of the page contains the fields

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Display groups as checkboxes."""
        if db_field.name == "groups":
            options["widget"] = forms.CheckboxSelectMultiple
        return super().formfield_for_manytomany(db_field, request, **options)

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        people = User.objects.filter(pk__in=[pk for pk in ids if parse_positive_int64(pk)])
        return {str(pk): name for pk, name in people.values_list("pk", "username")}

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description="groups")
    def group_names(self, record: Any) -> SafeString | str:
        return ", ".join(map(str, record.groups.all())) or NOTHING

    # Staff with permission can add and edit accounts. Accounts can't be deleted, because records refer to them.
    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return DjangoUserAdmin.has_add_permission(self, request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Show a read-only summary of the account by default. The query parameter EDIT opens the form."""
        summary = request.method == "GET" and self.is_record_page(request) and EDIT not in request.GET
        return DjangoUserAdmin.has_change_permission(self, request, obj) and not summary

    def page_of(self, request: HttpRequest, record: User) -> dict[str, Any]:
        facts, reads_log_ins = accounts_admin.facts_about(record), may(request.user, "identity.view_accounthistory")
        if reads_log_ins:
            facts.append(("Second factor", "On" if has_one(record) else "None"))
        page = {
            **super().page_of(request, record),
            "title": self.title_of(record),
            "known": [*facts, *people.lines_about(record.pk, viewer=request.user)],
            "tables": people.tables_about(record.pk, viewer=request.user),
        }
        if reads_log_ins:
            page["tables"] += [accounts_admin.mails_to(record), accounts_admin.sessions_of(record)]
            page["timeline"] = accounts_admin.events_about(record)
        if DjangoUserAdmin.has_change_permission(self, request, record):
            page["edit_address"] = f"?{EDIT}=1"
        return page

    def title_of(self, record: User) -> str:
        """Return the name and the user name. A generated user name is omitted if there is a name or an address."""
        name, username = record.get_full_name(), record.get_username()
        if is_generated(username):
            return name or record.email or username
        return " · ".join(filter(None, (name, username)))

    def actions_of(self, request: HttpRequest, record: User) -> list[RecordAction]:
        actions = super().actions_of(request, record)
        may_help = accounts_admin.may_help(request.user, record)
        return [action for action in actions if may_help or action not in accounts_admin.HELP]

    def subject_of(self, record: User) -> int:
        return record.pk


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(ReadOnlyAdmin):
    """The groups of staff. Migrations grant the permissions of groups. The page of an account shows its groups."""

    list_display = ("name", "members")
    ordering = ("name",)
    fields = ("name", "members", "may")

    @admin.display(description="members")
    def members(self, record: Any) -> SafeString | str:
        return str(record.user_set.count())

    @admin.display(description="may")
    def may(self, record: Group) -> SafeString | str:
        permissions = record.permissions.select_related("content_type").order_by("content_type__app_label", "name")
        lines = [(f"{permission.content_type.app_label}: {permission.name}",) for permission in permissions]
        return format_html_join(mark_safe("<br>"), "{}", lines) or NOTHING


PAGES = (
    ConsolePage("identity.user", "People", 20),
    ConsolePage("identity.accounthistory", "Audit", 62, tab="Account history"),
    ConsolePage("identity.apikey", "", 80),
)

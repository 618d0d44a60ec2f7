"""Admin pages of accounts and their credentials. A page shows a secret only once."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from config.backoffice import people
from config.backoffice.bases import ReadOnlyAdmin, RecordAction, SeenForm, show_secret
from config.backoffice.consoles import may
from config.backoffice.html import NOTHING, chip, code, column, document, record_link, time_in_words
from config.backoffice.lists import ConditionFilter
from config.backoffice.queues import Queue
from config.backoffice.records import NamedRecords
from config.backoffice.site import ConsolePage
from config.backoffice.transitions import actor_of
from config.core.ids import parse_positive_int64
from config.core.log_in import gave_second_factor
from config.core.names import clean_words
from identity.access.keys import offer_successor, revoke_api_key, rotate_api_key
from identity.accounts import admin as accounts_admin
from identity.accounts.names import check_of_operator
from identity.bank import admin as bank_admin
from identity.kyc import admin as kyc_admin
from identity.models import ApiKey, OAuthClient, SigningKey, User
from identity.oidc.services import unlink

# Django imports only this module of an app. Each package has a separate admin module.
__all__ = ["accounts_admin", "bank_admin", "kyc_admin"]

EXPIRING_DAYS = 14
EDIT = "edit"  # the query parameter of the edit form


def _forget_device(_request: HttpRequest, person: Any, _form: SeenForm) -> str:
    person.authenticator_set.all().delete()
    return f"{person} must add a new second factor at the next log-in."


def _unlink(request: HttpRequest, person: Any, _form: SeenForm) -> str:
    unlink(person, by=actor_of(request), now=timezone.now())
    return f"The next log-in of {person} with single sign-on requires a new invitation."


class _OperatorsName:
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


class PersonForm(_OperatorsName, UserChangeForm):  # type: ignore[type-arg]
    pass


class NewPersonForm(_OperatorsName, AdminUserCreationForm):  # type: ignore[type-arg]
    pass


@admin.register(User)
class UserAdmin(ReadOnlyAdmin, DjangoUserAdmin):  # type: ignore[type-arg]
    list_title = "People"
    list_display = ("username", "id", "email", "is_active", "is_staff", "group_names", "last_login")
    list_filter = ("is_staff", "is_active", "groups")
    search_fields = ("username__istartswith", "email__iexact")
    search_help_text = (
        "The beginning of a user name or an e-mail address; an applicant's name, e-mail address, or phone number"
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
            refusal=lambda person: (
                "" if person.staff_identities.exists() else "The account is not linked to single sign-on."
            ),
            consequences=lambda person: [
                f"This ends the single sign-on sessions of {person}.",
                "The next log-in with single sign-on requires a new invitation.",
            ],
        ),
        RecordAction(
            name="reset-second-factor",
            label="Reset second factor",
            permission="mfa.delete_authenticator",
            run=_forget_device,
            refusal=lambda person: (
                "" if person.authenticator_set.exists() else "The account has no second factor to reset."
            ),
            consequences=lambda person: [
                f"The authenticator of {person} stops working.",
                "The next log-in requires a new authenticator: verify that the request comes from the account's owner.",
            ],
        ),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        matching_rows, has_duplicates = super().get_search_results(request, queryset, search_term)
        if search_term.strip():
            found = people.find_people(search_term, request.user)
            matching_rows |= queryset.filter(pk__in=found)
            match = request.resolver_match
            if found and match is not None and match.url_name == "identity_user_changelist":
                messages.info(request, "The search also found accounts by data of their applications.")
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
        return [
            (None, {"fields": ("username", "id", "email", "first_name", "last_name", "is_active")}),
            ("At the back office", {"fields": ("is_staff", "is_superuser", "group_names")}),
            ("When", {"fields": ("last_login", "date_joined", "credentials_changed_at")}),
        ]

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
        page = {**super().page_of(request, record), "known": people.lines_about(record.pk, viewer=request.user)}
        if may(request.user, "identity.view_accounthistory"):
            page["timeline"] = accounts_admin.events_about(record)
        if DjangoUserAdmin.has_change_permission(self, request, record):
            page["edit_address"] = f"?{EDIT}=1"
        return page

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


def _live(*conditions: Q) -> Q:
    return Q(*conditions, revoked_at__isnull=True, expires_at__gt=timezone.now())


def _expiring() -> QuerySet[ApiKey]:
    """Return the keys that expire soon, for the queue and the filter."""
    now = timezone.now()
    return ApiKey.objects.usable_at(now).filter(expires_at__lte=now + timedelta(days=EXPIRING_DAYS))


class KeyStateFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {
        "active": ("Active", lambda _request: _live(Q(collect_grace_days__isnull=True))),
        "expiring": (f"Expiring within {EXPIRING_DAYS} days", lambda _request: Q(pk__in=_expiring())),
        "to_collect": ("Not collected yet", lambda _request: _live(Q(collect_grace_days__isnull=False))),
        "expired": ("Expired", lambda _request: Q(revoked_at__isnull=True, expires_at__lte=timezone.now())),
        "revoked": ("Revoked", Q(revoked_at__isnull=False)),
    }


QUEUE = Queue(
    name="keys",
    title=f"API keys expiring within {EXPIRING_DAYS} days",
    permission="identity.change_apikey",
    rows=lambda _user: _expiring(),
    waiting_since="expires_at",
    ends=True,
    address="/admin/identity/apikey/?state=expiring",
    calm="No keys expire soon.",
    rank=70,
)


class RotateForm(SeenForm):
    grace_days = forms.IntegerField(
        min_value=0, max_value=90, initial=7, help_text="How many days the old key still works: 0 to 90."
    )


def _rotate(request: HttpRequest, key: ApiKey, form: RotateForm) -> HttpResponse | str:
    """Create a successor of a key. If another user owns the key, the owner must collect the successor."""
    grace_days = form.cleaned_data["grace_days"]
    if key.owner_id != request.user.pk:
        fresh = offer_successor(key, now=timezone.now(), grace_days=grace_days)
        return f"The new key {_public_id(fresh)} waits for {_name_of_owner(fresh)}. {_collection_of(fresh)}"
    issued = rotate_api_key(
        key, now=timezone.now(), grace=timedelta(days=grace_days), second_factor=gave_second_factor(request)
    )
    return show_secret(
        request,
        issued.record,
        title="The new API key",
        secrets={"Key": issued.key, "Signing secret": issued.secret},
        note="Store these now. This page displays them only once.",
    )


def _public_id(key: ApiKey) -> str:
    return f"{settings.API_KEY_PREFIX}{key.pk}"


def _name_of_owner(key: ApiKey) -> str:
    return f"its owner “{key.owner.get_username()}”"


def _collection_of(key: ApiKey) -> str:
    """Describe who collects a key that waits, where, by when, and the effect on the key that it replaces."""
    return (
        f"Only the owner can collect it, once, with the button “Collect” on the page {reverse('developers_keys')}, or "
        f"with the API, by {time_in_words(key.expires_at)}. The old key then works for {key.collect_grace_days} more "
        "days, but not past its expiry."
    )


def _waiting_successor(key: ApiKey) -> ApiKey | None:
    waiting = key.replaced_by.filter(collect_grace_days__isnull=False, revoked_at=None, expires_at__gt=timezone.now())
    return waiting.select_related("owner").defer("secret").first()


def _revoke(_request: HttpRequest, key: ApiKey, _form: SeenForm) -> str:
    revoke_api_key(key, now=timezone.now())
    return f"API key {key} is revoked."


def _key_state(key: ApiKey) -> str:
    return f"{key.revoked_at}:{key.expires_at}:{key.replaced_by.count()}"


def _is_revoked(key: ApiKey) -> str:
    return "The key is already revoked." if key.revoked_at else ""


def _why_not_rotated(key: ApiKey) -> str:
    if key.collect_grace_days is not None and not key.revoked_at:
        return "The owner has not collected this key. To create another key, revoke this key."
    return _is_revoked(key)


@admin.register(ApiKey)
class ApiKeyAdmin(NamedRecords):
    list_display = ("__str__", "state", "owner", "fingerprint", "expires_at", "last_used_at", "created_at")
    list_filter = (KeyStateFilter,)
    list_select_related = ("owner",)
    list_defer = ("secret",)
    search_fields = ("=id", "owner__username__startswith")
    search_help_text = "A key's public id, words of its name, or the beginning of its owner's user name"
    fields = (
        "public_id", "state", "name", "owner", "fingerprint", "scope_list", "created_at", "expires_at", "last_used_at",
        "revoked_at", "replaces", "collect_grace_days",
    )  # fmt: skip
    record_actions = (
        RecordAction(
            name="rotate",
            label="Rotate",
            permission="identity.change_apikey",
            run=_rotate,
            form=RotateForm,
            refusal=_why_not_rotated,
            seen=_key_state,
            consequences=lambda key: [
                f"This creates a key with the same name and scopes for {key.owner}. It expires after 90 days.",
                f"Only {key.owner} can see the key and its secret. If that is you, the next page displays them.",
                f"Otherwise, the owner collects the key once, on the page {reverse('developers_keys')} or with the API.",
                (
                    "The old key works until the owner collects the new key, and then for the chosen"
                    " days. It never works past its expiry."
                ),
                "The owner gets the event api_key.rotated.",
            ],
        ),
        RecordAction(
            name="revoke",
            label="Revoke",
            permission="identity.change_apikey",
            run=_revoke,
            refusal=_is_revoked,
            seen=_key_state,
            consequences=lambda key: [
                f"Requests of {key.owner.get_username()} with this key are rejected within 5 seconds.",
                "This can't be undone. To replace the key without a gap, rotate it instead.",
                "The owner gets the event api_key.revoked.",
            ],
        ),
    )

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        return {key.pk: str(key) for key in ApiKey.objects.filter(pk__in=ids).only("pk", "name")}

    def search_by_name(self, term: str) -> Q | None:
        """Return the filter for a key's public id with its prefix."""
        prefix, public_id = settings.API_KEY_PREFIX, term.removeprefix(settings.API_KEY_PREFIX).rstrip("…")
        return Q(pk=public_id) if term.startswith(prefix) else None

    def notices_of(self, record: ApiKey) -> list[str]:
        if record.state == "to_collect":
            return [f"This key waits for {_name_of_owner(record)}. {_collection_of(record)}"]
        fresh = _waiting_successor(record)
        if fresh is None:
            return []
        successor = record_link("identity_apikey", fresh.pk, _public_id(fresh))
        about = f"waits for {_name_of_owner(fresh)}. {_collection_of(fresh)}"
        return [format_html("The new key {} {}", successor, about)]

    state = column(chip, "state", "state")
    fingerprint = column(code, "fingerprint", "fingerprint")

    @admin.display(description="id")
    def public_id(self, record: Any) -> SafeString | str:
        return code(_public_id(record))

    @admin.display(description="scopes")
    def scope_list(self, record: Any) -> SafeString | str:
        return "all permissions of its owner" if record.scopes is None else ", ".join(record.scopes) or "nothing"


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyAdmin):
    list_display = ("kid", "state", "created_at", "retires_at")
    list_defer = ("private_key",)
    fields = ("kid", "state", "created_at", "retires_at", "public_half")

    public_half = column(document, "public_jwk", "public key")

    @admin.display(description="state")
    def state(self, record: SigningKey) -> SafeString:
        retired = record.retires_at is not None and record.retires_at <= timezone.now()
        return chip("retired" if retired else "active" if record.retires_at is None else "retiring")


@admin.register(OAuthClient)
class OAuthClientAdmin(NamedRecords):
    """OAuth clients, with their redirect URIs and scopes, but without secrets."""

    list_display = ("name", "client_id", "client_type", "created")
    list_filter = ("client_type",)
    search_fields = ("=client_id",)
    search_help_text = "Words of a name, or a client's id"
    ordering = ("-id",)
    fields = ("name", "client_id", "client_type", "redirect_uris", "scopes", "created", "updated")


def _keys_of(person_id: int, viewer: Any) -> list[tuple[str, Any]]:
    if not may(viewer, "identity.view_user"):
        return []
    usable = ApiKey.objects.usable_at(timezone.now()).filter(owner_id=person_id).count()
    return [("Active API keys", str(usable))]


LINES = people.Lines(_keys_of)

PAGES = (
    ConsolePage("identity.user", "People", 20),
    ConsolePage("identity.accounthistory", "Audit", 62, tab="Account history"),
    ConsolePage("identity.apikey", "", 80),
)

"""Admin pages of API keys, signing keys, and OAuth clients. A page shows a secret only once."""

import re
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.bases import ReadOnlyAdmin, RecordAction, SeenForm, show_secret
from config.backoffice.consoles import may
from config.backoffice.html import chip, code, column, document, record_link, time_in_words
from config.backoffice.lists import ConditionFilter
from config.backoffice.queues import Queue
from config.backoffice.records import NamedRecords
from config.backoffice.transitions import actor_of
from config.core.log_in import gave_second_factor
from identity.access.keys import offer_successor, revoke_api_key, rotate_api_key
from identity.access.models import AccountHistory, ApiKey, OAuthClient, SigningKey

EXPIRING_DAYS = 14
_PUBLIC_ID = re.compile(r"[0-9A-Za-z]{12}", re.ASCII)


def _live(*conditions: Q) -> Q:
    return Q(*conditions, revoked_at__isnull=True, expires_at__gt=timezone.now())


def _expiring() -> QuerySet[ApiKey]:
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
        min_value=0, max_value=90, initial=7, help_text="The number of days for which the old key still works: 0 to 90."
    )


def _rotate(request: HttpRequest, key: ApiKey, form: RotateForm) -> HttpResponse | str:
    """Create a successor of a key. If another user owns the key, the owner must collect the successor."""
    grace_days, now = form.cleaned_data["grace_days"], timezone.now()
    if key.owner_id != request.user.pk:
        with transaction.atomic():
            fresh = offer_successor(key, now=now, grace_days=grace_days)
            _note(request, "api_key.rotated", fresh, details={"replaces": key.pk})
        return f"The new key {_public_id(fresh)} waits for {_name_of_owner(fresh)}. {_collection_of(fresh)}"
    with transaction.atomic():
        issued = rotate_api_key(
            key, now=now, grace=timedelta(days=grace_days), second_factor=gave_second_factor(request)
        )
        _note(request, "api_key.rotated", issued.record, details={"replaces": key.pk})
    return show_secret(
        request,
        issued.record,
        title="The new API key",
        secrets={"Key": issued.key, "Signing secret": issued.secret},
        note="Store these now. This page displays them only once.",
    )


def _note(request: HttpRequest, action: str, key: ApiKey, *, details: Any = None) -> None:
    """Write an entry in the account history of the key's owner."""
    about = {"account_id": key.owner_id, "object_id": key.pk, "details": details}
    AccountHistory.note(action, actor_of(request), now=timezone.now(), **about)


def _public_id(key: ApiKey) -> str:
    return f"{settings.API_KEY_PREFIX}{key.pk}"


def _name_of_owner(key: ApiKey) -> str:
    return f"its owner “{key.owner.get_username()}”"


def _collection_of(key: ApiKey) -> str:
    """Describe how and by when the owner can collect a key, and how long the old key remains valid."""
    return (
        f"Only the owner can collect it, once, with the button “Collect” on the page {reverse('developers_keys')}, or "
        f"with the API, by {time_in_words(key.expires_at)}. The old key then works for {key.collect_grace_days} more "
        "days, but not past its expiry."
    )


def _waiting_successor(key: ApiKey) -> ApiKey | None:
    waiting = key.replaced_by.filter(collect_grace_days__isnull=False, revoked_at=None, expires_at__gt=timezone.now())
    return waiting.select_related("owner").defer("secret").first()


def _revoke(request: HttpRequest, key: ApiKey, _form: SeenForm) -> str:
    with transaction.atomic():
        revoke_api_key(key, now=timezone.now())
        _note(request, "api_key.revoked", key)
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
                f"Otherwise, the owner collects the key once, on {reverse('developers_keys')} or with the API.",
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
        """Return the filter for a key's public id, with its prefix or without it, as in the API."""
        public_id = term.removeprefix(settings.API_KEY_PREFIX).rstrip("…")
        return Q(pk=public_id) if public_id != term or _PUBLIC_ID.fullmatch(term) else None

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
    """OAuth clients, without their secrets."""

    list_display = ("name", "client_id", "client_type", "created")
    list_filter = ("client_type",)
    search_fields = ("=client_id",)
    search_help_text = "Words of a name, or a client's id"
    ordering = ("-id",)
    fields = ("name", "client_id", "client_type", "redirect_uris", "scopes", "created", "updated")


def keys_of(person_id: int, viewer: Any) -> list[tuple[str, Any]]:
    if not may(viewer, "identity.view_user"):
        return []
    usable = ApiKey.objects.usable_at(timezone.now()).filter(owner_id=person_id).count()
    return [("Active API keys", str(usable))]

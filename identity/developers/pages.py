from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone

from config.api.serializers import RequestSerializer
from config.core.errors import ValidationFailed
from config.ops.request_log import groups_of
from config.webhooks.endpoints import endpoints_of
from identity.access import keys
from identity.access.keys import DEFAULT_DAYS, IssuedKey, collect_api_key
from identity.access.models import OAuthClient
from identity.access.scopes import SCOPES
from identity.access.serializers import EXPIRES_MAX_DAYS, ApiKeyRequestSerializer, KeyRotationRequestSerializer
from identity.developers.base import (
    DeveloperPage,
    actor_on,
    credential_of,
    moment_text,
    offset_in,
    page_of,
    parse_number,
    show_secrets,
)
from identity.oauth import clients
from identity.oauth.clients import clients_of
from identity.oauth.serializers import OAuthClientChangeRequestSerializer, OAuthClientRequestSerializer


class Overview(DeveloperPage):
    template_name = "developers/overview.html"

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        person: Any = request.user
        now = timezone.now()
        usable = keys.keys_of(person).usable_at(now)
        groups = groups_of(person.pk, now=now)
        webhooks = endpoints_of(credential_of(request))
        return {
            "keys": usable.count(),
            "clients": clients_of(person).count(),
            "webhooks": webhooks.count(),
            "failing": webhooks.enabled().filter(failing_since__isnull=False).count(),
            "requests": sum(group["number"] for group in groups),
            "errors": [group for group in groups if group["status"] >= 400][:5],
            "base_url": settings.BASE_URL,
            "is_production": settings.PRODUCTION,
        }


class KeysPage(DeveloperPage):
    template_name = "developers/keys.html"
    buttons = ("make", "rotate", "revoke", "collect", "confirm")

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        own, older = page_of(keys.with_successors(keys.keys_of(request.user)), offset_in(request))
        return {
            "keys": own, "older": older, "scopes": SCOPES, "days": DEFAULT_DAYS, "days_max": EXPIRES_MAX_DAYS,
            "grace_max": keys.GRACE_MAX_DAYS, "chosen": request.POST.getlist("scopes"),
        }  # fmt: skip

    def make(self, request: HttpRequest) -> HttpResponse:
        form = request.POST
        days = parse_number(form.get("expires_days", ""))
        scopes = None if form.get("reach") == "all" else form.getlist("scopes")
        fields = {"name": form.get("name", ""), "expires_days": days, "scopes": scopes}
        body = _read_with(_conflict_of_scopes(form), ApiKeyRequestSerializer, fields)
        return _show_key(request, keys.create_own_key(actor_on(request), **body, now=timezone.now()))

    def rotate(self, request: HttpRequest) -> HttpResponse:
        body = KeyRotationRequestSerializer.read({"grace_days": parse_number(request.POST.get("grace_days", ""))})
        key_id, now = request.POST.get("key_id", ""), timezone.now()
        return _show_key(request, keys.rotate_own_key(actor_on(request), key_id, **body, now=now))

    def collect(self, request: HttpRequest) -> HttpResponse:
        """Collect a key that an operator rotated, like `POST /v1/auth/keys/{key_id}/collect`."""
        identifier = request.POST.get("key_id", "")
        return _show_key(request, collect_api_key(actor_on(request), identifier=identifier, now=timezone.now()))

    def confirm(self, request: HttpRequest) -> str:
        keys.confirm_own_key(actor_on(request), request.POST.get("key_id", ""), now=timezone.now())
        return "The key was confirmed. It works again."

    def revoke(self, request: HttpRequest) -> str:
        keys.revoke_own_key(actor_on(request), request.POST.get("key_id", ""), now=timezone.now())
        return "The key was revoked. Requests with it are rejected within 5 s."


def _conflict_of_scopes(form: QueryDict) -> str:
    """Return an error message if the selected scopes and the kind of key conflict, otherwise an empty string."""
    if form.get("reach") != "all":
        return "" if form.getlist("scopes") else "Check at least one scope, or choose “Unrestricted”."
    if form.getlist("scopes"):
        return "The key would have all your rights. Choose “Only the selected scopes”, or clear them."
    return ""


def _read_with(conflict: str, serializer: type[RequestSerializer], fields: dict[str, Any]) -> dict[str, Any]:
    """Validate a form. Raises ValidationFailed for all invalid fields, and for a `conflict` of the scopes."""
    refused = ValidationFailed.of_member("scopes", conflict) if conflict else None
    try:
        body = serializer.read(fields)
    except ValidationFailed as error:
        details = [*(refused.details if refused else ()), *error.details]
        raise ValidationFailed(str(error), details=details) from error
    if refused:
        raise refused
    return body


def _show_key(request: HttpRequest, issued: IssuedKey) -> HttpResponse:
    secrets: dict[str, str | None] = {"Key": issued.key, "Secret, for signed requests": issued.secret}
    facts = {
        "command": f"curl {settings.BASE_URL}/auth/me -H 'X-API-Key: {issued.key}'",
        "ends_at": moment_text(issued.record.expires_at),
        "old_ends_at": issued.old_expires_at and moment_text(issued.old_expires_at),
        "key_scopes": issued.record.scopes,
        "back": reverse("developers_keys"),
    }
    return show_secrets(request, f"The key “{issued.record.name}”", secrets, **facts)


def _client_fields(request: HttpRequest) -> dict[str, Any]:
    form = request.POST
    return {
        "name": form.get("name", ""),
        "redirect_uris": form.get("redirect_uris", "").split(),
        "scopes": form.getlist("scopes"),
    }


def _show_client(request: HttpRequest, client: OAuthClient) -> HttpResponse:
    secrets = {"Client id": client.client_id, "Client secret": client.plain_secret}
    client_page = reverse("developers_client", args=[client.client_id])
    facts = {"back": reverse("developers_clients"), "client_page": client_page}
    return show_secrets(request, f"The client “{client.name}”", secrets, **facts)


def _consent_url(client: OAuthClient) -> str:
    """Return the address of the consent page for all scopes of the client.

    Public clients must add their PKCE challenge to the address.
    """
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.addresses[0],
        "scope": " ".join(client.scopes),
        "state": "example",
    }
    if client.is_public:
        query |= {"code_challenge_method": "S256"}
    return f"{settings.APP_URL}/oauth/authorize?{urlencode(query, quote_via=quote)}"


class ClientsPage(DeveloperPage):
    template_name = "developers/clients.html"
    buttons = ("make",)

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        own = clients.clients_of(request.user)
        return {"clients": own[: clients.CLIENTS_MAX], "scopes": SCOPES, "chosen": request.POST.getlist("scopes")}

    def make(self, request: HttpRequest) -> HttpResponse:
        body = OAuthClientRequestSerializer.read(
            {**_client_fields(request), "public": request.POST.get("public") == "yes"}
        )
        return _show_client(request, clients.create_own_client(actor_on(request), **body, now=timezone.now()))


class ClientPage(DeveloperPage):
    template_name = "developers/client.html"
    tab = "developers_clients"
    buttons = ("change", "rotate", "remove")

    def facts(self, request: HttpRequest, **parts: str) -> dict[str, Any]:
        client = clients.load_own_client(request.user, parts["client_id"])
        was_sent = request.POST.get("do") == "change"
        return {
            "client": client,
            "scopes": SCOPES,
            "chosen": request.POST.getlist("scopes") if was_sent else client.scopes,
            "name": request.POST.get("name") if was_sent else client.name,
            "addresses": request.POST.get("redirect_uris") if was_sent else client.redirect_uris,
            "consent_url": _consent_url(client),
            "token_url": f"{settings.BASE_URL}/oauth/token",
        }

    def change(self, request: HttpRequest, client_id: str) -> str:
        changes = OAuthClientChangeRequestSerializer.read(_client_fields(request))
        clients.change_own_client(actor_on(request), client_id, changes=changes, now=timezone.now())
        return "The client was changed."

    def rotate(self, request: HttpRequest, client_id: str) -> HttpResponse:
        return _show_client(request, clients.rotate_own_secret(actor_on(request), client_id, now=timezone.now()))

    def remove(self, request: HttpRequest, client_id: str) -> HttpResponse:
        clients.delete_own_client(actor_on(request), client_id, now=timezone.now())
        messages.success(request, "The client was deleted, and all grants to it were revoked.")
        return HttpResponseRedirect(reverse("developers_clients"))

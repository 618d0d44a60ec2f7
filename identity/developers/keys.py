from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from identity.access import own_keys
from identity.access.keys import DEFAULT_DAYS, IssuedKey, collect_api_key
from identity.access.scopes import SCOPES
from identity.access.serializers import (
    EXPIRES_MAX_DAYS,
    ApiKeyRequestSerializer,
    KeyRotationRequestSerializer,
)
from identity.developers.base import DeveloperPage, actor_on, offset_in, page_of, show_secrets, whole


class KeysPage(DeveloperPage):
    template_name = "developers/keys.html"
    buttons = ("make", "rotate", "revoke", "collect", "confirm")

    def facts(self, request: HttpRequest, **_parts: str) -> dict[str, Any]:
        keys, older = page_of(own_keys.keys_of(request.user), offset_in(request))
        return {
            "keys": keys, "older": older, "scopes": SCOPES, "days": DEFAULT_DAYS, "days_max": EXPIRES_MAX_DAYS,
            "grace_max": own_keys.GRACE_MAX_DAYS, "chosen": request.POST.getlist("scopes"),
        }  # fmt: skip

    def make(self, request: HttpRequest) -> HttpResponse:
        given = request.POST
        asked: dict[str, Any] = {"name": given.get("name", ""), "expires_days": whole(given.get("expires_days", ""))}
        asked["scopes"] = None if given.get("reach") == "all" else given.getlist("scopes")
        body = ApiKeyRequestSerializer.read(asked)
        return _shown(request, own_keys.create_own_key(actor_on(request), **body, now=timezone.now()))

    def rotate(self, request: HttpRequest) -> HttpResponse:
        body = KeyRotationRequestSerializer.read({"grace_days": whole(request.POST.get("grace_days", ""))})
        key_id, now = request.POST.get("key_id", ""), timezone.now()
        return _shown(request, own_keys.rotate_own_key(actor_on(request), key_id, **body, now=now))

    def collect(self, request: HttpRequest) -> HttpResponse:
        """Show a key that operations rotated, as `POST /v1/auth/keys/{key_id}/collect` does."""
        identifier = request.POST.get("key_id", "")
        return _shown(request, collect_api_key(actor_on(request), identifier=identifier, now=timezone.now()))

    def confirm(self, request: HttpRequest) -> str:
        own_keys.confirm_own_key(actor_on(request), request.POST.get("key_id", ""), now=timezone.now())
        return "The key is confirmed: it works again."

    def revoke(self, request: HttpRequest) -> str:
        own_keys.revoke_own_key(actor_on(request), request.POST.get("key_id", ""), now=timezone.now())
        return "The key is revoked: requests with it are refused within five seconds."


def _shown(request: HttpRequest, issued: IssuedKey) -> HttpResponse:
    secrets: dict[str, str | None] = {"Key": issued.key, "Secret, for signed requests": issued.secret}
    facts = {"issued": issued, "try_it": f"{settings.BASE_URL}/auth/me", "back": "developers_keys"}
    return show_secrets(request, f"The key “{issued.record.name}”", secrets, **facts)

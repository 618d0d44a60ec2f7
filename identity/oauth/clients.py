"""Manage OAuth clients, which operators create or accounts register for themselves."""

import secrets
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.core import checks
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from oauth2_provider.scopes import BaseScopes

from config.core.errors import NotFound, ValidationFailed
from config.core.ids import first_or, queryable
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.names import NameTaken, check_keys, clean_name, save_named
from config.core.redirect_uris import URI, can_be_opened
from config.webhooks.endpoints import disable_each
from config.webhooks.events import record_event
from config.webhooks.models import BY_OWNER
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, OAuthClient, TokenFamily, User, is_loopback
from identity.access.scopes import SCOPES
from identity.access.second_factor import require_second_factor

CLIENTS_MAX = 20  # the maximum number of an account's clients


class ClientScopes(BaseScopes):  # type: ignore[misc]
    def get_all_scopes(self) -> dict[str, str]:
        return SCOPES

    def get_available_scopes(self, application: Any = None, *_args: Any, **_options: Any) -> list[str]:
        return [scope for scope in application.scopes if scope in SCOPES] if application is not None else []

    def get_default_scopes(self, application: Any = None, *_args: Any, **_options: Any) -> list[str]:
        # If a request has no scopes, the first read scope is the default (RFC 6749, 3.3).
        available = self.get_available_scopes(application)
        return [scope for scope in SCOPES if scope.endswith(":read") and scope in available][:1]


def create_client(
    *, name: str, redirect_uris: list[str], scopes: list[str], public: bool, owner: User | None = None
) -> tuple[OAuthClient, str | None]:
    """Create a client.

    Return the client with its secret (None for a public client). Raises ValidationError and NameTaken.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise ValidationError(f"Unknown scope: {', '.join(unknown) or 'none given'}. Known: {', '.join(SCOPES)}.")
    for address in redirect_uris:
        check_redirect(address)
    try:
        name = clean_name(name)
    except ValueError as error:
        raise ValidationError(str(error)) from error
    secret = None if public else new_secret()
    client = OAuthClient(
        name=name,
        user=owner,
        redirect_uris=" ".join(redirect_uris),
        scopes=in_order(scopes),
        client_type=OAuthClient.CLIENT_PUBLIC if public else OAuthClient.CLIENT_CONFIDENTIAL,
        authorization_grant_type=OAuthClient.GRANT_AUTHORIZATION_CODE,
        client_secret=secret or "",
    )
    client.full_clean(exclude=["client_secret", "name_key", "user"])
    save_named(client)
    return client, secret


def new_secret() -> str:
    return secrets.token_urlsafe(48)


def in_order(scopes: list[str]) -> list[str]:
    return sorted(set(scopes), key=list(SCOPES).index)


def check_client_names(**_options: Any) -> list[checks.CheckMessage]:
    """Report OAuth clients with similar names. In version 1.0, concurrent requests could create them."""
    return check_keys(OAuthClient.objects.all())


def check_redirect(address: str) -> None:
    """Raise ValidationError for a redirect URI that is neither https nor http on the loopback interface (RFC 8252)."""
    if not URI.fullmatch(address):
        raise ValidationError(
            f"{address} must contain only the characters of RFC 3986, without a fragment. Percent-encode others."
        )
    if not can_be_opened(address):
        raise ValidationError(f"{address} must be a URI with a host that browsers can open.")
    parts = urlsplit(address)
    is_allowed = bool(parts.scheme == "https" and parts.hostname) or is_loopback(address)
    if not is_allowed or "@" in parts.netloc or "*" in address:
        raise ValidationError(
            f"{address} must begin with https://, or with http:// and 127.0.0.1, [::1] or localhost. It must not "
            "contain a user name or a wildcard."
        )


def clients_of(owner: Any) -> QuerySet[OAuthClient]:
    own: QuerySet[OAuthClient] = OAuthClient.objects.filter(user=owner).order_by("-id")
    return own


def create_own_client(actor: Actor, *, now: datetime, **facts: Any) -> OAuthClient:
    """Create a client. Raises SecondFactorRequired, and ValidationFailed for invalid fields or too many clients."""
    require_second_factor(actor)
    _check_redirects(facts)
    with transaction.atomic():
        # Lock the account for an exact count.
        User.objects.select_for_update(no_key=True).only("pk").get(pk=actor.user.pk)
        if clients_of(actor.user).count() >= CLIENTS_MAX:
            raise ValidationFailed(f"An account has at most {CLIENTS_MAX} OAuth clients.")
        try:
            client, secret = create_client(owner=actor.user, **facts)
        except NameTaken as error:
            raise _name_refusal() from error
        except ValidationError as refusal:
            raise ValidationFailed("; ".join(refusal.messages)) from refusal
        _note_change("created", client, actor, now)
    client.plain_secret = secret
    return client


def change_own_client(actor: Actor, client_id: str, *, changes: dict[str, Any], now: datetime) -> OAuthClient:
    """Change the name, redirect URIs, or scopes of a client. Existing consents don't change.

    Raises SecondFactorRequired, NotFound, and ValidationFailed.
    """
    require_second_factor(actor)
    with transaction.atomic():
        client = load_own_client(actor.user, client_id, locked=True)
        _check_redirects(changes)
        is_renamed = changes.get("name", client.name) != client.name
        if "redirect_uris" in changes:
            client.redirect_uris = " ".join(changes["redirect_uris"])
        if "scopes" in changes:
            client.scopes = in_order(changes["scopes"])
        if is_renamed:
            client.name = changes["name"]
            try:
                save_named(client, update_fields=["name", "name_key"])
            except NameTaken as error:
                raise _name_refusal() from error
        client.save(update_fields=["redirect_uris", "scopes", "updated"])
        _note_change("changed", client, actor, now)
    return client


def rotate_own_secret(actor: Actor, client_id: str, *, now: datetime) -> OAuthClient:
    """Set a new secret for a client. The previous secret becomes invalid immediately.

    Raises SecondFactorRequired and NotFound. Raises RecordNotEditable for a public client, which has no secret.
    """
    require_second_factor(actor)
    with transaction.atomic():
        client = load_own_client(actor.user, client_id, locked=True)
        if client.client_type == OAuthClient.CLIENT_PUBLIC:
            raise RecordNotEditable("A public client has no secret. It authenticates with PKCE.")
        client.client_secret = client.plain_secret = new_secret()
        client.save(update_fields=["client_secret", "updated"])
        _note_change("secret_rotated", client, actor, now)
    return client


def delete_own_client(actor: Actor, client_id: str, *, now: datetime) -> None:
    """Delete a client and revoke all access that users granted to it. Raises SecondFactorRequired and NotFound."""
    require_second_factor(actor)
    with transaction.atomic():
        client = load_own_client(actor.user, client_id, locked=True)
        disable_each(BY_OWNER, client_id=client.client_id, now=now)
        TokenFamily.objects.filter(client=client).revoke(now=now)
        _note_change("deleted", client, actor, now)
        client.delete()
    forget_credentials()


def load_own_client(owner: Any, client_id: str, *, locked: bool = False) -> OAuthClient:
    own = clients_of(owner).select_for_update() if locked else clients_of(owner)
    return first_or(own.filter(client_id=queryable(client_id)), NotFound("OAuth client not found."))


def _check_redirects(facts: dict[str, Any]) -> None:
    """Raise ValidationFailed for an invalid redirect URI, with the URI's index."""
    for position, address in enumerate(facts.get("redirect_uris", ())):
        try:
            check_redirect(address)
        except ValidationError as refusal:
            raise ValidationFailed.of_member(f"redirect_uris.{position}", "; ".join(refusal.messages)) from refusal


def _name_refusal() -> ValidationFailed:
    return ValidationFailed.of_member("name", "Must not look like the name of another client. Choose another name.")


def _note_change(verb: str, client: OAuthClient, actor: Actor, now: datetime) -> None:
    details = {"name": client.name, "redirect_uris": client.redirect_uris.split(), "scopes": client.scopes}
    AccountHistory.note(f"oauth_client.{verb}", actor, now=now, object_id=client.client_id, details=details)
    record_event(f"oauth_client.{verb}", account_id=actor.user.pk, now=now, client_id=client.client_id)

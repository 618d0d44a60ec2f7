"""OAuth clients that a logged-in account registers for itself over the API (`clients.py` does the work)."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from config.core.errors import NotFound, ValidationFailed
from config.core.ids import askable, first_or
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.names import NameTaken, save_named
from config.webhooks.endpoints import disable_of_client
from config.webhooks.events import record_event
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, OAuthClient, User
from identity.access.second_factor import require_second_factor
from identity.oauth.clients import check_redirect, create_client, in_order, new_secret

CLIENTS_MAX = 20  # per account


def clients_of(owner: Any) -> QuerySet[OAuthClient]:
    own: QuerySet[OAuthClient] = OAuthClient.objects.filter(user=owner).order_by("-id")
    return own


def create_own_client(actor: Actor, *, now: datetime, **facts: Any) -> OAuthClient:
    """Raises SecondFactorRequired, ValidationFailed for what is not fit, or when the account has CLIENTS_MAX."""
    require_second_factor(actor)
    _check(facts)
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).only("pk").get(pk=actor.user.pk)  # which makes the number exact
        if clients_of(actor.user).count() >= CLIENTS_MAX:
            raise ValidationFailed(f"An account has at most {CLIENTS_MAX} OAuth clients.")
        try:
            client, secret = create_client(owner=actor.user, **facts)
        except NameTaken as error:
            raise _name_refusal() from error
        except ValidationError as refusal:
            raise ValidationFailed("; ".join(refusal.messages)) from refusal
        _note("created", client, actor, now)
    client.plain_secret = secret
    return client


def change_own_client(actor: Actor, client_id: str, *, changes: dict[str, Any], now: datetime) -> OAuthClient:
    """Change `name`, `redirect_uris` or `scopes`; what people have consented to stays as it was.

    Raises SecondFactorRequired, NotFound, ValidationFailed.
    """
    require_second_factor(actor)
    with transaction.atomic():
        client = load_own_client(actor.user, client_id, locked=True)
        _check(changes)
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
        _note("changed", client, actor, now)
    return client


def rotate_own_secret(actor: Actor, client_id: str, *, now: datetime) -> OAuthClient:
    """Give a client a new secret; the old one ends at once. Raises SecondFactorRequired, NotFound, RecordNotEditable
    for a public client, which has none.
    """
    require_second_factor(actor)
    with transaction.atomic():
        client = load_own_client(actor.user, client_id, locked=True)
        if client.client_type == OAuthClient.CLIENT_PUBLIC:
            raise RecordNotEditable("A public client keeps no secret: it proves itself with PKCE.")
        client.client_secret = client.plain_secret = new_secret()
        client.save(update_fields=["client_secret", "updated"])
        _note("secret_rotated", client, actor, now)
    return client


def delete_own_client(actor: Actor, client_id: str, *, now: datetime) -> None:
    """Remove a client with everything that people let it do. Raises SecondFactorRequired, NotFound."""
    require_second_factor(actor)
    with transaction.atomic():
        client = load_own_client(actor.user, client_id, locked=True)
        disable_of_client(client.client_id, now=now)
        _note("deleted", client, actor, now)
        client.delete()
    forget_credentials()


def load_own_client(owner: Any, client_id: str, *, locked: bool = False) -> OAuthClient:
    own = clients_of(owner).select_for_update() if locked else clients_of(owner)
    return first_or(own.filter(client_id=askable(client_id)), NotFound("OAuth client not found."))


def _check(facts: dict[str, Any]) -> None:
    """Raise ValidationFailed, with the pointer, for a redirect URI that is not allowed."""
    for position, address in enumerate(facts.get("redirect_uris", ())):
        try:
            check_redirect(address)
        except ValidationError as refusal:
            raise ValidationFailed.of_member(f"redirect_uris.{position}", "; ".join(refusal.messages)) from refusal


def _name_refusal() -> ValidationFailed:
    return ValidationFailed.of_member("name", "Must not look like the name of another client. Choose another name.")


def _note(verb: str, client: OAuthClient, actor: Actor, now: datetime) -> None:
    details = {"name": client.name, "redirect_uris": client.redirect_uris.split(), "scopes": client.scopes}
    AccountHistory.note(f"oauth_client.{verb}", actor, now=now, object_id=client.client_id, details=details)
    record_event(f"oauth_client.{verb}", account_id=actor.user.pk, now=now, client_id=client.client_id)

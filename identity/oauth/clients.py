import secrets
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from oauth2_provider.scopes import BaseScopes

from identity.access.scopes import SCOPES, reading
from identity.models import OAuthClient, User

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class ClientScopes(BaseScopes):  # type: ignore[misc]
    def get_all_scopes(self) -> dict[str, str]:
        return SCOPES

    def get_available_scopes(self, application: Any = None, *_args: Any, **_options: Any) -> list[str]:
        return list(application.scopes) if application is not None else []

    def get_default_scopes(self, application: Any = None, *_args: Any, **_options: Any) -> list[str]:
        # For a client that names none (RFC 6749, 3.3): the least that it may read, or nothing, which is refused.
        return reading(self.get_available_scopes(application))[:1]


def create_client(
    *, name: str, redirect_uris: list[str], scopes: list[str], public: bool, owner: User | None = None
) -> tuple[OAuthClient, str | None]:
    """Make a client; return it and its secret, shown this once (None: public). Raises ValidationError, NameTaken."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise ValidationError(f"Unknown scope: {', '.join(unknown) or 'none given'}. Known: {', '.join(SCOPES)}.")
    for address in redirect_uris:
        check_redirect(address)
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
    client.full_clean(exclude=["client_secret", "user"])
    client.save()
    return client, secret


def new_secret() -> str:
    return secrets.token_urlsafe(48)


def in_order(scopes: list[str]) -> list[str]:
    return sorted(set(scopes), key=list(SCOPES).index)


def is_taken(name: str) -> bool:
    """List the OAuth clients whose names look like another's: version 1.0 let two of them be made at once."""
    return bool(OAuthClient.objects.filter(name__iexact=name).exists())


def check_redirect(address: str) -> None:
    """Raise ValidationError unless a code may travel to this address: https, or this machine itself (RFC 8252)."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise ValidationError(f"{address} is no address.") from error
    if not address.isprintable() or " " in address:  # they are stored with a blank between them
        raise ValidationError(f"{address} is no address: it has a blank or another character that none has.")
    is_local = parts.scheme == "http" and (parts.hostname in _LOOPBACK or not settings.PRODUCTION)
    if (parts.scheme != "https" and not is_local) or not parts.hostname or parts.fragment or "*" in address:
        raise ValidationError(f"{address} is no https address (or http on the loopback) without a fragment.")

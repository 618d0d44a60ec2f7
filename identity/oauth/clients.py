import re
import secrets
from typing import Any
from urllib.parse import urlsplit

from django.core import checks
from django.core.exceptions import ValidationError
from oauth2_provider.scopes import BaseScopes

from config.core.names import check_keys, clean_name, save_named
from identity.access.models import OAuthClient, User, is_loopback
from identity.access.scopes import SCOPES, reading

_URI = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+", re.ASCII)  # RFC 3986, without a fragment


class ClientScopes(BaseScopes):  # type: ignore[misc]
    def get_all_scopes(self) -> dict[str, str]:
        return SCOPES

    def get_available_scopes(self, application: Any = None, *_args: Any, **_options: Any) -> list[str]:
        return [scope for scope in application.scopes if scope in SCOPES] if application is not None else []

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
    """List the OAuth clients whose names look like another's: version 1.0 let two of them be made at once."""
    return check_keys(OAuthClient.objects.all())


def check_redirect(address: str) -> None:
    """Raise ValidationError unless codes may be sent to this URI: https, or http on the loopback (RFC 8252)."""
    if not _URI.fullmatch(address):
        raise ValidationError(
            f"{address} must contain only the characters of RFC 3986, without a fragment. Percent-encode others."
        )
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise ValidationError(f"{address} is not a URI.") from error
    is_allowed = bool(parts.scheme == "https" and parts.hostname) or is_loopback(address)
    if not is_allowed or "@" in parts.netloc or "*" in address:
        raise ValidationError(
            f"{address} must begin with https://, or with http:// and 127.0.0.1, [::1] or localhost. It must not "
            "contain a user name or a wildcard."
        )

"""Read the settings of staff single sign-on at startup. Raises ImproperlyConfigured for invalid settings."""

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config import env as environment
from config.core.groups import OPERATIONS, REVIEWER, SUPPORT

_GROUPS = (REVIEWER, SUPPORT, OPERATIONS)


class Issuer(NamedTuple):
    """An OpenID Connect issuer, and the credentials of this installation's client."""

    url: str
    client_id: str
    client_secret: str


def check(issuer: Issuer | None, groups: dict[str, str], *, passwords: bool, break_glass: str) -> None:
    """Raise ImproperlyConfigured if settings contradict each other."""
    if issuer is None and groups:
        raise ImproperlyConfigured("STAFF_OIDC_GROUPS has no effect without STAFF_OIDC: set both or neither.")
    if issuer is not None and not groups:
        raise ImproperlyConfigured(
            "STAFF_OIDC requires STAFF_OIDC_GROUPS. Set it to issuer-group=Reviewer, joined by commas."
        )
    if issuer is None and not passwords:
        raise ImproperlyConfigured("STAFF_PASSWORDS=0 locks all staff out: set STAFF_OIDC as well.")
    if break_glass and passwords:
        raise ImproperlyConfigured("STAFF_BREAK_GLASS has no effect while staff have passwords: unset it.")


def issuer_at(name: str, *, https_only: bool) -> Issuer | None:
    """Parse an issuer from `https://client:secret@issuer/path`. Error messages never contain the value."""
    value = environment.secret_address(name, "https://client:secret@issuer.example/path", ("http", "https"))
    if not value:
        return None
    parts = urlsplit(value)
    if not parts.username or not parts.password:
        raise ImproperlyConfigured(f"{name} must contain client and secret: https://client:secret@issuer.example/path.")
    if parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name} must end with the issuer's path: remove the query and the fragment.")
    if https_only and parts.scheme != "https":
        raise ImproperlyConfigured(f"{name} must begin with https:// in production.")
    url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return Issuer(url, unquote(parts.username), unquote(parts.password))


def mapped_groups(name: str) -> dict[str, str]:
    groups: dict[str, str] = {}
    for member in environment.listing(name):
        external, is_pair, group = (part.strip() for part in member.rpartition("="))
        if not is_pair or not external:
            raise ImproperlyConfigured(f"{name} contains {member!r}. Write issuer-group=Reviewer, joined by commas.")
        if group not in _GROUPS:
            raise ImproperlyConfigured(f"{name} contains {group!r}, which must be one of {', '.join(_GROUPS)}.")
        if groups.setdefault(external, group) != group:
            raise ImproperlyConfigured(f"{name} maps {external!r} twice. Map each group of the issuer to one group.")
    return groups

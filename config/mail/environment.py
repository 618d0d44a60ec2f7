"""Read the mail settings from `EMAIL_URL`."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from config.env import text

SECONDS = 15  # the timeout for each response of the mail server
_SMTP = "django.core.mail.backends.smtp.EmailBackend"
_LOCAL = {"localhost", "127.0.0.1", "::1"}


def email_backend(name: str, *, default: str) -> tuple[str, dict[str, Any]]:
    """Return Django's mail backend and its options. If mail is disabled, the backend is an empty string.

    `smtps://` uses TLS, and `smtp://` uses STARTTLS. Only connections to the same machine may omit TLS, because mails
    contain log-in links. `backend:` selects any other Django backend and its options.
    """
    value = text(name, default)
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise _unreadable(name) from None
    if not value:
        return "", {}
    if value == "console:":
        return "config.mail.development.EmailBackend", {}
    if parts.scheme == "backend":
        try:
            import_string(parts.path)
        except ImportError as error:
            raise ImproperlyConfigured(f"{name} selects {parts.path!r}, which is not installed.") from error
        return parts.path, dict(parse_qsl(parts.query))
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname or parts.path not in {"", "/"} or parts.query:
        raise _unreadable(name)
    is_tls = parts.scheme == "smtps"
    return _SMTP, {
        "host": parts.hostname,
        "port": port or (465 if is_tls else 587),
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_ssl": is_tls,
        "use_tls": not is_tls and parts.hostname not in _LOCAL,
        "timeout": SECONDS,
    }


def _unreadable(name: str) -> ImproperlyConfigured:
    """Return an error without the setting's value, which may contain a password."""
    return ImproperlyConfigured(
        f"{name} must be a URL such as smtps://user:password@mail.example, smtp://mail.example:587 or console:."
    )

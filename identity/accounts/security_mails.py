"""Mails to the owner of an account about a change of its password, address, or second factor."""

from datetime import datetime

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from config.core.registration import declared
from config.core.time_zones import moment_in_words
from config.mail.outbox import queue_mail
from config.webhooks.models import BY_RESET, Endpoint
from identity.access.models import ApiKey, TokenFamily, User
from identity.accounts.browsers import browser_name

# This maps allauth's mails to the events of our template.
EVENTS = {
    "account/email/password_changed": "password_changed",
    "account/email/password_set": "password_set",
    "account/email/password_reset": "password_reset",
    "account/email/email_changed": "address_changed",
    "mfa/email/totp_activated": "app_added",
    "mfa/email/totp_deactivated": "app_removed",
    "mfa/email/webauthn_added": "passkey_added",
    "mfa/email/webauthn_removed": "passkey_removed",
    "mfa/email/recovery_codes_generated": "codes_created",
}


def mail_about_change(user: User, event: str, *, to: str, request: HttpRequest | None = None, now: datetime) -> None:
    """Queue a mail about `event`. The request supplies the name of the browser."""
    template, page, suspended = "account_changed", "account", {}
    if event == "password_reset":
        template, suspended = "password_reset", suspended_by_reset(user)
        page = "developers_keys" if suspended["has_keys"] else "account"
    facts = {
        **suspended,
        "event": event,
        "time": _time_of(user, now),
        "browser": browser_name(request.headers.get("User-Agent", "")) if request else "",
        "link": f"{settings.APP_URL}{reverse(page)}",
    }
    queue_mail(to, template, facts, now=now)


def suspended_by_reset(user: User) -> dict[str, bool]:
    """Return whether a password reset has suspended keys or webhooks, and whether apps have lost their access."""
    keys = ApiKey.objects.filter(owner=user, revoked_at__isnull=True, suspended_at__isnull=False)
    endpoints = Endpoint.objects.present().filter(account_id=user.pk, disabled_reason=BY_RESET)
    apps = TokenFamily.objects.filter(user=user, client__isnull=False)
    return {"has_keys": keys.exists() or endpoints.exists(), "has_apps": apps.exists()}


def _time_of(user: User, now: datetime) -> str:
    """Return the date and time in the account's time zone and the active language."""
    zone = next((tzinfo_of(user) for tzinfo_of in declared("account_time_zone")), None)
    return moment_in_words(now.astimezone(zone) if zone else now)

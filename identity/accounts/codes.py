"""Validate codes of second factors, enforce their single use, and store the session's second factor.

allauth stores passkeys, and authenticators that show a code for 30 s (TOTP, RFC 6238). allauth's own protection against
the reuse of a code is a cache, which processes don't share, and which expires before the code. So this module checks
the codes of the pages and the API. `recovery` contains the codes for a lost authenticator or passkey.
"""

import time
from base64 import b32decode
from collections.abc import Callable
from functools import cache
from typing import Any

from allauth.account.signals import password_reset
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_used
from allauth.usersessions.models import UserSession
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from config.core.credentials import SignatureReplayed
from config.core.encryption import FERNET, UnreadableSecret, mode, opened, seal
from config.core.lifecycle import Actor
from config.core.log_in import SECOND_FACTOR
from config.ops.rotation import Column
from config.webhooks.endpoints import disable_each
from config.webhooks.models import BY_RESET
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, ApiKey, TokenFamily
from identity.access.signatures import use_once
from identity.accounts import recovery, seeds

Type = Authenticator.Type
STEP_SECONDS = 30


def is_right(code: str, **user: Any) -> bool:
    """Check whether the authenticator shows this code now, or the code is a recovery code. Does not use the code."""
    code = recovery.normalise(code)
    return _app_showing(code, **user) is not None or recovery.find_code(code, **user).exists()


def use_code(user: Any, code: str) -> Authenticator | None:
    """Use a code. Returns the authenticator of the code, or None if the code is wrong or was used.

    For a recovery code, returns the account's first authenticator, because the code replaces a lost authenticator.
    """
    code = recovery.normalise(code)
    app = _app_showing(code, user=user)
    if app is not None:
        return app if spend(user, code) else None
    lost = Authenticator.objects.filter(user=user).order_by("pk").first()
    return lost if lost is not None and recovery.use_code(code, user) else None


def spend(user: Any, code: str) -> bool:
    """Store that a code of an authenticator was used. Returns False if it was used before."""
    try:
        use_once(f"code {recovery.normalise(code)} of user {user.pk}", idempotency_key=None)
    except SignatureReplayed:
        return False
    return True


def _app_showing(code: str, **user: Any) -> Authenticator | None:
    app = Authenticator.objects.filter(**user, type=Type.TOTP).first()
    secret = _dummy_secret(mode.read()) if app is None else app.data["secret"]  # for equal timing
    try:
        codes = codes_around(open_secret(secret, app.user_id if app else 0))
    except UnreadableSecret:
        return None  # the owner can add a new authenticator after `reset_second_factor`
    return app if any(constant_time_compare(code, shown_code) for shown_code in codes) else None


@cache
def _dummy_secret(_mode: str) -> str:
    """Return an encrypted dummy secret in the format of this mode."""
    return seal_secret("A" * 32, 0)


def place_of(user_id: int) -> str:
    """Return the associated data that binds the encrypted secret of an authenticator to its account."""
    return f"{Authenticator._meta.db_table}|data.secret|{user_id}|{Type.TOTP}"


def seal_secret(secret: str, user_id: int) -> str:
    return seal(secret.encode(), place_of(user_id)).decode()


def open_secret(encrypted: str, user_id: int) -> str:
    """Decrypt an authenticator's secret. Raises UnreadableSecret."""
    content = opened(encrypted.encode(), place_of(user_id), kind="a second factor", record_id=f"account {user_id}")
    return content.decode()


def codes_around(secret: str) -> list[str]:
    """Return the codes of the current and the adjacent 30 s steps, because clocks may differ by one step."""
    totp = TOTP(b32decode(secret), 6, SHA1(), STEP_SECONDS, enforce_key_length=False)  # noqa: S303  RFC 6238, section 1.2
    now = int(time.time())
    tolerance: int = settings.MFA_TOTP_TOLERANCE
    return [totp.generate(now + step * STEP_SECONDS).decode() for step in range(-tolerance, tolerance + 1)]


def _column(kind: str, member: str, *, of: str, place: Callable[[int], str]) -> Column:
    def write(authenticator: Authenticator, content: bytes) -> None:
        authenticator.data[member] = content.decode()
        authenticator.save(update_fields=["data"])

    return Column(
        kind=kind,
        rows=Authenticator.objects.filter(type=of, **{f"data__{member}__isnull": False}),
        unbound=lambda rows: rows.filter(**{f"data__{member}__startswith": FERNET.decode()}),
        place=lambda authenticator: place(authenticator.user_id),
        read=lambda authenticator: str(authenticator.data[member]).encode(),
        write=write,
    )


SECRETS = _column("a second factor", "secret", of=Type.TOTP, place=place_of)
SEEDS = _column("a seed of recovery codes", "seed", of=Type.RECOVERY_CODES, place=seeds.place_of)


@receiver([authenticator_added, authenticator_used], dispatch_uid="note-second-factor")
def _note_in_session(request: HttpRequest, authenticator: Authenticator, **_signal: Any) -> None:
    """Store the id of the second factor in the session. The id is valid only while the account has that factor."""
    request.session[SECOND_FACTOR] = authenticator.pk
    renew_session(request)


@receiver(password_reset, dispatch_uid="suspend-credentials")
def _suspend_credentials(user: Any, **_signal: Any) -> None:
    """Suspend keys and webhook endpoints, and revoke apps and log-ins, after a password reset by mail."""
    now = timezone.now()
    usable = ApiKey.objects.filter(owner=user, revoked_at__isnull=True, expires_at__gt=now, suspended_at__isnull=True)
    if usable.update(suspended_at=now):
        AccountHistory.note("api_key.suspended", Actor(user, "password_reset"), now=now)
    TokenFamily.objects.filter(user=user).revoke(now=now)
    disable_each(BY_RESET, account_id=user.pk, now=now)
    forget_credentials()


def renew_session(request: HttpRequest) -> None:
    """Change the session's id, so that a stolen id becomes invalid. A log-in changes the id automatically."""
    if request.user.is_authenticated:
        request.session.cycle_key()
        UserSession.objects.create_from_request(request)

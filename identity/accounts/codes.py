"""Codes of second factors: which are right, that each is good once, and that a session notes one.

allauth keeps an authenticator that shows a code of thirty seconds (TOTP, RFC 6238), and passkeys. Its own guard against
a code that is used twice is a cache, which processes do not share and which expires sooner than the code. So codes are
checked here, for pages and API alike. Codes for when both are lost are ours: `recovery`.
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
from config.webhooks.endpoints import disable_of_account
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, ApiKey, TokenFamily
from identity.access.signatures import use_once
from identity.accounts import recovery, seeds

Type = Authenticator.Type
STEP_SECONDS = 30


def is_right(code: str, **user: Any) -> bool:
    """Return whether the account's app shows this code now, or it is among its recovery codes. Nothing is used up."""
    code = recovery.normalise(code)
    return _app_showing(code, **user) is not None or recovery.find_code(code, **user).exists()


def use_code(user: Any, code: str) -> Authenticator | None:
    """Use a code up: return the authenticator that it is of, None when it is wrong or was used already.

    A recovery code stands for the authenticator or the passkey that was lost: the account's first.
    """
    code = recovery.normalise(code)
    app = _app_showing(code, user=user)
    if app is not None:
        return app if spend(user, code) else None
    lost = Authenticator.objects.filter(user=user).order_by("pk").first()
    return lost if lost is not None and recovery.use_code(code, user) else None


def spend(user: Any, code: str) -> bool:
    """Note that a code of an authenticator was used; False when it was before."""
    try:
        use_once(f"code {recovery.normalise(code)} of user {user.pk}", idempotency_key=None)
    except SignatureReplayed:
        return False
    return True


def _app_showing(code: str, **user: Any) -> Authenticator | None:
    app = Authenticator.objects.filter(**user, type=Type.TOTP).first()
    secret = _other_secret(mode.read()) if app is None else app.data["secret"]  # the same work without an app
    try:
        codes = codes_around(open_secret(secret, app.user_id if app else 0))
    except UnreadableSecret:
        return None  # `reset_second_factor` lets its owner add another
    return app if any(constant_time_compare(code, shown_code) for shown_code in codes) else None


@cache
def _other_secret(_mode: str) -> str:
    """Return a secret in the form that this mode writes."""
    return seal_secret("A" * 32, 0)


def place_of(user_id: int) -> str:
    """Return what the secret of an account's authenticator is bound to: an account has one."""
    return f"{Authenticator._meta.db_table}|data.secret|{user_id}|{Type.TOTP}"


def seal_secret(secret: str, user_id: int) -> str:
    return seal(secret.encode(), place_of(user_id)).decode()


def open_secret(encrypted: str, user_id: int) -> str:
    """Return an authenticator's secret; raises UnreadableSecret."""
    return opened(encrypted.encode(), place_of(user_id)).decode()


def codes_around(secret: str) -> list[str]:
    """Return the code of this half minute, and those of its neighbours: clocks may be one step apart."""
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
    """Note that this session has the second factor, as long as the account keeps that factor."""
    request.session[SECOND_FACTOR] = authenticator.pk
    renew_session(request)


@receiver(password_reset, dispatch_uid="suspend-credentials")
def _suspend_credentials(user: Any, **_signal: Any) -> None:
    """Suspend keys and webhook endpoints, and end what apps may do, after a password reset by mail."""
    now = timezone.now()
    usable = ApiKey.objects.filter(owner=user, revoked_at__isnull=True, expires_at__gt=now, suspended_at__isnull=True)
    if usable.update(suspended_at=now):
        AccountHistory.note("api_key.suspended", Actor(user, "password_reset"), now=now)
    TokenFamily.objects.filter(user=user).revoke(now=now)
    disable_of_account(user.pk, now=now)
    forget_credentials()


def renew_session(request: HttpRequest) -> None:
    """Change the session's id: an earlier reader of the old one loses access. Logging in does so by itself."""
    if request.user.is_authenticated:
        request.session.cycle_key()
        UserSession.objects.create_from_request(request)

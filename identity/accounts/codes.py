"""Codes of second factors: which are right, that each is good once, and that a session notes one.

allauth keeps it: an authenticator that shows a code of thirty seconds (TOTP, RFC 6238), passkeys, and codes to come in
with when both are lost. Its own guard against a code that is used twice is a cache, which processes do not share and
which forgets sooner than the code ends; so codes are looked at here, for pages and interface alike.
"""

import time
from base64 import b32decode
from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_reset, authenticator_used
from allauth.usersessions.models import UserSession
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from config.api.credentials import SignatureReplayed
from config.api.log_in import SECOND_FACTOR
from config.core.encryption import UnreadableSecret
from identity.access.signatures import use_once

Type = Authenticator.Type
_SECRETS = {Type.TOTP: "secret", Type.RECOVERY_CODES: "seed"}
STEP_SECONDS = 30


def find_showing(code: str, **user: Any) -> Any:
    """Return what of the account has this code now, an authenticator or its list of codes; None is nothing.

    Nothing is used up by asking.
    """
    kept = Authenticator.objects.filter(**user, type__in=_SECRETS)
    return next((one for one in kept if _has(one, code)), None)


def use_code(user: Any, code: str) -> Any:
    """Use a code up: return what it is of, None when it is wrong or was used already."""
    found = find_showing(code, user=user)
    if found is None:
        return None
    if found.type == Type.RECOVERY_CODES:
        return found if found.wrap().validate_code(code) else None
    return found if spend(user, code) else None


def spend(user: Any, code: str) -> bool:
    """Note that a code of an authenticator was used; False when it was before."""
    try:
        use_once(f"code {code} of user {user.pk}", idempotency_key=None)
    except SignatureReplayed:
        return False
    return True


def _has(authenticator: Any, code: str) -> bool:
    try:
        if authenticator.type == Type.RECOVERY_CODES:
            codes = authenticator.wrap().get_unused_codes()
        else:
            codes = codes_around(get_adapter().decrypt(authenticator.data["secret"]))
    except UnreadableSecret:
        return False  # `reset_second_factor` lets its owner add another
    return any(constant_time_compare(code, one) for one in codes)


def codes_around(secret: str) -> list[str]:
    """Return the code of this half minute, and those of its neighbours: clocks may be one step apart."""
    shown = TOTP(b32decode(secret), 6, SHA1(), STEP_SECONDS, enforce_key_length=False)  # noqa: S303  RFC 6238, section 1.2
    now = int(time.time())
    tolerance: int = settings.MFA_TOTP_TOLERANCE
    return [shown.generate(now + step * STEP_SECONDS).decode() for step in range(-tolerance, tolerance + 1)]


def encrypt_again() -> tuple[int, list[UnreadableSecret]]:
    """Encrypt every secret with the first key; return how many there were, and those that no key opens."""
    written, unreadable = 0, []
    for pk in Authenticator.objects.filter(type__in=_SECRETS).values_list("pk", flat=True):
        with transaction.atomic():
            one = Authenticator.objects.select_for_update().filter(pk=pk).first()
            if one is None:
                continue
            try:
                member = _SECRETS[one.type]
                one.data[member] = get_adapter().encrypt(get_adapter().decrypt(one.data[member]))
            except UnreadableSecret:
                unreadable.append(UnreadableSecret("a second factor", str(pk)))
                continue
            one.save(update_fields=["data"])
            written += 1
    return written, unreadable


@receiver([authenticator_added, authenticator_used, authenticator_reset], dispatch_uid="note-second-factor")
def _note_in_session(request: HttpRequest, user: Any, authenticator: Any, **_signal: Any) -> None:
    """Note that this session has the second factor, as long as the account keeps what was given or added.

    Codes to come in with stand for the authenticator or the passkey: they are made anew without ending the session.
    """
    if authenticator.type == Type.RECOVERY_CODES:
        authenticator = Authenticator.objects.filter(user=user).exclude(type=Type.RECOVERY_CODES).first()
    if authenticator is not None:
        request.session[SECOND_FACTOR] = authenticator.pk
        renew_session(request)


def renew_session(request: HttpRequest) -> None:
    """Give the session another id: whoever knew it before does not know it any more. Logging in does so by itself."""
    if request.user.is_authenticated:
        request.session.cycle_key()
        UserSession.objects.create_from_request(request)

"""Recovery codes. An account has ten codes. A code is valid once, stored as a hash, and displayed at its creation."""

import re
import secrets
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from identity.access.hashers import RecoveryCodeHasher
from identity.access.models import User
from identity.accounts.models import RecoveryCode

COUNT, LENGTH = 10, 10  # the number of codes, and the characters of a code, which has 50 bits
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, without letters that look like digits
_TYPED_INSTEAD = str.maketrans("ILO", "110", " -")
# Version 1.0 created codes of eight digits.
_SHAPE = re.compile(f"[{ALPHABET}]{{{LENGTH}}}|[0-9]{{8}}")
_HASHER = RecoveryCodeHasher()


def normalise(text: str) -> str:
    """Normalize a typed code to the form that is hashed."""
    return text.upper().translate(_TYPED_INSTEAD)


def is_recovery_code(text: str) -> bool:
    return _SHAPE.fullmatch(text) is not None


def make_codes(user: User, *, now: datetime) -> list[str]:
    """Replace an account's codes with ten new codes. Return the new codes in the form for display."""
    codes = ["".join(secrets.choice(ALPHABET) for _ in range(LENGTH)) for _ in range(COUNT)]
    salt = _HASHER.salt()
    rows = [RecoveryCode(user=user, hash=_HASHER.encode(code, salt), created_at=now) for code in codes]
    with transaction.atomic():
        # If two calls are concurrent, the codes of the later call are valid.
        User.objects.select_for_update().get(pk=user.pk)
        RecoveryCode.objects.filter(user=user).delete()
        RecoveryCode.objects.bulk_create(rows)
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def find_code(code: str, **user: Any) -> QuerySet[RecoveryCode]:
    """Select the row of a normalized code. Computes one hash, even for an account without codes."""
    kept = RecoveryCode.objects.filter(**user)
    if not is_recovery_code(code):
        return kept.none()
    any_hash = kept.values_list("hash", flat=True).first()
    salt = _HASHER.salt() if any_hash is None else _HASHER.decode(any_hash)["salt"]
    return kept.filter(hash=_HASHER.encode(code, salt))


def use_code(code: str, user: User) -> bool:
    """Use a normalized code. Returns False if the account doesn't have it, or a concurrent request has used it."""
    deleted, _by_model = find_code(code, user=user).delete()  # only one of several concurrent requests deletes the row
    return deleted == 1


def delete_with_last_authenticator(*, sender: Any, instance: Any, **_signal: Any) -> None:
    """Delete an account's recovery codes when its last authenticator or passkey is removed."""
    if not sender.objects.filter(user=instance.user_id).exists():
        RecoveryCode.objects.filter(user=instance.user_id).delete()

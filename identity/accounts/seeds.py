"""Hash the recovery codes of version 1.0, which django-allauth computes from a seed, and delete the seed.

The migration converts existing seeds. `prune` converts seeds that a server of version 1.0 creates after the migration.
Version 1.2 can delete this module.
"""

import hmac
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.db import transaction

from config.core.encryption import UnreadableSecret, opened
from config.ops.failed_items import FailedItems
from identity.access.hashers import RecoveryCodeHasher


def hash_late_codes(*, now: datetime) -> dict[str, int]:
    if not apps.is_installed("allauth.mfa"):  # service B has no accounts
        return {"recovery_codes_hashed": 0}
    items = FailedItems("recovery_codes", _seeds(apps), lease=timedelta(minutes=1))
    hashed = Counter[bool]()
    items.process(lambda seed: hashed.update([_hash(apps, seed.pk)]), now=now)
    return {"recovery_codes_hashed": hashed[True]}


def hash_codes(models: Any) -> int:
    """Hash the codes of each account with a seed, in one transaction per account. Return the number of accounts.

    `models` has `get_model`. A migration passes its historical models.
    """
    if not apps.is_installed("allauth.mfa"):
        return 0
    return sum(_hash(models, pk) for pk in list(_seeds(models).values_list("pk", flat=True)))


def _seeds(models: Any) -> Any:
    return models.get_model("mfa", "Authenticator").objects.filter(type="recovery_codes")


def _hash(models: Any, pk: Any) -> bool:
    with transaction.atomic():
        seed = _seeds(models).select_for_update().filter(pk=pk).first()
        return seed is not None and _replace(seed, models.get_model("identity", "RecoveryCode"))


def _replace(seed: Any, recovery_code: Any) -> bool:
    try:
        unused = set(_unused(seed.data, seed.user_id))
    except UnreadableSecret:
        return False  # the codes work again if an operator restores the encryption key
    kept = recovery_code.objects.filter(user_id=seed.user_id)
    if not kept.filter(created_at__gte=seed.created_at).exists():
        hasher = RecoveryCodeHasher()
        salt = hasher.salt()
        rows = [
            recovery_code(user_id=seed.user_id, hash=hasher.encode(code, salt), created_at=seed.created_at)
            for code in unused
        ]
        kept.delete()
        recovery_code.objects.bulk_create(rows)
    seed.delete()
    return True


def place_of(user_id: int) -> str:
    """Return the associated data that binds an encrypted seed of recovery codes to its account.

    `rotate_encryption_key` needs it for seeds without hashes.
    """
    return f"mfa_authenticator|data.seed|{user_id}|recovery_codes"


def _unused(data: dict[str, Any], user_id: int) -> Iterator[str]:
    """Yield the unused codes, as django-allauth 65 computes them."""
    about = {"kind": "a seed of recovery codes", "record_id": f"account {user_id}"}
    mac = hmac.new(opened(data["seed"].encode(), place_of(user_id), **about), digestmod="sha1")
    for number in range(10):
        mac.update(f"{number:3},".encode())
        if not data["used_mask"] >> number & 1:
            yield f"{int.from_bytes(mac.digest()[:4]) % 10**8:08}"

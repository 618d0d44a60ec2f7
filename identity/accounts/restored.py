"""Repeat erasures after the restore of an older backup."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction

from config.core.leases import contain
from config.core.registration import declared
from identity.access.models import User
from identity.accounts import erasure_log
from identity.accounts.erasure import erase, subject_keys
from identity.accounts.models import Erasure


def apply_erasures(file: Path, *, now: datetime, is_dry: bool = False) -> dict[str, Any]:
    """Repeat the erasures of a file. Return counts, and the ids of the accounts that were erased.

    For a completed erasure, its steps run again, to delete restored files. An account that the backup lacks gets a
    record with status `done`. With `is_dry`, it only counts the erasures. Unreadable lines
    are counted. Raises OSError and ValueError
    for an unreadable file.
    """
    requested, unreadable = erasure_log.read(file)
    erased: list[str] = []
    failed, successes = 0, set()
    for user_id, key in _accounts_of(requested):
        successes.add(key)
        is_done = Erasure.objects.filter(subject_key=key, status=Erasure.DONE).exists()
        if not is_done:
            erased.append(str(user_id))
        try:
            if not is_dry:
                _erase_again(user_id, key, requested[key], is_done=is_done, now=now)
        except Exception as error:  # noqa: BLE001  one account must not stop the others
            contain(error, "erasure", key)
            failed += 1
    missing = requested.keys() - successes
    if not is_dry:
        for key in missing - set(Erasure.objects.filter(subject_key__in=missing).values_list("subject_key", flat=True)):
            _record(key, requested[key], status=Erasure.DONE, completed_at=now, look_at=now)
    counts = {"erasures": len(requested), "erased": len(erased) - failed, "unreadable": unreadable, "failed": failed}
    return {**counts, "user_ids": erased}


def _accounts_of(requested: dict[str, datetime]) -> Iterator[tuple[int, str]]:
    """Yield the accounts with these subject keys. The keys are hashes, so each account is compared."""
    for user_id in User.objects.order_by("pk").values_list("pk", flat=True).iterator():
        for key in subject_keys(user_id):
            if key in requested:
                yield user_id, key
                break


def _erase_again(user_id: int, key: str, requested_at: datetime, *, is_done: bool, now: datetime) -> None:
    if is_done:
        for step in declared("erasure_steps"):
            step(user_id, now=now)
        return
    with transaction.atomic():
        User.objects.select_for_update().only("pk").get(pk=user_id)
        erasure = Erasure.objects.filter(account=user_id).first()
        erasure = erasure or _record(key, requested_at, account_id=user_id, look_at=now)
    erase(erasure, now=now)


def _record(key: str, requested_at: datetime, **columns: Any) -> Erasure:
    return Erasure.objects.create(
        subject_key=key, requested_at=requested_at, due_at=requested_at + Erasure.DUE, **columns
    )

"""The erasure of an account (GDPR Article 17). A request can be canceled for 14 days.

An erasure first commits its record. Then it ends the account's access, revokes the account's tokens at vendors, and
erases the data (`config.core.erasure`). All steps are idempotent, so an interrupted erasure starts again with the first
step.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from config.core import audit
from config.core.encryption import blind_digests
from config.core.erasure import Ends, Kept, erase_rows, kept_rows
from config.core.ids import parse_positive_int64
from config.core.json_text import rfc3339
from config.core.leases import contain
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.registration import declared
from config.ops.failed_items import FailedItems
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, TokenFamily, User
from identity.access.second_factor import require_second_factor
from identity.accounts import erasure_log
from identity.accounts.addresses import is_set_by_operator, mail_about_privacy
from identity.accounts.models import DeletionRequest, Erasure
from identity.errors import ErasureNotPossible

_LEASE = timedelta(minutes=10)
_LOOK_AGAIN = timedelta(days=1)  # if the end of the retention is unknown, the next attempt is after this time


def subject_key(user_id: int) -> str:
    """Return the keyed hash that identifies the account in its erasure record."""
    return subject_keys(user_id)[0]


def subject_keys(user_id: int) -> list[str]:
    """Return the keyed hash for each encryption key, because earlier erasures may have used an earlier key."""
    return blind_digests(f"erasure:{user_id}")


def obstacles(user: User) -> list[dict[str, Any]]:
    """Return the obstacles to the erasure, each with its reason and, for an application, its next deadline."""
    reasons: list[tuple[str, datetime | None]] = []
    if user.is_staff or user.is_superuser or user.groups.exists():
        reasons.append(
            (
                gettext("The account belongs to staff or a business. Contact an operator to end the account's roles."),
                None,
            )
        )
    elif any(why_not(user.pk) for why_not in declared("account_not_acted_for")):
        reasons.append(
            (
                gettext("The account is a member of a lender. Ask an owner of the lender to remove the account first."),
                None,
            )
        )
    for find in declared("account_not_erased"):
        reasons += find(user.pk)
    return [{"reason": reason, "until": None if until is None else rfc3339(until)} for reason, until in reasons]


def request_erasure(actor: Actor, account_id: int, *, now: datetime) -> None:
    """Request the erasure of an account. It starts after 14 days. A second request changes nothing.

    Raises SecondFactorRequired. Raises ErasureNotPossible with the obstacles.
    """
    require_second_factor(actor)
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=account_id)
        if Erasure.objects.filter(account=user).exists():
            return
        if reasons := obstacles(user):
            raise ErasureNotPossible(" ".join(each["reason"] for each in reasons), details={"obstacles": reasons})
        AccountHistory.note("account.deletion_requested", actor, account_id=user.pk, now=now)
        if account_id == actor.user.pk:
            mail_about_privacy(user, "erasure_requested", now=now)
        _record(user.pk, requested_at=now)


def _record(user_id: int, *, requested_at: datetime, begins_at: datetime | None = None) -> Erasure:
    look_at = begins_at or requested_at + Erasure.CHANGE_OF_MIND
    return _store(subject_key(user_id), requested_at, account_id=user_id, look_at=look_at)


def _store(key: str, requested_at: datetime, **columns: Any) -> Erasure:
    due_at = requested_at + Erasure.DUE
    return Erasure.objects.create(subject_key=key, requested_at=requested_at, due_at=due_at, **columns)


def show_erasure(user: User) -> Erasure:
    """Return an account's erasure. Without a request, the status is NONE.

    Before the start, the erasure includes its obstacles. After a request, it includes the retained rows.
    """
    stored = Erasure.objects.filter(subject_key__in=subject_keys(user.pk)).first()
    erasure = stored or Erasure(id=None, status=Erasure.NONE)
    if user.erased_at is None:
        erasure.obstacles = obstacles(user)
    if erasure.status == Erasure.REQUESTED:
        erasure.kept = [each.to_dict() for each in kept_rows(user.pk, now=timezone.now())]
    return erasure


def cancel_erasure(actor: Actor, account_id: int, *, now: datetime) -> None:
    """Cancel the erasure of an account within 14 days. Idempotent. Raises RecordNotEditable after the start."""
    with transaction.atomic():
        own = Erasure.objects.filter(account=account_id)
        if own.filter(status=Erasure.REQUESTED, look_at__gt=now).delete()[0]:
            AccountHistory.note("account.deletion_canceled", actor, account_id=account_id, now=now)
        elif own.exists():
            raise RecordNotEditable("The 14 days are over, and the erasure has started. It can't be canceled.")


def process_requested(*, now: datetime) -> dict[str, int]:
    """Run the erasures whose waiting period of 14 days is over. Return the numbers of erased and failed accounts."""
    carry_over(now=now)
    return _process("erasure", Erasure.objects.filter(status=Erasure.REQUESTED, look_at__lte=now), now)


def erase_kept(*, now: datetime) -> dict[str, int]:
    """Erase the remaining data whose retention has ended."""
    counts = _process("kept_erasure", Erasure.objects.filter(status=Erasure.WAITING, look_at__lte=now), now)
    return {"kept_records_of_accounts": counts["erased"]}


def _process(kind: str, due: QuerySet[Erasure], now: datetime) -> dict[str, int]:
    erased = list[Erasure]()

    def process(erasure: Erasure) -> None:
        if _is_postponed(erasure, now=now):
            return
        erase(erasure, now=now)
        erased.append(erasure)

    failed = FailedItems(kind, due.order_by("look_at"), lease=_LEASE).process(process, now=now)
    return {"erased": len(erased), "failed": failed}


def _is_postponed(erasure: Erasure, *, now: datetime) -> bool:
    """If an erasure that has not started has an obstacle, postpone it by one day, and return True.

    For example, a lender must be able to decide an application that was submitted within the 14 days.
    """
    account = erasure.account
    if account is None or account.erased_at is not None or not obstacles(account):
        return False
    Erasure.objects.filter(pk=erasure.pk).update(look_at=now + _LOOK_AGAIN)
    return True


def carry_over(*, now: datetime) -> None:
    """Convert each deletion request that a server of version 1.0 stored during the upgrade to an erasure.

    The erasures start in 14 days. If the account is active, the request is deleted, because an operator has enabled the
    account again.
    """
    for old in DeletionRequest.objects.select_related("user").order_by("requested_at"):
        with transaction.atomic():
            if not old.user.is_active and not Erasure.objects.filter(account=old.user_id).exists():
                _record(old.user_id, requested_at=old.requested_at, begins_at=now + Erasure.CHANGE_OF_MIND)
            old.delete()


def erase(erasure: Erasure, *, now: datetime) -> None:
    """Run a committed erasure if it was not canceled. After an exception of a vendor or a storage, run it again."""
    user_id = erasure.account_id
    if user_id is None:
        return
    with transaction.atomic():
        if Erasure.objects.select_for_update().filter(pk=erasure.pk).first() is None:
            return
        User.objects.filter(pk=user_id, erased_at__isnull=True).update(is_active=False, erased_at=now)
        TokenFamily.objects.filter(user_id=user_id).revoke(now=now)
        # From now on, the erasure can't be canceled. If this process ends, a worker continues.
        Erasure.objects.filter(pk=erasure.pk).update(look_at=now)
    forget_credentials()
    if erasure.status == Erasure.REQUESTED:
        erasure_log.append(erasure.subject_key, erasure.requested_at)
    for step in (*declared("vendor_tokens"), *declared("erasure_steps")):
        step(user_id, now=now)
    _close(erasure, erase_rows(user_id, now=now), now=now)
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        # SQLite's write-ahead log still contains the erased data, so it is truncated. Open readers delay this.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _close(erasure: Erasure, kept: list[Kept], *, now: datetime) -> None:
    waits = [each.next_end or now + _LOOK_AGAIN for each in kept if not each.is_permanent]
    erasure.kept = [each.to_dict() for each in kept]
    if waits:
        erasure.status, erasure.look_at = Erasure.WAITING, max(min(waits), now + _LOOK_AGAIN)
    else:
        erasure.status, erasure.completed_at, erasure.account = Erasure.DONE, now, None
    erasure.save(update_fields=["kept", "status", "look_at", "completed_at", "account"])
    # The worker has no session, and the audit stream must not contain the erased id.
    erased = audit.entity(Erasure._meta.label_lower, erasure.pk)
    audit.emit("erasure", actor={"app_name": "process_privacy"}, entity=erased, unmapped={"status": erasure.status})


def erase_subject(user_id: str, *, now: datetime) -> dict[str, Any]:
    """Erase an account immediately.

    If no account has this id, the function raises no error, because the ledger may still have rows of the user. Raises
    ValidationError with the obstacles.
    """
    number = parse_positive_int64(user_id)
    if number is None or not User.objects.filter(pk=number).exists():
        return {}
    if Erasure.objects.filter(subject_key__in=subject_keys(number), status=Erasure.DONE).exists():
        return {"status": Erasure.DONE}
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=number)
        if user.erased_at is None and (reasons := [each["reason"] for each in obstacles(user)]):
            raise ValidationError(reasons)
        erasure = Erasure.objects.filter(account=user).first() or _record(user.pk, requested_at=now)
    erase(erasure, now=now)
    return {"status": erasure.status, "kept": erasure.kept}


AUDIT_LOG_LASTS = timedelta(days=5 * 365 + 2)  # 5 years including leap days


def kept_audit_log(user_id: int, *, now: datetime) -> Ends:
    """Return when the retention of an erased account's access log ends."""
    erased_at = User.objects.values_list("erased_at", flat=True).get(pk=user_id) or now
    return {None: erased_at + AUDIT_LOG_LASTS} if erased_at + AUDIT_LOG_LASTS > now else {}


def end_sessions(user_id: int, *, now: datetime) -> None:  # noqa: ARG001  the signature of erasure steps
    Session.objects.filter(session_key__in=UserSession.objects.filter(user=user_id).values("session_key")).delete()


def addresses_of(user_id: int) -> Iterator[str]:
    """Yield the addresses that the account confirmed or an operator set. Other addresses may be a stranger's."""
    yield from EmailAddress.objects.filter(user=user_id, verified=True).values_list("email", flat=True)
    for user in User.objects.filter(pk=user_id):
        if is_set_by_operator(user, user.email):
            yield user.email


GROUNDS = {"audit_log": kept_audit_log}


def apply_erasures(file: Path, *, now: datetime, is_dry: bool = False) -> dict[str, Any]:
    """Repeat the erasures of a file. Return counts, and the ids of the accounts that were erased.

    The steps of a completed erasure run again, to delete restored files. For an account that the backup lacks, a record
    with the status `done` is created. If `is_dry` is True, this only counts the erasures. Unreadable lines are counted.
    Raises OSError and ValueError for an unreadable file.
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
        except Exception as error:  # noqa: BLE001  an account must not stop the other accounts
            contain(error, "erasure", key)
            failed += 1
    missing = requested.keys() - successes
    if not is_dry:
        for key in missing - set(Erasure.objects.filter(subject_key__in=missing).values_list("subject_key", flat=True)):
            _store(key, requested[key], status=Erasure.DONE, completed_at=now, look_at=now)
    counts = {"erasures": len(requested), "erased": len(erased) - failed, "unreadable": unreadable, "failed": failed}
    return {**counts, "user_ids": erased}


def _accounts_of(requested: dict[str, datetime]) -> Iterator[tuple[int, str]]:
    """Yield the accounts with these subject keys. The keys are hashes, so the hash of every account is compared."""
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
        erasure = erasure or _store(key, requested_at, account_id=user_id, look_at=now)
    erase(erasure, now=now)

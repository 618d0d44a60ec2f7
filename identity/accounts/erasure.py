"""The erasure of an account: request, change of mind within 14 days, and the erasure itself (GDPR Article 17).

The record of the erasure is committed first. Then the account's access ends, then the tokens at vendors, then the data
go (`config.core.erasure`). Each step is safe to run twice, so that an erasure that was killed goes on from the start.
"""

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from config.core import audit
from config.core.encryption import blind_digests
from config.core.erasure import Kept, erase_rows, forget_old_pages, kept_rows
from config.core.ids import parse_positive_int64
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.registration import declared
from config.ops.failed_items import FailedItems
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, TokenFamily, User
from identity.access.second_factor import require_second_factor
from identity.accounts import erasure_log
from identity.accounts.addresses import mail_about_privacy
from identity.accounts.models import DeletionRequest, Erasure
from identity.errors import ErasureNotPossible

_LEASE = timedelta(minutes=10)
_LOOK_AGAIN = timedelta(days=1)  # at a ground without a known end


def subject_key(user_id: int) -> str:
    """Return the keyed hash under which an erasure names its account."""
    return subject_keys(user_id)[0]


def subject_keys(user_id: int) -> list[str]:
    """Return the hash with each key: a key that was rotated made those of earlier erasures."""
    return blind_digests(f"erasure:{user_id}")


def obstacles(user: User) -> list[dict[str, Any]]:
    """Return what an account must end before its erasure: the reason, and when it ends by itself, if that is known."""
    reasons: list[tuple[str, datetime | None]] = []
    if user.is_staff or user.is_superuser or user.groups.exists():
        reasons.append(
            (gettext("The account belongs to staff or a business. Contact an operator to end its roles."), None)
        )
    elif any(why_not(user.pk) for why_not in declared("account_not_acted_for")):
        reasons.append((gettext("The account is a member of a lender. Leave the lender first."), None))
    for find in declared("account_not_erased"):
        reasons += find(user.pk)
    return [{"reason": reason, "until": None if until is None else rfc3339(until)} for reason, until in reasons]


def request_erasure(actor: Actor, account_id: int, *, now: datetime) -> Erasure:
    """Request the erasure of an account, which starts after 14 days; a second request changes nothing.

    Raises SecondFactorRequired, and ErasureNotPossible with the obstacles.
    """
    require_second_factor(actor)
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=account_id)
        if erasure := Erasure.objects.filter(account=user).first():
            return erasure
        _refuse_obstacles(user)
        AccountHistory.note("account.deletion_requested", actor, account_id=user.pk, now=now)
        if account_id == actor.user.pk:
            mail_about_privacy(user, "erasure_requested", now=now)
        return _record(user.pk, requested_at=now)


def _refuse_obstacles(user: User) -> None:
    if found := obstacles(user):
        raise ErasureNotPossible(" ".join(each["reason"] for each in found), details={"obstacles": found})


def _record(user_id: int, *, requested_at: datetime, begins_at: datetime | None = None) -> Erasure:
    return Erasure.objects.create(
        account_id=user_id,
        subject_key=subject_key(user_id),
        requested_at=requested_at,
        look_at=begins_at or requested_at + Erasure.CHANGE_OF_MIND,
        due_at=requested_at + Erasure.DUE,
    )


def show_erasure(user: User) -> Erasure:
    """Return an account's erasure, with its obstacles until it starts, and with what it would keep once requested.

    Without a request, its status is NONE.
    """
    stored = Erasure.objects.filter(subject_key__in=subject_keys(user.pk)).first()
    erasure = stored or Erasure(id=None, status=Erasure.NONE)
    if user.erased_at is None:
        erasure.obstacles = obstacles(user)
    if erasure.status == Erasure.REQUESTED:
        erasure.kept = [each.to_dict() for each in kept_rows(user.pk, now=timezone.now())]
    return erasure


def cancel_erasure(actor: Actor, account_id: int, *, now: datetime) -> None:
    """Cancel the erasure of an account within 14 days; idempotent. Raises RecordNotEditable once it has started."""
    with transaction.atomic():
        own = Erasure.objects.filter(account=account_id)
        if own.filter(status=Erasure.REQUESTED, look_at__gt=now).delete()[0]:
            AccountHistory.note("account.deletion_canceled", actor, account_id=account_id, now=now)
        elif own.exists():
            raise RecordNotEditable("The 14 days are over, and the erasure has started. It can't be canceled.")


def process_requested(*, now: datetime) -> dict[str, int]:
    """Start the erasures whose 14 days are over; return how many were made, and how many failed."""
    carry_over(now=now)
    return _process("erasure", Erasure.objects.filter(status=Erasure.REQUESTED, look_at__lte=now), now)


def erase_kept(*, now: datetime) -> dict[str, int]:
    """Erase what a ground kept and no ground keeps any more."""
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
    """Postpone an erasure that has not begun by a day, while it has an obstacle.

    A lender must be able to decide an application that was submitted in the 14 days.
    """
    account = erasure.account
    if account is None or account.erased_at is not None or not obstacles(account):
        return False
    Erasure.objects.filter(pk=erasure.pk).update(look_at=now + _LOOK_AGAIN)
    return True


def carry_over(*, now: datetime) -> None:
    """Turn the requests that a server of version 1.0 stored during the upgrade into erasures, 14 days from now.

    An account that is active again was re-enabled by an operator: its request is dropped.
    """
    for old in DeletionRequest.objects.select_related("user").order_by("requested_at"):
        with transaction.atomic():
            if not old.user.is_active and not Erasure.objects.filter(account=old.user_id).exists():
                _record(old.user_id, requested_at=old.requested_at, begins_at=now + Erasure.CHANGE_OF_MIND)
            old.delete()


def erase(erasure: Erasure, *, now: datetime) -> None:
    """Make an erasure whose record is committed; none if it was canceled meanwhile.

    An exception of a vendor or a storage ends it: run it again.
    """
    user_id = erasure.account_id
    if user_id is None:
        return
    with transaction.atomic():
        if Erasure.objects.select_for_update().filter(pk=erasure.pk).first() is None:
            return
        User.objects.filter(pk=user_id, erased_at__isnull=True).update(is_active=False, erased_at=now)
        TokenFamily.objects.filter(user_id=user_id).revoke(now=now)
        # It can't be canceled any more, and a worker goes on with it if this process ends.
        Erasure.objects.filter(pk=erasure.pk).update(look_at=now)
    forget_credentials()
    if erasure.status == Erasure.REQUESTED:
        erasure_log.append(erasure.subject_key, erasure.requested_at)
    for step in (*declared("vendor_tokens"), *declared("erasure_steps")):
        step(user_id, now=now)
    _close(erasure, erase_rows(user_id, now=now), now=now)
    forget_old_pages()


def _close(erasure: Erasure, kept: list[Kept], *, now: datetime) -> None:
    waits = [each.next_end or now + _LOOK_AGAIN for each in kept if not each.is_permanent]
    erasure.kept = [each.to_dict() for each in kept]
    if waits:
        erasure.status, erasure.look_at = Erasure.WAITING, max(min(waits), now + _LOOK_AGAIN)
    else:
        erasure.status, erasure.completed_at, erasure.account = Erasure.DONE, now, None
    erasure.save(update_fields=["kept", "status", "look_at", "completed_at", "account"])
    # The worker has no session, and the erased id is in no line.
    erased = audit.entity(Erasure._meta.label_lower, erasure.pk)
    audit.emit("erasure", actor={"app_name": "process_privacy"}, entity=erased, unmapped={"status": erasure.status})


def erase_subject(user_id: str, *, now: datetime) -> dict[str, Any]:
    """Erase an account at once, without the 14 days; an id of no account is left to the ledger.

    Raises ValidationError with the obstacles.
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

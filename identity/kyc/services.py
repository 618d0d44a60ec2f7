from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Max

from config.core.digest import digest_of
from config.core.ids import get_by_uuid, uuid7
from config.core.lifecycle import Actor
from config.ops.failed_items import FailedItems
from identity.errors import ATTEMPTS_DAYS, ATTEMPTS_MAX, TooManyAttempts, VerificationNotFound
from identity.kyc import machine
from identity.kyc.models import REVOKED, KycVerification, record_verification_event
from identity.providers.base import SUCCESS, Progress, VerificationState
from identity.providers.choice import open_banking
from identity.providers.sandbox import Sandbox

OPEN_HOURS = 24  # the applicant must start on the hosted page within this time
REFRESH_SECONDS = 10  # the minimum interval between requests to the vendor, because clients poll

# The transitions for each progress at the vendor. Each transition creates a history row.
_ROUTE_OF = {
    Progress.WAITING: (),
    Progress.RUNNING: (machine.PROCESSING,),
    Progress.PASSED: (machine.PROCESSING, machine.VERIFIED),
    Progress.FAILED: (machine.PROCESSING, machine.FAILED),
    Progress.REVIEW: (machine.PROCESSING, machine.PENDING_REVIEW),
    Progress.EXPIRED: (machine.EXPIRED,),
    Progress.CANCELED: (machine.CANCELED,),
    Progress.UNKNOWN: (),
}
_ERROR_OF = {
    Progress.FAILED: {"code": "verification_failed", "message": "The vendor could not verify the identity."},
    Progress.EXPIRED: {"code": "verification_expired", "message": "The verification was not completed in time."},
    Progress.CANCELED: {"code": "verification_canceled", "message": "The vendor canceled the verification."},
}
_REVOKING = frozenset({Progress.FAILED, Progress.CANCELED, Progress.EXPIRED, Progress.REVIEW})
_REVOKED_ERROR = {"code": REVOKED, "message": "The vendor revoked the verification.", "steps": []}


def _next_possible_at(user: Any, now: datetime) -> datetime | None:
    """Return the earliest time of the next attempt, or None if an attempt is possible now.

    The development sandbox has no limit.
    """
    if Sandbox.name == settings.OPEN_BANKING and settings.ENVIRONMENT != "production":
        return None
    began = KycVerification.objects.filter(user=user, created_at__gt=now - timedelta(days=ATTEMPTS_DAYS))
    began = began.exclude(status__in=sorted(machine.UNUSED))
    counted = began.order_by("-created_at").values_list("created_at", flat=True)[:ATTEMPTS_MAX]
    return min(counted) + timedelta(days=ATTEMPTS_DAYS) if len(counted) == ATTEMPTS_MAX else None


def resume_verification(
    *, user: Any, template_id: str | None, redirect_uri: str | None, now: datetime
) -> KycVerification | None:
    """Refresh and return the open verification, or None if a new one is necessary. Raises ProviderUnavailable."""
    current = KycVerification.objects.filter(
        user=user, provider=settings.OPEN_BANKING, status__in=sorted(machine.OPEN)
    ).first()
    if current is None:
        return None
    current = refresh_verification(current, now=now)
    return current if current.is_same_session(template_id=template_id, redirect_uri=redirect_uri) else None


def request_verification(
    *, user: Any, key: UUID | None, template_id: str | None, redirect_uri: str | None, now: datetime
) -> VerificationState | None:
    """Create a verification at the vendor, outside of any transaction, or return None at the limit of attempts.

    The name of the verification derives from the Idempotency-Key and the last attempt, so a retry returns the same
    verification. Raises ProviderUnavailable.
    """
    if _next_possible_at(user, now) is not None:
        return None
    last = KycVerification.objects.filter(user=user).aggregate(last=Max("attempt"))["last"]
    name = digest_of(f"{key or uuid7()}/{last}")[:16]
    return open_banking().create_verification(
        client_user_id=f"{user.pk}-{name}", template_id=template_id, redirect_uri=redirect_uri
    )


def create_verification(
    *, actor: Actor, state: VerificationState | None, template_id: str | None, redirect_uri: str | None, now: datetime
) -> KycVerification:
    """Store a new verification, and end an open verification of the same account. Raises TooManyAttempts.

    If a concurrent request has created a verification, returns that verification.
    """
    with transaction.atomic(savepoint=False):
        # Lock the account, so that attempts are counted and numbered correctly.
        get_user_model().objects.select_for_update(no_key=True).get(pk=actor.user.pk)
        next_possible_at = _next_possible_at(actor.user, now)
        if state is None or next_possible_at is not None:
            raise TooManyAttempts.until(next_possible_at or now)
        previous = KycVerification.objects.filter(user=actor.user).order_by("-attempt").first()
        wanted = {"template_id": template_id, "redirect_uri": redirect_uri}
        if previous is not None and previous.is_same_session(**wanted):
            return previous
        if previous is not None and previous.is_open:
            _supersede(previous, actor=actor, now=now)
        expires_at = now + timedelta(hours=OPEN_HOURS)
        return store_attempt(actor.user, state, previous=previous, expires_at=expires_at, now=now, **wanted)


def store_attempt(
    user: Any, state: VerificationState, *, previous: KycVerification | None, now: datetime, **columns: Any
) -> KycVerification:
    """Store a verification that has not started, and record its event, in the caller's transaction."""
    verification = KycVerification.objects.create(
        user=user,
        attempt=1 if previous is None else previous.attempt + 1,
        previous_attempt=previous,
        status=machine.REQUIRES_INPUT,
        provider=settings.OPEN_BANKING,
        provider_reference=state.reference,
        provider_status=state.status,
        steps=cast("Any", state.steps),
        name_match=state.name_match,
        hosted_url=state.hosted_url,
        refreshed_at=now,
        created_at=now,
        updated_at=now,
        **columns,
    )
    record_verification_event("created", verification, now=now)
    return verification


def _supersede(verification: KycVerification, *, actor: Actor, now: datetime) -> None:
    reason = "Superseded by a new attempt."
    if verification.status == machine.REQUIRES_INPUT:
        verification.transition_to(machine.CANCELED, actor=actor, now=now, reason=reason)
        return
    # A submitted verification can't be canceled, so it fails.
    system = Actor(user=None, credential=actor.credential)
    verification.transition_to(machine.FAILED, actor=system, changed_by=actor.name, now=now, reason=reason)


def read_verification(verification_id: str, *, user: Any, now: datetime) -> KycVerification:
    """Return the user's own verification, refreshed. Raises VerificationNotFound and ProviderUnavailable."""
    verification = get_by_uuid(KycVerification.objects.filter(user=user), verification_id, VerificationNotFound)
    if verification.status in machine.UNDECIDED and verification.provider == settings.OPEN_BANKING:
        refreshed_before = now - timedelta(seconds=REFRESH_SECONDS)
        stale = KycVerification.objects.filter(refreshed_at__lte=refreshed_before, pk=verification.pk)
        # Of several concurrent requests, only the first calls the vendor. The others return the stored status.
        if stale.update(refreshed_at=now):
            return refresh_verification(verification, now=now)
    return verification


def refresh_verification(verification: KycVerification, *, now: datetime) -> KycVerification:
    """Request the status from the vendor, and store it. Raises ProviderUnavailable."""
    state = open_banking().read_verification(verification.provider_reference)
    return apply_state(verification, state, now=now)


def apply_state(verification: KycVerification, state: VerificationState, *, now: datetime) -> KycVerification:
    """Apply the vendor's state, with forward transitions only. Return the updated verification."""
    actor = Actor(user=None, credential=f"provider:{verification.provider}")
    with transaction.atomic():
        current = KycVerification.objects.select_for_update().get(pk=verification.pk)
        was_success = current.status == machine.VERIFIED and current.provider_status == SUCCESS
        if was_success and state.progress in _REVOKING:
            # The vendor revoked the success. The status remains, because staff decide on the consequences.
            current.provider_status, current.last_error = state.status, _REVOKED_ERROR
            current.save(update_fields=["provider_status", "last_error"])
            record_verification_event("revoked", current, now=now)
        if current.status not in machine.UNDECIDED:
            return current
        _copy_state(current, state, now)
        for to in _route(current.status, state.progress):
            current.transition_to(to, actor=actor, changed_by=verification.provider, now=now)
        if current.status == machine.REQUIRES_INPUT and current.expires_at <= now:
            _expire(current, now=now)
    return current


def _copy_state(verification: KycVerification, state: VerificationState, now: datetime) -> None:
    verification.provider_status = state.status
    verification.steps = state.steps
    verification.name_match = state.name_match
    verification.hosted_url = state.hosted_url or verification.hosted_url
    verification.refreshed_at = now
    if state.progress is Progress.FAILED or (state.progress in _ERROR_OF and verification.is_open):
        failed = sorted(name for name, step in state.steps.items() if step in {"failed", "manually_rejected"})
        verification.last_error = {**_ERROR_OF[state.progress], "steps": failed}
    elif state.progress is Progress.PASSED:
        verification.last_error = None  # an expired verification can still pass
    verification.save(
        update_fields=["provider_status", "steps", "name_match", "hosted_url", "last_error", "refreshed_at"]
    )


def _route(status: str, progress: Progress) -> tuple[str, ...]:
    if status == machine.REQUIRES_INPUT:
        return _ROUTE_OF[progress]
    if status == machine.PROCESSING:
        if progress in {Progress.EXPIRED, Progress.CANCELED}:
            return (machine.FAILED,)  # the applicant had started
        return _ROUTE_OF[progress][1:]
    # The first decision is final. An applicant can still complete an expired or canceled verification on its page.
    is_end = progress in {Progress.PASSED, Progress.FAILED}
    is_late_review = progress is Progress.REVIEW and status != machine.PENDING_REVIEW
    return _ROUTE_OF[progress][-1:] if is_end or is_late_review else ()


def _expire(verification: KycVerification, *, now: datetime) -> None:
    verification.last_error = {**_ERROR_OF[Progress.EXPIRED], "steps": []}
    verification.save(update_fields=["last_error"])
    actor = Actor.system("prune")
    verification.transition_to(machine.EXPIRED, actor=actor, now=now, reason=f"Not started in {OPEN_HOURS} h.")


def expire_verifications(*, now: datetime) -> dict[str, int]:
    """Expire verifications that were not started in time, with a transaction for each. Return their number."""
    overdue = KycVerification.objects.filter(status=machine.REQUIRES_INPUT, expires_at__lte=now).order_by("expires_at")
    items = FailedItems("verification", overdue, lease=timedelta(minutes=1))
    count = 0

    def expire(row: KycVerification) -> None:
        nonlocal count
        with transaction.atomic():
            verification = overdue.select_for_update().filter(pk=row.pk).first()
            if verification is not None:
                _expire(verification, now=now)
        count += verification is not None

    items.process(expire, now=now)
    return {"verifications_expired": count}


def receive_event(reference: str, *, now: datetime) -> None:
    """Process an authenticated event about a verification by reading the verification's status from the vendor.

    Events may arrive twice or out of order, so only the verification's reference is used. If the vendor fails, raises
    ProviderUnavailable, so that the vendor sends the event again.
    """
    statuses = sorted(machine.UNDECIDED | {machine.VERIFIED})
    verification = KycVerification.objects.filter(
        provider=settings.OPEN_BANKING, provider_reference=reference, status__in=statuses
    ).first()
    if verification is not None:
        refresh_verification(verification, now=now)

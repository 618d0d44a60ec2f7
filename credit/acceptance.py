"""Taking up an approval: the consumer accepts the terms that were approved, and those alone."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from config.core.json_text import rfc3339
from config.core.lifecycle import Actor
from credit.applications import IDLE_DAYS, lock_own
from credit.errors import NothingToAccept, TermsChanged
from credit.machine import APPROVED
from credit.models import Acceptance, Application, DecisionAnchor, record_application_event
from credit.records import record_about


def describe(application: Application) -> dict[str, Any]:
    """Return what there is to accept, and whether and when that was done."""
    is_approved = application.status == APPROVED
    is_open = is_approved and application.accepted_at is None
    return {
        "acceptable": is_open,
        "terms": application.offer_snapshot,
        "terms_sha256": application.terms_sha256,
        "expires_at": application.updated_at + timedelta(days=IDLE_DAYS[APPROVED]) if is_open else None,
        "accepted_at": application.accepted_at,
    }


def accept(application_id: str, *, terms_sha256: str, actor: Actor, now: datetime) -> Application:
    """Take up the approval of the actor's own application; again, with the same terms, changes nothing.

    Raises ApplicationNotFound, NothingToAccept, or TermsChanged for other terms than those pinned.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        if application.status != APPROVED:
            raise NothingToAccept
        if terms_sha256 != application.terms_sha256:
            raise TermsChanged
        if application.accepted_at is not None:
            return application
        # Later than before in any case: by this a transition that has read the approval sees that it was taken up.
        now = max(now, application.updated_at + timedelta(microseconds=1))
        application.accepted_at = application.updated_at = now
        application.save(update_fields=["accepted_at", "updated_at"])
        acceptance = Acceptance.objects.create(
            application=application,
            terms_sha256=terms_sha256,
            accepted_at=now,
            principal=actor.user,
            credential=actor.credential,
        )
        if settings.ANCHOR_DECISIONS:
            accepted = {"acceptance": str(acceptance.pk), "accepted_at": rfc3339(now)}
            record = record_about(application, record_version=1, **accepted)
            DecisionAnchor.objects.create(acceptance=acceptance, application=application, record=record, due_at=now)
        record_application_event("accepted", application, now=now)
    return application

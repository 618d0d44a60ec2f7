"""Corrections of values that applicants report as wrong. A correction adds a new score. Old scores remain stored."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from config.core.errors import NotFound, ValidationFailed
from config.core.ids import get_by_uuid
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor, RecordNotEditable, ReviewerRequired
from credit.applications import mails
from credit.applications.services import load_for, lock_own
from credit.core.card import is_claimed
from credit.core.errors import NotCorrectable
from credit.core.facts import PERSON, catalogue, name_of, path_of
from credit.core.machine import DRAFT, EXPIRED, WITHDRAWN
from credit.models import Application, Correction, DocumentFile, Score
from credit.models.applications import record_application_event
from credit.review.confirmations import only_reviewer
from credit.scoring.facts_of import assess, champion_of, refuse_new_score

DAYS = 30
STATEMENT_MAX = 4_000
# Applications with these statuses allow no correction.
_CLOSED = frozenset({DRAFT, WITHDRAWN, EXPIRED})
_TYPES: dict[str, tuple[type, ...]] = {"number": (int, float), "text": (str,), "boolean": (bool,)}


def correctable_facts(application: Application) -> list[str]:
    """Return the names of the facts that the applicant can report as wrong.

    These are the claims in the application's data, and the facts of the newest score. Facts about the applicant's other
    applications are excluded, because only the lender can read them.
    """
    if application.status in _CLOSED:
        return []
    data: Any = application.application_data
    claimed = {name_of(name) for name in data if path_of(name_of(name))} if isinstance(data, dict) else set()
    score = Score.deciding(application.pk).only("sources", "version").first()
    used = {fact["name"] for fact in (score.sources or ())} if score is not None else set()
    return sorted(name for name in claimed | used if not name.startswith(PERSON))


def correctable_value(application_id: str, fact: str) -> Any:
    """Return a fact's value from the newest score, otherwise from the application's data, otherwise None."""
    application = Application.objects.filter(pk=application_id).first()
    return None if application is None else _value_of(application, fact, _facts_of_score(application))


def current_claims(application: Application) -> dict[str, Any]:
    """Return the values of the applicant's claims by fact, from the newest score, otherwise from the data."""
    data: Any = application.application_data
    names = [name_of(name) for name in data] if isinstance(data, dict) else []
    facts = _facts_of_score(application)
    return {name: _value_of(application, name, facts) for name in names if path_of(name)}


def _facts_of_score(application: Application) -> Mapping[str, Any]:
    score = Score.deciding(application.pk).select_related("kept_facts").first()
    kept = None if score is None else score.facts_if_kept
    return {} if kept is None else kept.values()


def _value_of(application: Application, fact: str, facts: Mapping[str, Any]) -> Any:
    if fact in facts:
        return facts[fact]
    data: Any = application.application_data
    path = path_of(fact)
    return data.get(path[-1]) if isinstance(data, dict) and len(path) == 1 else None


def request_correction(
    application_id: str, *, fact: str, claimed: Any, statement: str, file: str | None, actor: Actor, now: datetime
) -> Correction:
    """Store the applicant's report that a fact is wrong. A reviewer must answer the report within DAYS.

    Raises ApplicationNotFound or NotCorrectable. Raises RecordNotEditable while another report about the fact is open.
    Raises ValidationFailed if the value has the wrong type, or if the file is unknown. Reports about the applicant's
    own claims require no file. For other facts, a missing file also raises ValidationFailed.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        allowed = correctable_facts(application)
        if fact not in allowed:
            closed = application.status if application.status in _CLOSED else None
            raise NotCorrectable.of(fact, allowed, closed=closed)
        if (known := catalogue().get(fact)) is not None and type(claimed) not in _TYPES[known.type]:
            raise ValidationFailed.of_member("claimed", f"Must be a {known.type}, as `{fact}` is.")
        if file is None and not is_claimed(fact):
            raise ValidationFailed.of_member("file", f"`{fact}` requires an uploaded file that shows the right value.")
        files = DocumentFile.uploaded_for(application)
        missing = ValidationFailed.of_member("file", "Must be the id of an uploaded file of the application.")
        try:
            with transaction.atomic():
                correction = Correction.objects.create(
                    application=application,
                    fact=fact,
                    claimed=canonical_json(claimed).decode(),
                    statement=statement,
                    file=None if file is None else get_by_uuid(files, file, missing),
                    requested_at=now,
                    due_at=now + timedelta(days=DAYS),
                )
        except IntegrityError as error:
            raise RecordNotEditable(f"A correction of `{fact}` is already open.") from error
        record_application_event("correction_requested", application, now=now, correction_id=str(correction.pk))
        mails.mail_event(application, mails.CORRECTION_REQUESTED, now=now, by=correction.due_at)
    return correction


def corrections_of(application_id: str, actor: Actor) -> QuerySet[Correction]:
    """Select the corrections of an application, newest first. Raises the errors of `load_for`."""
    return Correction.objects.filter(application=load_for(application_id, actor).pk).order_by("-id")


def answer_correction(
    application_id: str,
    correction_id: str,
    *,
    status: str,
    reason: str,
    actor: Actor,
    now: datetime,
    language: str | None = None,
) -> Correction:
    """Answer a correction: either correct the fact, which creates a new score with the claimed value, or refuse.

    `language` is the language of the reason, or None for the language of the offer.

    Raises the errors of `load_for`, SecondFactorRequired, and NotFound. Raises RecordNotEditable if the correction is
    already answered. Raises ReviewerRequired if the actor is the applicant. With `four_eyes`, also raises
    ReviewerRequired if no other reviewer exists. With `corrected`, also raises the errors of `refuse_new_score`, and
    RecordNotEditable if the application is withdrawn or expired.
    """
    with transaction.atomic(savepoint=False):
        visible = load_for(application_id, actor)
        application = Application.objects.select_for_update().get(pk=visible.pk)
        if application.consumer_id == actor.user.pk:
            raise ReviewerRequired("You can't answer a correction of your own application.")
        if refusal := application.check_reviewer(actor) or only_reviewer(application, actor):
            raise refusal
        own = Correction.objects.filter(application=application)
        correction = get_by_uuid(own, correction_id, NotFound("Correction not found."))
        if status == Correction.CORRECTED:
            if application.status in {WITHDRAWN, EXPIRED}:
                raise RecordNotEditable(
                    f"The application is {application.status}, so the value can't be corrected. Refuse the correction."
                )
            refuse_new_score(application)
        if not correction.close(status, by=actor.user, now=now):
            raise RecordNotEditable(f"The correction is already {correction.status}.")
        correction.refresh_from_db()
        correction.reason, correction.reason_language = reason, language
        if status == Correction.CORRECTED and settings.DECISIONING != "off":
            champion = champion_of(application)
            if champion is not None and correction.fact in champion.card.facts:
                correction.score = assess(application, champion, now=now)
        correction.save(update_fields=["reason", "reason_language", "score"])
        record_application_event("correction_answered", application, now=now, correction_id=str(correction.pk))
        mails.mail_event(application, mails.CORRECTION_ANSWERED, now=now)
    return correction

"""Accept or decline an approval or a counteroffer. The applicant accepts exactly the terms that the lender set."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext

from config.core.errors import ValidationFailed
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor
from config.mail.outbox import queue_mail
from credit.anchoring import record_keys
from credit.anchoring.records import record_about
from credit.applications import mails
from credit.applications.lenders import lender_of
from credit.applications.services import IDLE_DAYS, lock_own
from credit.applications.withdrawal_right import conclude
from credit.core.applicants import other_borrowers
from credit.core.errors import NothingToAccept, PricingNoticeDue, TermsChanged
from credit.core.eu_credit import follows_directive
from credit.core.loan_words import payments_in_words
from credit.core.machine import APPROVED, WITHDRAWN
from credit.core.quotes import Instalment
from credit.core.reasons import DECLINED_TEXT
from credit.models import Acceptance, Application, Clock, LoanTerms, Notice, Precontract
from credit.models.applications import record_application_event
from credit.models.terms import NOT_RECORDED
from credit.notices import clocks
from credit.terms import counteroffers, loans
from credit.terms.agreement import mail_links, record_of_link
from credit.terms.members import is_complete, joint_member, members_of
from credit.terms.precontract import form_of_acceptable, require_form, was_provided_late


class Acceptable(NamedTuple):
    """The terms to accept, with the time of the acceptance. The terms of a loan are as of today."""

    acceptable: bool
    terms: Any
    terms_sha256: str
    expires_at: datetime | None
    accepted_at: datetime | None
    as_of: str | None = None
    schedule: list[Instalment] | None = None


def describe(application: Application, *, now: datetime) -> Acceptable:
    """Return the acceptable terms. A loan whose first payment is before today can no longer be accepted."""
    is_open = application.status == APPROVED and application.accepted_at is None
    expires_at = application.updated_at + timedelta(days=IDLE_DAYS[APPROVED]) if is_open else None
    if (offered := counteroffers.acceptable_of(application, now=now)) is not None:
        terms = terms_today(offered.loan_terms, now=now)
        if terms is not None:
            return _acceptable(terms, True, offered.expires_at, None)
    if application.loan_terms is None:
        pinned = application.offer_snapshot
        return Acceptable(is_open, pinned, application.terms_sha256, expires_at, application.accepted_at)
    terms = terms_today(application.loan_terms, now=now) if is_open else application.loan_terms
    if terms is None:
        is_open, expires_at, terms = False, None, application.loan_terms
    return _acceptable(terms, is_open, expires_at, application.accepted_at)


def offered_terms(application: Application, *, now: datetime) -> LoanTerms | None:
    """Return the loan that can be accepted today, or None for an approval without a loan. The loan may be unsaved."""
    offered = counteroffers.acceptable_of(application, now=now)
    terms = application.loan_terms if offered is None else offered.loan_terms
    return None if terms is None else terms_today(terms, now=now)


def form_to_read(application: Application, *, language: str | None, now: datetime) -> Precontract:
    """Return the European information form of the counteroffered or approved terms. Raises NotFound."""
    return form_of_acceptable(application, describe(application, now=now), language=language, now=now)


def _acceptable(
    terms: LoanTerms, is_open: bool, expires_at: datetime | None, accepted_at: datetime | None
) -> Acceptable:
    schedule, as_of = loans.schedule_of(terms) or None, terms.as_of.isoformat()
    if expires_at is not None:
        expires_at = min(expires_at, loans.starts_by(terms) or expires_at)
    return Acceptable(is_open, terms.to_dict(), terms.terms_sha256, expires_at, accepted_at, as_of, schedule)


def terms_today(terms: LoanTerms, *, now: datetime) -> LoanTerms | None:
    """Return the terms of a loan that starts today, or None if the first payment is past. The terms may be unsaved."""
    if terms.as_of == now.date():
        return terms
    try:
        return loans.compute(terms.application, terms, kind=terms.kind, now=now, bounded=False)
    except ValidationFailed:
        return None


def _confirmed_terms(terms: LoanTerms, terms_sha256: str, *, as_of: str | None, now: datetime) -> LoanTerms:
    """Save and return the terms as of today. Raises TermsChanged if `terms_sha256` or `as_of` differs."""
    today = terms_today(terms, now=now)
    if today is None:
        raise NothingToAccept("The day of the first payment has passed. The lender must decide again.")
    if today.terms_sha256 != terms_sha256 or as_of not in (None, today.as_of.isoformat()):
        raise TermsChanged(details={"terms": today.to_dict(), "terms_sha256": today.terms_sha256})
    if today.pk != terms.pk:
        today.save(force_insert=True)
    return today


def accept(
    application_id: str,
    *,
    terms_sha256: str,
    actor: Actor,
    now: datetime,
    as_of: str | None = None,
    precontract_sha256: str | None = None,
    is_joint: bool = False,
) -> Application:
    """Accept the approval or the counteroffer of the actor's own application. Idempotent for the same terms.

    `as_of` is the day of the schedule that the applicant saw. If `as_of` is None, the day is not checked. EU credit
    requires `precontract_sha256`, the hash of the form that the applicant received. `is_joint` adds the applicants'
    declaration of joint credit to the agreement. Raises ApplicationNotFound, NothingToAccept, PricingNoticeDue, or
    PrecontractRequired. Raises TermsChanged if the terms differ from the approved terms, or from the terms as of today.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        offered, terms = None, application.loan_terms
        if application.status != APPROVED:
            offered = counteroffers.acceptable_of(application, now=now)
            if offered is None:
                raise NothingToAccept
            terms = _confirmed_terms(offered.loan_terms, terms_sha256, as_of=as_of, now=now)
        elif application.accepted_at is not None or terms is None:
            if terms_sha256 != (application.terms_sha256 if terms is None else terms.terms_sha256):
                raise TermsChanged
            if application.accepted_at is not None:
                return application
        else:
            terms = _confirmed_terms(terms, terms_sha256, as_of=as_of, now=now)
        if due := list(Notice.undelivered_about_pricing(application).values_list("pk", flat=True)):
            raise PricingNoticeDue(details={"notices": [str(pk) for pk in due]})
        form = require_form(application, terms, precontract_sha256)
        # The counteroffer already was the lender's decision, so its acceptance approves the application.
        if offered is not None and terms is not None:
            counteroffers.approve_offered(application, offered, terms, actor=actor, now=now)
        elif application.is_reconsiderable:
            clocks.close_review_request(application, APPROVED, by=actor.name, now=now)
        about: dict[str, Any] = {"terms_sha256": terms_sha256, "is_joint": is_joint, "form": form}
        _store_acceptance(application, terms, **about, actor=actor, now=now)
    return application


def decline(application_id: str, *, actor: Actor, now: datetime, terms_sha256: str | None = None) -> None:
    """Decline the approval of the actor's own application. The application becomes `withdrawn`.

    Raises ApplicationNotFound, InvalidApplicationTransition after the acceptance, and TermsChanged if `terms_sha256` is
    the hash of other terms. Raises NothingToAccept if the application is no longer `approved`, for example because the
    lender reopened the application.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        if application.status != APPROVED:
            raise NothingToAccept
        terms = application.loan_terms
        if terms_sha256 not in (None, application.terms_sha256 if terms is None else terms.terms_sha256):
            raise TermsChanged
        application.transition_to(WITHDRAWN, actor=actor, now=now, reason=DECLINED_TEXT)


def _store_acceptance(
    application: Application,
    terms: LoanTerms | None,
    *,
    terms_sha256: str,
    is_joint: bool,
    actor: Actor,
    now: datetime,
    form: Precontract | None,
) -> None:
    """Store the applicant's acceptance of an approval. The caller must have locked the application's row."""
    # `updated_at` always increases, so that a transition that read the approval earlier detects the acceptance.
    now = max(now, application.updated_at + timedelta(microseconds=1))
    application.accepted_at = application.updated_at = now
    application.loan_terms = terms
    members: Any = None if terms is None else members_of(application, terms, lender_of(application))
    if is_joint:
        members = [*(members or ()), joint_member(application)]
    is_eu = terms is not None and follows_directive(application.offer_snapshot)
    informed = conclude(application, is_informed=is_eu, is_complete=is_eu and is_complete(members))
    application.save(update_fields=["accepted_at", "updated_at", "loan_terms", *informed])
    Clock.stop(application.pk, Clock.TAKEN_UP, now=now)
    acceptance = Acceptance.objects.create(
        application=application,
        terms_sha256=terms_sha256,
        loan_terms=terms,
        accepted_at=now,
        members=members,
        principal=actor.user,
        credential=actor.credential,
    )
    if settings.ANCHOR_DECISIONS:
        accepted: dict[str, Any] = {"acceptance": str(acceptance.pk), "accepted_at": rfc3339(now)}
        agreed_terms = NOT_RECORDED if terms is None else terms.to_record()
        record = record_about(application, record_version=3, **accepted, **agreed_terms)
        about: dict[str, Any] = {"acceptance": acceptance, "application": application}
        record_keys.queue(record.text, openings=record.openings, now=now, **about)
    if is_eu:
        mail_links(application, now=now)
    if form is not None and was_provided_late(form, now=now):
        clocks.create_reminders(application, now=now)
    record_application_event("accepted", application, now=now)
    mails.mail_event(application, mails.ACCEPTED, now=now, rows=lambda: _payment_rows(application))


def _payment_rows(application: Application) -> list[tuple[str, str]]:
    terms = application.loan_terms
    schedule = [] if terms is None else loans.schedule_of(terms)
    return [(gettext("Payments"), payments_in_words(schedule, application.shown_currency))] if schedule else []


_signer = signing.TimestampSigner(salt="credit.information-form")


def provide(application: Application, form: Precontract, *, medium: str, is_opened: bool, now: datetime) -> None:
    """Store that the applicant received a form. For the first form of acceptable terms, mail a link to co-borrowers."""
    is_first = (
        describe(application, now=now).acceptable
        and not Precontract.objects.filter(
            application=application, terms_sha256=form.terms_sha256, provided_at__isnull=False
        ).exists()
    )
    with transaction.atomic():
        form.note_provision(medium, is_opened=is_opened, now=now)
        for email, language in other_borrowers(application.applicants) if is_first else ():
            borrower_form = form_to_read(application, language=language, now=now)
            with translation.override(language):
                about = mails.facts_of(application)
            link = f"{settings.APP_URL}/my/information/{_signer.sign(str(borrower_form.pk))}"
            queue_mail(email, "information", {"link": link, **about}, language=language, now=now)


def form_of_link(token: str) -> Precontract:
    """Return the form of a link that `provide` mailed. Raises NotFound for an altered or expired link."""
    form: Precontract = record_of_link(_signer, token, Precontract.objects.filter(html__isnull=False))
    return form

"""Create and deliver notices, and store the evidence of their delivery."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import translation

from config.core.digest import digest_of
from config.core.encryption import sealed_values
from config.core.errors import NotFound, ValidationFailed
from config.core.ids import get_by_uuid
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor, RecordNotEditable
from config.mail.models import FAILED as MAIL_FAILED
from config.mail.models import SENT
from config.mail.outbox import queue_mail
from config.ops.failed_items import FailedItems
from config.webhooks.events import record_event
from credit.anchoring import record_keys
from credit.anchoring.records import record_about
from credit.applications import mails
from credit.applications.services import load_for, lock_own
from credit.models import Clock, Consent, Delivery, Notice, ReviewRequest
from credit.models.applications import record_application_event
from credit.models.notices import (
    ADVERSE_ACTION,
    APPROVAL,
    COUNTEROFFER,
    DELIVERED,
    DUE,
    EMAIL,
    FAILED,
    INCOMPLETE,
    PORTAL,
    POST,
    PROVIDER,
    READY,
    UNDELIVERED,
)
from credit.notices.content import gather, render
from credit.offers import providers
from identity.access import consents
from identity.access.consents import ELECTRONIC_NOTICES

BATCH = 100
RETRY_AFTER = timedelta(hours=1)  # the time between two attempts to create a notice
_LEASE = timedelta(minutes=1)
# A reviewer must record deliveries with these channels. The platform detects all other deliveries.
RECORDED = (POST, PROVIDER)
REFERENCE_MAX = 255
STATEMENT_MAX = 4_000  # the maximum number of characters in a request for reconsideration
_EVENTS = {
    APPROVAL: mails.APPROVED,
    COUNTEROFFER: mails.OTHER_TERMS_OFFERED,
    ADVERSE_ACTION: mails.DECIDED,
    INCOMPLETE: mails.DOCUMENTS_REQUESTED,
}
_SYSTEM = Actor.system("issue_notices")


def issue_due(*, now: datetime) -> dict[str, int]:
    """Create due notices, process the results of mails, and report overdue clocks. Return the counts.

    Each call processes up to BATCH rows of each kind. Each row has its own transaction and lock, so several workers can
    run at the same time. If a row raises an error, the other rows are still processed, and `errors` counts the row.
    """
    counts = Counter(dict.fromkeys(("ready", "waiting", "delivered", "failed", "overdue", "errors"), 0))
    mailed = Notice.objects.filter(status=READY, mail__status__in=(SENT, MAIL_FAILED)).order_by("id")
    late = Clock.objects.filter(stopped_at__isnull=True, due_at__lte=now, overdue_told_at__isnull=True)
    work: tuple[tuple[str, QuerySet[Any], Callable[[Any, datetime], str]], ...] = (
        ("notice", Notice.objects.filter(look_at__lte=now, status=DUE).order_by("look_at"), make),
        ("notice_mail", mailed, _after_mail),
        ("notice_clock", late.order_by("due_at"), _report_overdue),
    )
    for kind, queue, step in work:
        items = FailedItems(kind, queue, lease=_LEASE)
        do = partial(_in_turn, queue, step, counts, now)
        counts["errors"] += items.process(do, now=now, choose=lambda rows: rows.values_list("pk", flat=True)[:BATCH])
    return dict(counts)


def _in_turn(
    queue: QuerySet[Any], step: Callable[[Any, datetime], str], counts: Counter[str], now: datetime, waiting: Any
) -> None:
    try:
        with transaction.atomic():
            # The row is None if it is no longer in the queue, or if another worker has locked it.
            row = queue.select_for_update(skip_locked=True, of=("self",)).filter(pk=waiting.pk).first()
            word = None if row is None else step(row, now)
    except Exception:
        if step is make:
            Notice.objects.filter(pk=waiting.pk, status=DUE).update(waits_for=Notice.FAULT)
        raise
    if word is not None:
        counts[word] += 1


def make(notice: Notice, now: datetime) -> str:
    """Create the notice, its mail, and its ledger record.

    If this is not possible yet, store why the notice waits. Return the result.
    """
    content = gather(notice)
    offered = None if notice.counteroffer is None else notice.counteroffer.loan_terms
    if isinstance(content, str):
        if not notice.waits_for and _is_mailed(notice):
            # The notice can't be created yet, so this mail replaces the mail about the notice.
            event = _EVENTS.get(notice.kind, mails.UPDATE)
            mails.mail_event(notice.application, event, now=now, offered=offered)
        Notice.objects.filter(pk=notice.pk).update(look_at=now + RETRY_AFTER, waits_for=content)
        return "waiting"
    mail = None
    if address := _mail_address(notice):
        link = f"{settings.APP_URL}/my/applications/{notice.application_id}/notices/{notice.pk}"
        with translation.override(content["language"]):
            facts = mails.facts_of(notice.application, offered=offered)
        mail = queue_mail(address, "notice", {"link": link, **facts}, language=content["language"], now=now)
    html = render(content, notice.profile)
    digest = digest_of(html)
    columns: dict[str, Any] = sealed_values(notice, content=json.dumps(content, ensure_ascii=False), html=html)
    columns |= {"sha256": digest, "mail": mail}
    notice.transition_to(READY, actor=_SYSTEM, now=now, changes={**columns, "language": content["language"]})
    if settings.ANCHOR_DECISIONS:
        about: dict[str, Any] = {"notice": str(notice.pk), "kind": notice.kind, "profile": notice.profile}
        about |= {"language": notice.language, "due_at": rfc3339(notice.due_at), "made_at": rfc3339(now)}
        record = record_about(notice.application, record_version=2, **about, notice_sha256=digest)
        subject: dict[str, Any] = {"notice": notice, "application": notice.application}
        record_keys.queue(record.text, openings=record.openings, now=now, **subject)
    return "ready"


def _is_mailed(notice: Notice) -> bool:
    is_on = EMAIL in settings.NOTICE_CHANNELS and notice.is_for_account
    return is_on and Consent.is_given_by(notice.application.consumer_id)


def _mail_address(notice: Notice) -> str:
    """Return the email address for the notice, or "" if the applicant has not consented to electronic records."""
    if not _is_mailed(notice):
        return ""
    persons: Any = notice.application.applicants or ()
    return next((person["email"] for person in persons if person.get("email")), notice.application.consumer.email)


def _after_mail(notice: Notice, now: datetime) -> str:
    mail: Any = notice.mail
    if mail.status == SENT:
        _deliver(notice, EMAIL, at=now, evidence={"mail": str(mail.pk)}, actor=_SYSTEM, now=now)
        return DELIVERED
    notice.transition_to(
        FAILED, actor=_SYSTEM, now=now, reason=f"The mail server rejected the mail: {mail.last_error}."
    )
    return FAILED


def _deliver(notice: Notice, channel: str, *, at: datetime, evidence: Any, actor: Actor, now: datetime) -> Delivery:
    """Store a delivery. The first delivery changes the status of the notice. The caller must have locked the notice."""
    delivery = Delivery.objects.create(
        notice=notice, channel=channel, at=at, evidence=evidence, recorded_at=now, principal=actor.user,
        credential=actor.credential,
    )  # fmt: skip
    if notice.status != DELIVERED:
        notice.transition_to(DELIVERED, actor=actor, now=now, changes={"delivered_at": at})
    return delivery


def _report_overdue(clock: Clock, now: datetime) -> str:
    """Send an event about an overdue clock to the owner of the lender. The caller must have locked the clock."""
    Clock.objects.filter(pk=clock.pk).update(overdue_told_at=now)
    rows = clock.application.notices.order_by("-id")
    notice = rows.filter(status__in=UNDELIVERED).first() or rows.first()
    owner_id = clock.application.provider_owner_id
    if owner_id is not None:
        about: dict[str, Any] = {"application_id": str(clock.application_id), "clock": clock.kind}
        members = {} if notice is None else {"notice_id": str(notice.pk), "kind": notice.kind}
        status = "none" if notice is None else notice.status
        record_event("notice.overdue", account_id=owner_id, now=now, **about, **members, status=status)
    return "overdue"


def readable_notices(application_id: str, actor: Actor) -> QuerySet[Notice]:
    """Return the notices of an application that `actor` can read, newest first. Raises the errors of `load_for`."""
    return Notice.readable_by(actor.user, load_for(application_id, actor)).order_by("-id")


def load_notice(application_id: str, notice_id: str, actor: Actor) -> Notice:
    """Return a notice that `actor` can read. Raises NotFound, and the errors of `load_for`."""
    rows = readable_notices(application_id, actor).select_related("application", "anchor__application", "counteroffer")
    notice: Notice = get_by_uuid(rows, notice_id, NotFound("Notice not found."))
    return notice


def _lock_notice(notice: Notice) -> Notice:
    """Lock a notice until the end of the transaction, and return its current state."""
    rows = Notice.objects.select_for_update(of=("self",)).select_related("application", "counteroffer")
    return rows.get(pk=notice.pk)


def record_opening(notice: Notice, *, actor: Actor, now: datetime) -> None:
    """Record that the applicant opened the notice with the applicant's log-in or key. Later openings are ignored.

    Opening a notice is a delivery only with the consent to electronic records (12 CFR 1002.4(d)(2), 15 USC 7001(c)).
    Without the consent, the notice is displayed, but must still be delivered by post.
    """
    is_person = actor.user.pk == notice.application.consumer_id and notice.is_for_account and not actor.limited
    if not is_person or PORTAL not in settings.NOTICE_CHANNELS or notice.status not in {READY, FAILED}:
        return
    # A risk-based pricing notice can be electronic without the consent (12 CFR 1022.73(b)(1)(ii)).
    if not notice.is_about_price and not Consent.is_given_by(notice.application.consumer_id):
        return
    with transaction.atomic():
        locked = _lock_notice(notice)
        if locked.status in {READY, FAILED}:
            _deliver(locked, PORTAL, at=now, evidence={"opened_with": actor.credential}, actor=actor, now=now)
    notice.refresh_from_db(fields=["status", "delivered_at", "updated_at"])


def record_delivery(
    application_id: str, notice_id: str, *, channel: str, at: datetime, reference: str, actor: Actor, now: datetime
) -> Delivery:
    """Record a delivery by post or by another channel of the lender.

    Raises the errors of `load_notice`, ReviewerRequired, SecondFactorRequired, and NoticeSettled. Raises
    ValidationFailed if the channel is not enabled. Also raises ValidationFailed if the time is in the future or before
    the creation of the notice.
    """
    notice = load_notice(application_id, notice_id, actor)
    if refusal := notice.application.check_reviewer(actor):
        raise refusal
    if channel not in settings.NOTICE_CHANNELS:
        raise ValidationFailed.of_member("channel", "This installation does not use this channel (`NOTICE_CHANNELS`).")
    with transaction.atomic(savepoint=False):
        notice = _lock_notice(notice)
        refusal = None if notice.status == DELIVERED else notice.check_transition(DELIVERED, actor)
        if refusal is not None:
            raise refusal
        if not (notice.made_at or now) <= at <= now:
            raise ValidationFailed.of_member("at", "Must be after the notice was created, and not in the future.")
        return _deliver(notice, channel, at=at, evidence={"reference": reference}, actor=actor, now=now)


def request_review(application_id: str, *, statement: str, actor: Actor, now: datetime) -> ReviewRequest:
    """Store an applicant's request for reconsideration. The next decision closes the request.

    Raises ApplicationNotFound. Raises RecordNotEditable if the decision can't be reconsidered, or if a request is
    already open.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        if not application.is_reconsiderable:
            raise RecordNotEditable(
                "You can request reconsideration of a rejection, of an open counteroffer, or of an unaccepted approval "
                "on worse terms than you requested."
            )
        try:
            with transaction.atomic():
                clock = Clock.start(application, Clock.REVIEW, now=now)
                request = ReviewRequest.objects.create(
                    application=application, statement=statement, requested_at=now, due_at=clock.due_at
                )
        except IntegrityError as error:
            raise RecordNotEditable("A request for reconsideration is already open.") from error
        record_application_event("review_requested", application, now=now, review_request_id=str(request.pk))
        mails.mail_event(application, mails.RECONSIDERATION, now=now, by=clock.due_at)
        return request


def notices_of_provider(provider_id: str, actor: Actor) -> QuerySet[Notice]:
    """Return the notices of applications to a lender, sorted by `due_at`. Raises the errors of `load_read`."""
    provider = providers.load_read(provider_id, actor)
    number = providers.number_of(provider.pk)
    if number is None:  # applications store the lender's ID as an integer
        return Notice.objects.none()
    notices = Notice.objects.filter(provider_id=number, application__created_at__gte=provider.created_at)
    return notices.order_by("due_at", "id")


# --- Consent to electronic records (15 USC 7001(c)) -------------------------------------------------------------------


def consent_text(language: str) -> str:
    with translation.override(language):
        return render_to_string("notices/consent.txt").strip()


def give_consent(*, text_sha256: str, language: str, actor: Actor, now: datetime) -> Consent:
    """Store the account's consent to the current text. Raises ValidationFailed if the hash is of another text."""
    text = consent_text(language)
    if text_sha256 != digest_of(text):
        raise ValidationFailed.of_member(
            "text_sha256", "`text_sha256` must be the hash of the current text. Get the text again."
        )
    consent = _keep_consent(actor, text, is_given=True, now=now)
    _of_account(actor).end(now=now)
    scope, digest = "notices about applications", consent.text_sha256
    consents.give_consent(actor.user.pk, ELECTRONIC_NOTICES, consent.pk, scope=scope, text_sha256=digest, now=now)
    return consent


def withdraw_consent(*, actor: Actor, now: datetime) -> None:
    """Store the withdrawal of the account's consent. Idempotent."""
    newest = Consent.newest_of(actor.user.pk)
    if newest is not None and newest.is_given:
        _keep_consent(actor, newest.text, is_given=False, now=now)
        _of_account(actor).end(now=now)


def _of_account(actor: Actor) -> consents.ConsentQuerySet:
    return consents.Consent.objects.filter(account=actor.user.pk, kind=ELECTRONIC_NOTICES)


def _end_consent(_consent: consents.Consent, *, actor: Actor, now: datetime) -> None:
    withdraw_consent(actor=actor, now=now)


CONSENT_ENDING = (ELECTRONIC_NOTICES, _end_consent)


def _keep_consent(actor: Actor, text: str, *, is_given: bool, now: datetime) -> Consent:
    return Consent.objects.create(
        user=actor.user, is_given=is_given, text=text, text_sha256=digest_of(text), at=now, credential=actor.credential
    )

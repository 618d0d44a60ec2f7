"""Declare or record a withdrawal from an accepted agreement (Directive (EU) 2023/2225, Art. 26)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext

from config.core.credentials import InsufficientScope
from config.core.errors import ValidationFailed
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor, ReviewerRequired
from config.mail.outbox import queue_mail
from credit.anchoring import record_keys
from credit.anchoring.records import record_about
from credit.applications.lenders import lender_of
from credit.applications.services import load_for
from credit.applications.withdrawal_right import FACTS, Withdrawable, countries_of, describe, last_day_of, rows_of
from credit.core import deadlines, withdrawal
from credit.core.applicants import language_of
from credit.core.errors import WithdrawalOver
from credit.core.figures import reference_of
from credit.models import Application, ContractWithdrawal, Notice, Provider
from credit.models.applications import record_application_event
from credit.models.notices import WITHDRAWAL_REMINDER

# A reviewer records declarations that the lender received through these channels.
RECORDED = (ContractWithdrawal.EMAIL, ContractWithdrawal.POST, ContractWithdrawal.IN_PERSON)


def declare(
    application_id: str, *, actor: Actor, now: datetime, declared_at: datetime | None = None, channel: str | None = None
) -> Application:
    """Withdraw from the agreement of the actor's own application. A reviewer can record the withdrawal of a borrower.

    Idempotent.

    Only reviewers send `declared_at` and `channel`, for a declaration that the lender received. `declared_at` is the
    time at which the borrower sent the declaration. Raises ApplicationNotFound, InsufficientScope, ReviewerRequired,
    SecondFactorRequired, NotFound (as in `describe`), ValidationFailed, or WithdrawalOver.
    """
    application = load_for(application_id, actor)
    if application.consumer_id == actor.user.pk:
        if declared_at is not None or channel is not None:
            name = "declared_at" if channel is None else "channel"
            raise ValidationFailed.of_member(name, "Must be omitted. Only a reviewer can set it.")
        sent_at, way = now, ContractWithdrawal.PORTAL if actor.credential == "my" else ContractWithdrawal.API
    else:
        if actor.limited:
            raise InsufficientScope("No scope allows recording a withdrawal.")
        if refusal := application.check_reviewer(actor):
            raise refusal
        if declared_at is None:
            raise ValidationFailed.of_member("declared_at", "Required: when the borrower sent the declaration.")
        if channel not in RECORDED:
            raise ValidationFailed.of_member("channel", f"Required: one of {', '.join(RECORDED)}.")
        sent_at, way = declared_at, channel
    with transaction.atomic(savepoint=False):
        application = Application.objects.select_for_update(of=("self",)).get(pk=application.pk)
        right = describe(application)
        if right.declared_at is None:
            concluded_at: Any = application.accepted_at
            if not concluded_at <= sent_at <= now:
                message = f"Must be from the acceptance ({rfc3339(concluded_at)}) to now."
                raise ValidationFailed.of_member("declared_at", message)
            end, last = right.period_ends_at, last_day_of(application, right)
            if end is not None and last is not None and sent_at >= end:
                raise WithdrawalOver(
                    f"The period for withdrawing from the agreement ended on {last}.",
                    details={"last_day": last.isoformat(), "period_ends_at": rfc3339(end)},
                )
            _store(application, right, sent_at=sent_at, way=way, actor=actor, now=now)
    return application


def _store(
    application: Application, right: Withdrawable, *, sent_at: datetime, way: str, actor: Actor, now: datetime
) -> None:
    """Store the withdrawal. The caller must have locked the application's row."""
    application.contract_withdrawal = ContractWithdrawal.objects.create(
        application=application,
        declared_at=sent_at,
        received_at=now,
        channel=way,
        period_ends_at=right.period_ends_at,
        repay_by=withdrawal.repay_by(sent_at, countries_of(application)),
        interest_a_day_cents=right.interest_a_day_cents,
        principal=actor.user,
        credential=actor.credential,
    )
    if settings.ANCHOR_DECISIONS:
        row, terms = application.contract_withdrawal, application.loan_terms
        record = record_about(
            application,
            record_version=1,
            withdrawal=str(row.pk),
            terms_sha256=None if terms is None else terms.terms_sha256,
            declared_at=rfc3339(row.declared_at),
            received_at=rfc3339(row.received_at),
            channel=row.channel,
            period_ends_at=None if row.period_ends_at is None else rfc3339(row.period_ends_at),
            repay_by=row.repay_by.isoformat(),
        )
        record_keys.queue(record.text, openings=record.openings, now=now, withdrawal=row, application=application)
    application.withdrawn_from_at = sent_at
    application.updated_at = max(now, application.updated_at + timedelta(microseconds=1))
    application.save(update_fields=["withdrawn_from_at", "updated_at"])
    Notice.cancel_undelivered(application, now=now, kind=WITHDRAWAL_REMINDER)
    link = f"{settings.APP_URL}/my/applications/{application.pk}/withdrawal"
    lender = lender_of(application)
    for number, address, language in _receipts(application):
        with translation.override(language):
            # Only the first borrower has an account, so only their mail has a link to the page.
            context = {"link": link if number == 1 else "", "rows": _receipt_rows(application, lender)}
        queue_mail(address, "contract_withdrawn", context, language=language, now=now)
    record_application_event("contract_withdrawn", application, now=now)


def _receipt_rows(application: Application, lender: Provider) -> list[tuple[str, str]]:
    """Return the (name, value) rows of a receipt: agreement, lender, declaration, and amounts due."""
    zone = deadlines.zone_of(application.applicants)
    declared_at = deadlines.in_words(application.contract_withdrawal.declared_at, zone)
    rows = [
        (gettext("Application"), reference_of(application.pk)),
        (gettext("Lender"), lender.name),
        (gettext("Telephone"), lender.phone),
        (gettext("Email address"), lender.email),
        (gettext("Withdrawn on"), declared_at),
    ]
    right = describe(application)
    record = [] if right.proof is None else [(gettext("Record of the withdrawal, SHA-256"), right.proof.record_sha256)]
    return [*((name, value) for name, value in rows if value), *rows_of(application, right), *record]


def _receipts(application: Application) -> Iterator[tuple[int, str, str]]:
    """Yield the number, the email address, and the language of each borrower who has an email address.

    If the application has no email address of the first borrower, the email address of the account is used.
    """
    persons = list(application.applicants or ())
    addresses = [person.get("email") for person in persons] or [None]
    addresses[0] = addresses[0] or application.consumer.email
    for number, address in enumerate(addresses, start=1):
        if address:
            yield number, address, language_of(application.applicants, number=number)


def state_fact(application_id: Any, fact: str, *, at: datetime | None, actor: Actor, now: datetime) -> Application:
    """Set or clear a time of `FACTS`. These times determine the withdrawal period.

    The back office logs the reason for the change.

    Raises ReviewerRequired (even for the actor's own agreement), SecondFactorRequired, and NotFound (as in `describe`).
    Raises ValidationFailed after a withdrawal, or for a time before the acceptance or in the future.
    """
    if fact not in FACTS:
        raise ValidationFailed.of_member("fact", f"Must be one of {', '.join(FACTS)}.")
    with transaction.atomic(savepoint=False):
        application = Application.objects.select_for_update(of=("self",)).get(pk=application_id)
        if application.consumer_id == actor.user.pk:
            raise ReviewerRequired("You can't change the withdrawal period of your own agreement.")
        if refusal := application.check_reviewer(actor):
            raise refusal
        right = describe(application)
        if right.declared_at is not None:
            raise ValidationFailed("A borrower has withdrawn from the agreement already.")
        concluded_at: Any = application.accepted_at
        if at is not None and not concluded_at <= at <= now:
            message = f"Must be from the acceptance ({rfc3339(concluded_at)}) to now."
            raise ValidationFailed.of_member("at", message)
        setattr(application, fact, at)
        application.save(update_fields=[fact])
    return application

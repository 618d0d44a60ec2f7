"""Request reports, and collect the reports that a vendor did not return immediately.

A report is stored before the vendor is called, and the report's ID is the idempotency key. After a timeout or a crash,
the outcome is unknown, so `collect` calls the vendor's `result`. If the vendor does not know the ID, `collect` requests
the report again with the same ID. So the lender never pays twice for a report.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from typing import Any, cast

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from config.clients.provider import ProviderError
from config.core import audit
from config.core.encryption import UnreadableSecret
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor, audit_actor
from config.ops.failed_items import FailedItems
from config.webhooks.events import record_event
from credit.core.applicants import FIRST
from credit.core.errors import PurposeMissing, ReportNotPossible, ReportPending, ReportVendorError
from credit.core.report_summary import LATEST, checked_dates, checked_raw, checked_summary
from credit.models import Application, Report
from credit.models.reports import CREDIT_TRANSACTION, FAILED, FROZEN, NO_FILE, RECEIVED, REQUESTED, WRITTEN_INSTRUCTIONS
from credit.reports.vendor import PENDING, ReportRequest, ReportVendor, UnknownReport, VendorReport, report_vendor
from credit.review.confirmations import load_for_facts
from identity.access.consents import CREDIT_REPORT, Consent, give_consent

_IN_USE = timedelta(days=30)
_LEASE = timedelta(seconds=60)  # the lease must exceed the timeout of a call to the vendor
_PAUSE, _LONGEST_PAUSE = timedelta(seconds=10), timedelta(hours=1)
_COPIED = (
    "status", "person", "requested_by_id", "requested_at", "look_at", "as_of", "expires_at", "summary",
    "summary_sha256", "raw", "raw_sha256",
)  # fmt: skip

logger = logging.getLogger("platform.reports")


def request_report(
    application_id: str, *, kind: str, purpose: str | None, applicant: int, actor: Actor, now: datetime
) -> tuple[Report, bool]:
    """Request a report about an applicant. Return the report, and whether it already existed.

    Call this function outside of transactions. While the vendor works, or if the outcome is unknown, the status remains
    `requested`. Raises the errors of `load_for_facts`, PurposeMissing, and ReportNotPossible. Raises ReportPending
    while another report is requested, and ReportVendorError if the request certainly had no effect.
    """
    if purpose is None:
        raise PurposeMissing
    vendor = report_vendor()
    if vendor is None:
        raise ReportNotPossible("This installation has no vendor of reports (`REPORTS` is off).")
    with transaction.atomic():
        application = load_for_facts(application_id, actor)
        persons = Report.persons_of(application, applicant)
        if not persons:
            raise ReportNotPossible(f"Applicant {applicant} must have a legal name and a `date_of_birth`.")
        about = {"application": application, "applicant": applicant, "kind": kind, "purpose": purpose}
        about["vendor"] = vendor.name
        if purpose == WRITTEN_INSTRUCTIONS and applicant == FIRST:
            _store_instructions(application, kind, now)
        if (current := _current(about, persons, now)) is not None:
            return current, True
        try:
            with transaction.atomic():
                report = Report.objects.create(
                    **about, person=persons[0], requested_by=actor.user,
                    requested_at=now, look_at=now + _LEASE,
                )  # fmt: skip
        except IntegrityError as error:
            raise ReportPending(
                "A report of this kind about this applicant is already requested. Wait for its result."
            ) from error
        _audit(report, audit_actor(actor))
    _order(vendor, report, now=now)
    return report, False


def _order(vendor: ReportVendor, report: Report, *, now: datetime) -> None:
    """Request a stored report from the vendor. Raises ReportVendorError if the request certainly had no effect."""
    try:
        _call_vendor(vendor, report, now=now, is_first=True)
    except ProviderError as error:
        if not error.outcome_unknown:
            finish(report, VendorReport(FAILED), now=now)
            raise ReportVendorError from error
        logger.warning("report %s: the outcome is unknown (%s)", report.pk, error.word)
    except Exception as error:  # noqa: BLE001  an adapter's error message can contain personal data
        logger.error("report %s: the adapter raised %s", report.pk, type(error).__name__)  # noqa: TRY400
    # The call has ended, so `collect` can call the vendor after the pause.
    if report.status == REQUESTED:
        Report.objects.filter(pk=report.pk, status=REQUESTED).update(look_at=now + _PAUSE)


def _audit(report: Report, actor: dict[str, Any]) -> None:
    about = {"subject": report.application.consumer_id, "provider": str(report.application.provider_id)}
    entity = audit.entity(report._meta.label_lower, report.pk)
    audit.emit("report.requested", actor=actor, entity=entity, unmapped=about)


def _store_instructions(application: Application, kind: str, now: datetime) -> None:
    """Store the consent that the lender asserts. Raises ReportNotPossible if the applicant has ended this consent.

    The second applicant has no account, and therefore can't end a consent.
    """
    scope = f"{application.pk}: {kind} report to lender {application.provider_id}"
    newest = Consent.objects.filter(reference=application.pk, kind=CREDIT_REPORT, scope=scope).first()
    if newest is None:
        give_consent(application.consumer_id, CREDIT_REPORT, application.pk, scope=scope, now=now)
    elif newest.ended_at is not None:
        raise ReportNotPossible("The applicant ended the consent to this report. `written_instructions` can't be used.")


def request_for_score(application: Application, kinds: Sequence[str], *, now: datetime) -> bool:
    """Store a request for each kind of report that the offer requires at the submission. `collect` calls the vendor.

    Returns whether the score must wait for a report. It doesn't wait if all reports are current, no vendor is
    configured, or the applicant has no legal name or date of birth.
    """
    vendor, persons, waits = report_vendor(), Report.persons_of(application, FIRST), False
    if vendor is None or not persons:
        return False
    for kind in kinds:
        about = {"application": application, "applicant": FIRST, "kind": kind, "purpose": CREDIT_TRANSACTION}
        about["vendor"] = vendor.name
        if _current(about, persons, now) is None:
            columns = {"person": persons[0], "requested_at": now, "look_at": now, "score_waits": True}
            _audit(Report.objects.create(**about, **columns), {"app_name": "score_submission"})
            waits = True
    return waits


def index_persons() -> int:
    """Compute the hashes of the applicants of all reports again, with the first encryption key.

    Return the number of changed reports.

    If the applicant's data changed after the request, the report's hash remains.
    """
    changed = 0
    for report in Report.objects.select_related("application").defer("summary", "raw").iterator(chunk_size=500):
        try:
            persons = Report.persons_of(report.application, report.applicant)
        except UnreadableSecret:
            # The error has already been logged.
            continue
        if report.person in persons[1:]:
            changed += Report.objects.filter(pk=report.pk).update(person=persons[0])
    return changed


def reports_for(application: Application, viewer: Any) -> QuerySet[Report]:
    """Return the reports that `viewer` can see. The applicant's account sees only reports about the first applicant."""
    reports = Report.objects.filter(application=application)
    return reports.filter(applicant=FIRST) if application.consumer_id == viewer.pk else reports


def _current(about: dict[str, Any], digests: list[str], now: datetime) -> Report | None:
    """Return an unexpired report about the same applicant, or None. A report of another application is copied.

    A report is never copied to another account, because the account's owner could read it.
    """
    same = Report.objects.filter(
        person__in=digests, kind=about["kind"], purpose=about["purpose"], vendor=about["vendor"], status=RECEIVED,
        expires_at__gt=now, summary__isnull=False, application__consumer=about["application"].consumer_id,
    )  # fmt: skip
    own = same.filter(application=about["application"], applicant=about["applicant"]).last()
    if own is not None or (report := same.last()) is None:
        return own
    return Report.objects.create(**about, **{name: getattr(report, name) for name in _COPIED})


def collect(*, now: datetime) -> dict[str, int]:
    """Get requested reports from the vendor. If a report is still missing after LATEST, the request has failed."""
    counts = {"finished": 0, "waiting": 0}
    vendor = report_vendor()
    open_reports = Report.objects.filter(status=REQUESTED, look_at__lte=now).order_by("look_at")
    items = FailedItems("report", open_reports, lease=_LEASE)

    def process_report(report: Report) -> None:
        Report.objects.filter(pk=report.pk, status=REQUESTED).update(look_at=now + _LEASE)
        if now - report.requested_at > LATEST or vendor is None or vendor.name != report.vendor:
            finish(report, VendorReport(FAILED), now=now)
        else:
            try:
                _call_vendor(vendor, report, now=now, is_first=False)
            except ProviderError as error:
                logger.warning("report %s is not available yet (%s)", report.pk, error.word)
        counts["waiting" if report.status == REQUESTED else "finished"] += 1
        pause = min(max(_PAUSE, (now - report.requested_at) / 4), _LONGEST_PAUSE)
        Report.objects.filter(pk=report.pk, status=REQUESTED).update(look_at=now + pause)

    failed = items.process(process_report, now=now)
    return {**counts, "failed": failed}


def _call_vendor(vendor: ReportVendor, report: Report, *, now: datetime, is_first: bool) -> None:
    persons: list[Any] = list(report.application.applicants or ())
    if not report.is_about(report.application):
        # The applicant's data changed, so the report could be about another person.
        finish(report, VendorReport(FAILED), now=now)
        return
    person = {name: persons[report.applicant - 1][name] for name in ("legal_name", "date_of_birth", "address")}
    request = ReportRequest(str(report.pk), report.kind, report.purpose, report.requested_at, person)
    if is_first:
        answer = vendor.request(request)
    else:
        try:
            answer = vendor.result(request)
        except UnknownReport:
            answer = _request_again(vendor, request)
    if answer.status != PENDING:
        finish(report, answer, now=now)


def _request_again(vendor: ReportVendor, request: ReportRequest) -> VendorReport:
    """Request a report again if the vendor does not know it.

    If the vendor definitely rejects the request, the report has failed.

    If the vendor rejects the call of `result`, the report has not failed, because the first request may have had an
    effect.
    """
    try:
        return vendor.request(request)
    except ProviderError as error:
        if error.outcome_unknown:
            raise
        return VendorReport(FAILED)


def finish(report: Report, answer: VendorReport, *, now: datetime) -> None:
    """Store a vendor's response. Later responses are ignored."""
    columns: dict[str, Any] = {"status": FAILED}
    if answer.status in (RECEIVED, NO_FILE, FROZEN):  # a tuple, because a wrong status can be unhashable
        try:
            columns = _columns(answer)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            logger.error("report %s does not match the schema (%s)", report.pk, type(error).__name__)  # noqa: TRY400
    for name, value in columns.items():
        setattr(report, name, value)
    with transaction.atomic():
        waiting = Report.objects.select_for_update().filter(pk=report.pk, status=REQUESTED)
        if not waiting.exists():
            report.refresh_from_db()
            return
        report.save(update_fields=list(columns))
        _record_event(report, now)


def _columns(answer: VendorReport) -> dict[str, Any]:
    text, raw = canonical_json(checked_summary(answer.summary)), checked_raw(answer.raw)
    checked_dates(answer.as_of, answer.expires_at)
    day = cast("date", answer.as_of)
    return {
        "status": answer.status,
        "as_of": day,
        "expires_at": answer.expires_at or datetime.combine(day, time(), UTC) + _IN_USE,
        "summary": text.decode(),
        "summary_sha256": sha256(text).hexdigest(),
        "raw": raw,
        "raw_sha256": None if raw is None else sha256(raw.encode()).hexdigest(),
    }


def _record_event(report: Report, now: datetime) -> None:
    application: Application = report.application
    if (owner_id := application.provider_owner_id) is not None:
        word = "failed" if report.status == FAILED else "received"
        ids = {"report_id": str(report.pk), "application_id": str(application.pk)}
        record_event(f"report.{word}", account_id=owner_id, now=now, **ids)

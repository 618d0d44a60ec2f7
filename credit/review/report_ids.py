"""Resolve `metadata.report_ids` of a decision to the stored reports that the decision's notices contain."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from config.core.errors import ValidationFailed
from config.core.ids import get_by_uuid
from credit.core.applicants import APPLICANTS_MAX, FIRST
from credit.core.consumer_reports import REPORTS_MAX, reports_of, where_of
from credit.core.facts import REPORT
from credit.core.machine import JUDGEMENTS
from credit.core.report_summary import consumer_report_of
from credit.models import Application, Report
from credit.models.reports import FROZEN, KINDS, NO_FILE, RECEIVED

_IDS_MAX = REPORTS_MAX * APPLICANTS_MAX


def with_reports(application: Application, to: str, metadata: Any) -> Any:
    """Return a decision's metadata with `consumer_report` from the stored reports in `report_ids`.

    Without `report_ids` and `consumer_report`, the reports that the score used are added, because they also require a
    notice. Raises ValidationFailed for the ID of another application's report, and for a `consumer_report` that differs
    from the reports in `report_ids`. Equal reports in both fields are accepted, because the metadata of a confirmed
    proposal has both fields.

    If reviewers decide, `consumer_report` also raises ValidationFailed in two cases: `REPORTS` selects a vendor or the
    sandbox, or the application has a report. Without a vendor, the request must contain the agency that 15 USC 1681m(a)
    requires in the notice.
    """
    if to not in JUDGEMENTS or not isinstance(metadata, dict | None):
        return metadata
    members = metadata or {}
    ids, typed = members.get("report_ids"), members.get("consumer_report")
    if ids is None and typed is None:
        ids = read_by_score(application) or None
    if ids is not None:
        reports = _reports(application, ids, to)
        if typed is not None and reports_of(members, to=to) != reports_of({"consumer_report": reports}):
            message = "Must be absent, because `report_ids` has the reports of the decision."
            raise ValidationFailed.of_member(where_of("consumer_report", to), message)
        return {**members, "report_ids": ids, "consumer_report": reports}
    is_typed = typed is not None and settings.REVIEW_POLICY != "open"
    if is_typed and (settings.REPORTS != "off" or Report.objects.filter(application=application).exists()):
        message = "Must be absent. Request the report, and send its id in `report_ids`."
        raise ValidationFailed.of_member(where_of("consumer_report", to), message)
    return metadata


def _reports(application: Application, ids: Any, to: str) -> list[dict[str, Any]]:
    where = where_of("report_ids", to)
    if not isinstance(ids, list) or not 1 <= len(ids) <= _IDS_MAX or not all(isinstance(item, str) for item in ids):
        raise ValidationFailed.of_member(where, f"Must be a list of 1 to {_IDS_MAX} ids of reports.")
    stored, reports = ended_reports(application), []
    for position, identifier in enumerate(ids):
        wrong = ValidationFailed.of_member(
            f"{where}[{position}]", "Must be the id of a completed report of this application."
        )
        report = get_by_uuid(stored, identifier, wrong)
        if (summary := report.parsed_summary) is None or report.as_of is None:
            raise wrong
        reports.append(consumer_report_of(summary, applicant=report.applicant, day=report.as_of.isoformat()))
    # If an agency supplied two reports about an applicant, the notice contains only the first report.
    first = {(report["applicant"], report["agency"].casefold()): report for report in reversed(reports)}
    return [report for report in reports if any(report is other for other in first.values())]


def ended_reports(application: Application) -> QuerySet[Report]:
    """Return the reports to which a decision can refer, oldest first."""
    return Report.objects.filter(application=application, status__in=(RECEIVED, NO_FILE, FROZEN))


def read_by_score(application: Application) -> list[str]:
    """Return the IDs of the reports that the decision score used. The credit report is first."""
    score = application.decision_score
    if score is None or not any(source["source"] == REPORT for source in score.sources or ()):
        return []
    reports = Report.objects.filter(
        application=application, applicant=FIRST, status=RECEIVED, requested_at__lte=score.created_at
    )
    newest = {report.kind: str(report.pk) for report in reports}
    return [newest[kind] for kind in KINDS if kind in newest]

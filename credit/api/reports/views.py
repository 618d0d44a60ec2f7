from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.response import Response

from config.api.views import ApiRequest, ApiViewSet, also_answers, endpoint
from config.core.credentials import FIRST_PARTY
from config.core.ids import get_by_uuid
from config.core.lifecycle import RecordNotEditable, ReviewerRequired, SecondFactorRequired, actor_of
from credit.api.reports.serializers import ReportRequestSerializer, ReportSerializer
from credit.applications.services import load_for, note_reading
from credit.core import errors
from credit.models import Report
from credit.models.reports import REQUESTED
from credit.reports.services import reports_for, request_report


class ReportViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(access=FIRST_PARTY, answer=ReportSerializer(many=True), errors=errors.READ_ERRORS)
    def list(self, request: ApiRequest, application_id: str) -> QuerySet[Report]:
        """List the reports about the applicants.

        The oldest report is first. The account that applies gets only the reports about the first applicant.
        """
        application = load_for(application_id, actor_of(request))
        return reports_for(application, request.user)

    @also_answers(
        200,
        ReportSerializer,
        "An unexpired report of the same kind, purpose, and applicant exists. The API returns it.",
    )
    @also_answers(202, ReportSerializer, "The vendor is processing the request, or has not responded yet.")
    @endpoint(
        access=FIRST_PARTY,
        body=ReportRequestSerializer,
        answer=ReportSerializer,
        status=201,
        idempotent=True,
        leased=True,
        errors=(
            errors.ApplicationNotFound, errors.PurposeMissing, RecordNotEditable, errors.ReportNotPossible,
            errors.ReportPending, errors.ReportVendorError, ReviewerRequired, SecondFactorRequired,
        ),
    )  # fmt: skip
    def create(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Response:
        """Request a report about an applicant.

        Requires a reviewer who is not the applicant. After a decision, a withdrawal, or an expiry, the API returns 400
        `E3004`. If the vendor's response is late or lost, the API returns 202 with the status `requested`. The worker
        gets the report later. Until then, a retry requests no second report.
        """
        report, is_reused = request_report(application_id, **body, actor=actor_of(request), now=timezone.now())
        report.is_reused = is_reused
        status = 202 if report.status == REQUESTED else 201
        return Response(ReportSerializer.represent(report), status=200 if is_reused else status)

    @endpoint(access=FIRST_PARTY, answer=ReportSerializer, errors=(*errors.READ_ERRORS, errors.ReportNotFound))
    def retrieve(self, request: ApiRequest, application_id: str, report_id: str) -> Report:
        """Get a report about an applicant.

        Reviewers also get the vendor's response (`raw`). If you get a report about another person, the access log of
        personal data records the access.
        """
        application = load_for(application_id, actor_of(request), is_noted=False)
        report = get_by_uuid(reports_for(application, request.user), report_id, errors.ReportNotFound)
        note_reading(application, request.user, report=str(report.pk))
        if application.consumer_id != request.user.pk and application.is_reviewed_by(request.user):
            report.shown_raw = report.raw
        return report

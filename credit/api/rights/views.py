from typing import Any

from django.db.models import QuerySet
from django.utils import timezone, translation

from config.api import heavy
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY, PUBLIC
from config.core.errors import NotFound
from config.core.lifecycle import RecordNotEditable, ReviewerRequired, actor_of
from credit.api.rights import serializers
from credit.applications.services import load_for
from credit.core.errors import READ_ERRORS, ApplicationNotFound, NotCorrectable, OfferNotFound, ReportPending
from credit.models import Correction
from credit.offers.services import load_offer
from credit.scoring.corrections import answer_correction, corrections_of, request_correction
from credit.scoring.explanation import describe_automation, explain


class AutomationViewSet(ApiViewSet):
    tag = "provider-offers"

    @endpoint(
        access=PUBLIC,
        query=serializers.AutomationQuery,
        answer=serializers.AutomationSerializer,
        errors=(OfferNotFound,),
    )
    def retrieve(self, request: ApiRequest, offer_id: str, query: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Get the automated processing of an offer.

        The response states whether and how a score is used. The response also lists the categories and the sources of
        the data that the score reads, and describes the role of people. The champion of the offer's scoring model
        determines the response. Display `before` to applicants before they apply.
        """
        offer = load_offer(offer_id)
        with translation.override(query["language"]):
            return describe_automation(offer)


class ExplanationViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(
        access=FIRST_PARTY,
        query=serializers.LanguageQuery,
        answer=serializers.ExplanationSerializer,
        errors=READ_ERRORS,
    )
    def retrieve(self, request: ApiRequest, application_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """Get the explanation of a decision.

        The response explains the newest decision: the role of the score, the decider, and the applicant's possible
        actions. Before a decision, the response explains the current score. Each of the `inputs` has its points, and
        its facts with value, source, and day. If there is no score, `automated` is `none`, and `score`, `procedure`,
        `inputs`, and `changes` are null.
        """
        application = load_for(application_id, actor_of(request))
        with heavy.slot(request):
            return explain(application, query["language"])


class CorrectionViewSet(ApiViewSet):
    """Values that the applicant reports as wrong."""

    tag = "applications"

    @endpoint(
        access="applications:read", page=PageQuery, answer=serializers.CorrectionsPageSerializer, errors=READ_ERRORS
    )
    def list(self, request: ApiRequest, application_id: str) -> QuerySet[Correction]:
        """List the corrections of an application.

        The newest correction is first.
        """
        return corrections_of(application_id, actor_of(request))

    @endpoint(
        access="applications:write",
        body=serializers.CorrectionRequestSerializer,
        answer=serializers.CorrectionSerializer,
        status=201,
        idempotent=True,
        errors=(ApplicationNotFound, NotCorrectable, RecordNotEditable),
    )
    def create(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Correction:
        """Report a wrong value.

        Only the applicant can report a value. The fact must be a top-level field of `application_data`, or a fact that
        the newest score used. `person.…` facts can't be reported. For other facts, the API returns 400 `E3020`. The API
        also returns `E3020` for a draft, and for a withdrawn or expired application. A fact has at most one open
        correction. A reviewer must answer by `due_at`, 30 days after the report.
        """
        return request_correction(application_id, **body, actor=actor_of(request), now=timezone.now())

    @heavy.operation()
    @endpoint(
        access=FIRST_PARTY,
        body=serializers.CorrectionAnswerRequestSerializer,
        answer=serializers.CorrectionSerializer,
        idempotent=True,
        errors=(*READ_ERRORS, NotFound, ReportPending, ReviewerRequired, RecordNotEditable),
    )
    def answer(self, request: ApiRequest, application_id: str, correction_id: str, body: dict[str, Any]) -> Correction:
        """Answer a correction.

        Requires a reviewer who is not the applicant. Under four-eyes approval, a reviewer can't answer if no other
        account can review the application. If the model's champion reads the fact, the answer `corrected` computes a
        new score with the claimed value. With `DECISIONING=off`, there is no new score. The earlier scores, the
        application's data, and its status don't change. If the new score leads to another outcome, decide the
        application again.

        If the correction is already answered, the API returns 400 `E3004`. For `corrected`, the API also returns
        `E3004` if a proposed decision is pending, a counteroffer is open, or the application is withdrawn or expired.
        """
        return answer_correction(application_id, correction_id, **body, actor=actor_of(request), now=timezone.now())

from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.http import HttpResponse
from django.utils import timezone

from config.api import heavy
from config.api.renderers import renderer_for
from config.api.views import ApiRequest, ApiViewSet, also_answers, endpoint
from config.core.credentials import FIRST_PARTY, PUBLIC
from config.core.errors import NotFound
from config.core.json_text import render_json
from config.core.lifecycle import RecordNotEditable, ReviewerRequired, SecondFactorRequired, actor_of
from credit.anchoring import verify_decision
from credit.anchoring.services import bundle_of
from credit.api.anchoring.serializers import BundleSerializer
from credit.api.scoring import serializers
from credit.applications.services import load_for, note_reading
from credit.core.applicants import FIRST
from credit.core.errors import READ_ERRORS, ApplicationNotFound, ReportPending, ScoreNotFound
from credit.models import Confirmation
from credit.models.scoring import Score
from credit.review.confirmations import confirm
from credit.scoring.facts_of import facts_about, facts_of, score_again
from credit.scoring.scores import describe, describe_waiting

_VERIFIER = Path(verify_decision.__file__).read_bytes()
_VERIFIER_HEADERS = {
    "Content-Disposition": 'attachment; filename="verify_decision.py"',
    "Cache-Control": "public, max-age=300",
    "ETag": f'"{sha256(_VERIFIER).hexdigest()[:32]}"',
}


_ADDING_ERRORS = (ApplicationNotFound, ReviewerRequired, SecondFactorRequired, RecordNotEditable)
_adds = partial(endpoint, access=FIRST_PARTY, status=201, idempotent=True)


class ScoreViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(access="score:read", answer=serializers.ScorePageSerializer, errors=(*READ_ERRORS, ScoreNotFound))
    def score(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Get the score of an application.

        The response has the newest score. The offer's scoring model computes a score at the submission. The model
        computes a new score after a value that it reads is corrected, and when a reviewer scores the application again.
        If the offer requests reports, the first score is computed after the reports arrive, or after 24 hours. While
        the score waits for reports, `status` is `waiting`, and the result is null. Without a score, for example with
        `DECISIONING=off`, the API returns 404 `E4013`.

        `reasons` state why the score is not higher. `changes` are the changes that would have led to a better outcome.
        If the model reads facts about the applicant's other applications (`person.…`), the applicant gets null for
        `score`, `outcome`, and `changes`. For the applicant, `reasons` is then empty, and `facts` has no `person.…`
        facts.
        """
        application = load_for(application_id, actor_of(request))
        scores = Score.deciding(application.pk).select_related("kept_facts")
        if (row := scores.first()) is None:
            if application.score_waits:
                return describe_waiting(application.offer_snapshot["blockscore_model_id"])
            raise ScoreNotFound
        with heavy.slot(request):
            return describe(row, for_applicant=application.consumer_id == request.user.pk)

    @heavy.operation()
    @_adds(answer=serializers.ScorePageSerializer, errors=(*_ADDING_ERRORS, ReportPending, ScoreNotFound))
    def score_again(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Score an application again.

        Requires a reviewer who is not the applicant. The model's current champion scores the current facts. While a
        proposed decision is pending or a counteroffer is open, the API returns 400 `E3004`. The API also returns
        `E3004` after a decision, a withdrawal, or an expiry.

        The new score then applies to the application. The earlier score remains stored. The platform does not decide an
        application with a second score automatically.
        """
        return describe(score_again(application_id, actor=actor_of(request), now=timezone.now()))

    @endpoint(
        access=FIRST_PARTY,
        query=serializers.FactsQuery,
        answer=serializers.ApplicationFactsSerializer,
        errors=(*READ_ERRORS, ReviewerRequired),
    )
    def facts(self, request: ApiRequest, application_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """List the facts of an application.

        The list has the data that the applicant shares with the lender, the values of reports, and the values that
        reviewers confirmed or corrected. With `applicant=2`, the list has the facts of the reports about the second
        applicant. The account that applies gets 403 for these facts.
        """
        application, now = load_for(application_id, actor_of(request)), timezone.now()
        if query["applicant"] == FIRST:
            return {"facts": facts_of(application, now=now)}
        if application.consumer_id == request.user.pk:
            raise ReviewerRequired("Only the lender can read facts about the second applicant.")
        return {"facts": facts_about(application, query["applicant"], now=now)}

    @_adds(
        body=serializers.ConfirmationRequestSerializer, answer=serializers.ConfirmationSerializer, errors=_ADDING_ERRORS
    )
    def confirm(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Confirmation:
        """Confirm a value from a document.

        A reviewer sends the value that a file of the application shows. If a value has several confirmations, the
        newest confirmation applies.

        The applicant can't confirm a value of their own application. Under four-eyes approval, a reviewer can't confirm
        a value if no other account can review the application. After a decision, a withdrawal, or an expiry, the API
        returns 400 `E3004`.
        """
        return confirm(application_id, **body, actor=actor_of(request), now=timezone.now())

    @endpoint(access=FIRST_PARTY, answer=BundleSerializer, errors=(*READ_ERRORS, ReviewerRequired, NotFound))
    def bundle(self, request: ApiRequest, application_id: str) -> HttpResponse:
        """Download the decision bundle.

        The bundle is one file with the newest decision record. The verifier checks it offline. Without a decision
        record, the API returns 404.

        The bundle contains the scored facts and the applicants. For this reason, no scope allows an app to download it.
        The applicant and the reviewers can download it. Readers of the lender get 403. If you download another person's
        bundle, the access log of personal data records the download.

        A score can use facts about the applicant's other applications (`person.…`). In this case, the applicant's
        bundle has no `facts`, no `person.…` facts in `facts_opening`, and no `person.score` in `openings`.
        """
        application = load_for(application_id, actor_of(request), is_noted=False)
        if application.consumer_id != request.user.pk and not application.is_reviewed_by(request.user):
            raise ReviewerRequired("Only the applicant and the reviewers can download the decision bundle.")
        content = render_json(bundle_of(application, for_applicant=application.consumer_id == request.user.pk))
        note_reading(application, request.user, decision_bundle=sha256(content).hexdigest())
        headers = {
            "Content-Disposition": f'attachment; filename="decision-{application.pk}.json"',
            "Cache-Control": "private, no-store",
        }
        return HttpResponse(content, content_type="application/json", headers=headers)


class VerifierViewSet(ApiViewSet):
    tag = "scoring"
    renderer_classes = [renderer_for("text/x-python")]

    @also_answers(304, None, "Not modified.")
    @endpoint(access=PUBLIC)
    def verifier(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Download the verifier of decisions.

        The verifier is one Python file that checks a decision bundle. The file requires only Python's standard library.
        """
        return HttpResponse(_VERIFIER, content_type="text/x-python; charset=utf-8", headers=_VERIFIER_HEADERS)

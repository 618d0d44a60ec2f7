"""Endpoints of an application's score and of the evidence of its decision: each translates, none decides."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from django.http import HttpResponse

from config.api.credentials import FIRST_PARTY, PUBLIC
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.errors import NotFound
from config.core.json_text import render_json
from config.core.lifecycle import actor_of
from credit.anchoring import bundle_of
from credit.applications import load_for
from credit.document_views import note_reading
from credit.errors import ApplicationNotFound, ScoreNotFound
from credit.scoring import verify_decision
from credit.scoring.scores import decision_scores, describe
from credit.serializers import BundleAnswer, ScoreAnswer

_VERIFIER = Path(verify_decision.__file__).read_bytes()
_VERIFIER_HEADERS = {
    "Content-Disposition": 'attachment; filename="verify_decision.py"',
    "Cache-Control": "public, max-age=300",
    "ETag": f'"{sha256(_VERIFIER).hexdigest()[:32]}"',
}


class ScoreViewSet(ApiViewSet):
    tag = "applications"

    @endpoint(access="applications:read", answer=ScoreAnswer, errors=(ApplicationNotFound, ScoreNotFound))
    def score(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Return what the offer's scoring model made of the application when it was submitted.

        `reasons` are why the score is not higher, `changes` what would have led to a better outcome.
        """
        application = load_for(application_id, actor_of(request))
        found = decision_scores(application.pk).select_related("kept_facts").first()
        if found is None:
            raise ScoreNotFound
        return describe(found)

    @endpoint(access=FIRST_PARTY, answer=BundleAnswer, errors=(ApplicationNotFound, NotFound))
    def bundle(self, request: ApiRequest, application_id: str) -> HttpResponse:
        """Return the newest decision as one file to keep, and to check offline with the verifier.

        It holds the facts that were scored, which no scope of an app covers. Whoever reads another person's is entered
        in the access log of personal data.
        """
        application = load_for(application_id, actor_of(request))
        content = render_json(bundle_of(application))
        note_reading(request, application, {"decision_bundle": sha256(content).hexdigest()})
        headers = {
            "Content-Disposition": f'attachment; filename="decision-{application.pk}.json"',
            "Cache-Control": "private, no-store",
        }
        return HttpResponse(content, content_type="application/json", headers=headers)


class VerifierViewSet(ApiViewSet):
    tag = "scoring"

    @endpoint(access=PUBLIC, media_types=("text/x-python",))
    def verifier(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Return a program that checks a decision from its bundle: one file of Python that needs nothing else."""
        return HttpResponse(_VERIFIER, content_type="text/x-python; charset=utf-8", headers=_VERIFIER_HEADERS)

"""Endpoints of an application's score and of the evidence of its decision: each translates, none decides."""

from typing import Any

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.lifecycle import actor_of
from credit.applications import load_for
from credit.errors import ApplicationNotFound, ScoreNotFound
from credit.score_serializers import ScoreAnswer
from credit.scoring.scores import decision_scores, describe


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

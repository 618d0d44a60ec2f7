"""Endpoints of what is computed over past scores."""

from typing import Any

from config.api.views import ApiRequest, ApiViewSet, endpoint
from credit.errors import ScoringModelNotFound
from credit.scoring import versions
from credit.scoring.comparing import compare
from credit.scoring.monitoring import monitoring
from credit.scoring.monitoring_serializers import CompareBody, ComparisonAnswer, MonitoringAnswer, MonitoringQuery


class ScoreMonitoringViewSet(ApiViewSet):
    tag = "scoring"

    @endpoint(access="score:read", query=MonitoringQuery, answer=MonitoringAnswer, errors=(ScoringModelNotFound,))
    def monitor(self, request: ApiRequest, model_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """Say how a version's scores of late differ from those before: stability, missing inputs, outcomes, overrides.

        The newest 20,000 scores of each window count. By custom an index below 0.1 is stable, and above 0.25 it is not.
        """
        number = query.pop("version")
        if number is None:
            version = versions.load_champion(model_id, request.user)
        else:
            version = versions.load_version(model_id, str(number), request.user)
        return monitoring(version, **query)

    @endpoint(access="score:read", body=CompareBody, answer=ComparisonAnswer, errors=(ScoringModelNotFound,))
    def compare(self, request: ApiRequest, model_id: str, number: str, body: dict[str, Any]) -> dict[str, Any]:
        """Compute another version for those whom this one scored, from the facts that were kept; nothing is stored."""
        version = versions.load_version(model_id, number, request.user)
        other = versions.load_version(model_id, str(body.pop("other")), request.user)
        return compare(version, other, **body)

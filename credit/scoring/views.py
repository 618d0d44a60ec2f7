"""Endpoints of scoring models: each translates, none decides."""

from functools import partial
from typing import Any

from django.http import HttpResponse
from django.utils import timezone

from config.api.credentials import PUBLIC
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint, page_of
from config.core.json_text import render_json
from config.core.lifecycle import ReviewerRequired, SecondFactorRequired, actor_of
from credit.errors import InvalidVersionTransition, ProviderTaken, ScoringModelNotFound
from credit.reasons import in_full
from credit.scoring import comparing, pmml, versions
from credit.scoring.card import SCORED_ON
from credit.scoring.changes import changes
from credit.scoring.definition import SCHEMA
from credit.scoring.evaluator import evaluate
from credit.scoring.facts import APPLICATION_DATA, catalogue
from credit.scoring.models import ModelVersion, ScoringModel
from credit.scoring.monitoring import monitoring
from credit.scoring.monitoring_serializers import CompareBody, ComparisonAnswer, MonitoringAnswer, MonitoringQuery
from credit.scoring.serializers import (
    EvaluationAnswer,
    EvaluationBody,
    FactsAnswer,
    ModelAnswer,
    ModelBody,
    ModelsAnswer,
    PublicationBody,
    VersionAnswer,
    VersionBody,
    VersionsAnswer,
    WholeVersionAnswer,
)

DEFINITION_MEMBERS_MAX = 50_000  # lists of texts are long; the largest card of numbers has 8,000
SCHEMA_MAX_AGE_SECONDS = 300
PMML = "application/xml"
# What methods that change something declare alike.
_writes = partial(endpoint, access="score:write", idempotent=True)


class ScoringModelViewSet(ApiViewSet):
    """Models, which belong to providers: their members make, read and publish them."""

    tag = "scoring"

    @_writes(body=ModelBody, answer=ModelAnswer, status=201, errors=(ProviderTaken,))
    def create(self, request: ApiRequest, body: dict[str, Any]) -> ScoringModel:
        """Make a scoring model. It scores nobody before one of its versions is published.

        The provider id belongs to the account that uses it first.
        """
        return versions.create_model(**body, by=request.user, now=timezone.now())

    @endpoint(access="score:read", query=PageQuery, answer=ModelsAnswer)
    def page(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List the scoring models of the providers that the caller acts for, newest first."""
        return page_of(versions.list_models(request.user), query, "models", ModelAnswer)

    @endpoint(access="score:read", answer=ModelAnswer, errors=(ScoringModelNotFound,))
    def retrieve(self, request: ApiRequest, model_id: str) -> ScoringModel:
        """Return a scoring model."""
        return versions.load_model(model_id, request.user)


class ModelVersionViewSet(ApiViewSet):
    """Versions: numbered, and never changed."""

    tag = "scoring"

    @_writes(
        body=VersionBody,
        members_max=DEFINITION_MEMBERS_MAX,
        answer=WholeVersionAnswer,
        status=201,
        errors=(ScoringModelNotFound,),
    )
    def create(self, request: ApiRequest, model_id: str, body: dict[str, Any]) -> ModelVersion:
        """Keep a scorecard as the model's next version, a draft.

        What is wrong with a scorecard is named by JSON pointers in `details`.
        """
        model = versions.load_model(model_id, request.user)
        return versions.add_version(model, **body, made_by=request.user, now=timezone.now())

    @endpoint(access="score:read", query=PageQuery, answer=VersionsAnswer, errors=(ScoringModelNotFound,))
    def page(self, request: ApiRequest, model_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """List a model's versions, newest first, without their definitions."""
        rows = versions.list_versions(versions.load_model(model_id, request.user))
        return page_of(rows, query, "versions", VersionAnswer)

    @endpoint(
        access="score:read",
        answer=WholeVersionAnswer,
        media_types=("application/json", PMML),
        errors=(ScoringModelNotFound,),
    )
    def retrieve(self, request: ApiRequest, model_id: str, number: str) -> ModelVersion | HttpResponse:
        """Return a version, with `Accept: application/xml` as a PMML 4.4 `Scorecard`.

        Any engine that reads PMML computes the same points and reasons from it. What PMML has no words for
        (knockouts, outcomes, segments, the range) stands in an `Extension` with the whole definition.
        """
        version = versions.load_version(model_id, number, request.user)
        if request.accepted_renderer.media_type != PMML:
            return version
        return HttpResponse(pmml.write(version.definition, name=version.model.name), content_type=PMML)

    @_writes(
        body=PublicationBody,
        answer=VersionAnswer,
        errors=(ScoringModelNotFound, InvalidVersionTransition, ReviewerRequired, SecondFactorRequired),
    )
    def publish(self, request: ApiRequest, model_id: str, number: str, body: dict[str, Any]) -> ModelVersion:
        """Publish a version, or give a published one the other role.

        A model has one champion: another one takes over at once, and the one before stays published as a challenger.
        Where two people decide (`four_eyes`), whoever made a version does not publish it.
        """
        version = versions.load_version(model_id, number, request.user)
        return versions.publish(version, role=body["role"], actor=actor_of(request), now=timezone.now())

    @_writes(answer=VersionAnswer, errors=(ScoringModelNotFound, InvalidVersionTransition, SecondFactorRequired))
    def retire(self, request: ApiRequest, model_id: str, number: str) -> ModelVersion:
        """Let a version score nobody any more, for good; again is no error.

        A model without a champion decides nothing.
        """
        version = versions.load_version(model_id, number, request.user)
        return versions.retire(version, actor=actor_of(request), now=timezone.now())

    @endpoint(access="score:read", body=EvaluationBody, answer=EvaluationAnswer, errors=(ScoringModelNotFound,))
    def evaluate(self, request: ApiRequest, model_id: str, number: str, body: dict[str, Any]) -> dict[str, Any]:
        """Compute a version for some facts, a draft too; nothing is stored.

        What is derived from facts is computed; facts that the scorecard does not ask for count for nothing.
        """
        card = versions.load_version(model_id, number, request.user).card
        known = {name: value for name, value in body["facts"].items() if value is not None}
        found = evaluate(card, {SCORED_ON: timezone.now().date().isoformat(), **known})
        reasons, better = in_full(found.reasons), changes(card, found)
        figures = (found.total, found.outcome, found.segment, found.points)
        return EvaluationAnswer.represent_values((*figures, reasons, found.missing, better))


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
        return comparing.compare(version, other, **body)


class ScoringCatalogueViewSet(ApiViewSet):
    """What whoever writes a scorecard needs to know."""

    tag = "scoring"

    @endpoint(access=PUBLIC)
    def definition_schema(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Return the JSON Schema of a scorecard's definition."""
        return HttpResponse(
            render_json(SCHEMA),
            content_type="application/json",
            headers={"Cache-Control": f"public, max-age={SCHEMA_MAX_AGE_SECONDS}"},
        )

    @endpoint(access="score:read", answer=FactsAnswer)
    def facts(self, request: ApiRequest) -> dict[str, Any]:  # noqa: ARG002
        """List the facts that a scorecard may ask for.

        The last one stands for any path below an application's data, such as `application_data.income.monthly_cents`.
        """
        known = [{"name": fact.name, "type": fact.type} for fact in catalogue().values()]
        return {"facts": [*known, {"name": f"{APPLICATION_DATA}*", "type": "any"}]}

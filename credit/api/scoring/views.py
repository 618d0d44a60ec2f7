from dataclasses import asdict
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import parser_classes, renderer_classes
from rest_framework.response import Response

from config.api import heavy
from config.api.parsers import StrictJSONParser
from config.api.renderers import OrjsonRenderer, renderer_for
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import PUBLIC
from config.core.json_text import render_json
from config.core.lifecycle import ReviewerRequired, SecondFactorRequired, actor_of
from credit.api.scoring import monitoring_serializers as shapes
from credit.api.scoring import serializers
from credit.api.scoring.about_serializers import CertificateSerializer, InstructionsSerializer
from credit.core.card import SCORED_ON
from credit.core.errors import InvalidVersionTransition, ProviderTaken, ScoringModelNotFound
from credit.core.facts import PATHS, catalogue
from credit.core.reasons import in_full
from credit.models.scoring import ModelVersion, ScoringModel
from credit.requirements.services import warnings_of
from credit.scoring import pmml, versions
from credit.scoring.certificate import certificate_of
from credit.scoring.changes import changes
from credit.scoring.definition import SCHEMA
from credit.scoring.evaluator import evaluate
from credit.scoring.monitoring import compare, monitoring

_reads = partial(endpoint, access="score:read")
# The maximum number of items and fields in a definition. The largest scorecard without strings has 8,000, but lists of
# strings can be long.
DEFINITION_MEMBERS_MAX = 50_000
SCHEMA_MAX_AGE_SECONDS = 300
PMML = "application/xml"
_writes = partial(endpoint, access="score:write", idempotent=True)
_REFUSALS = (ScoringModelNotFound, InvalidVersionTransition, ReviewerRequired, SecondFactorRequired)


class DefinitionParser(StrictJSONParser):
    members_max = DEFINITION_MEMBERS_MAX


class ScoringModelViewSet(ApiViewSet):
    """Scoring models of lenders. Members of the lender create, read, and publish them."""

    tag = "scoring"

    @_writes(
        body=serializers.ModelRequestSerializer,
        answer=serializers.ScoringModelSerializer,
        status=201,
        errors=(ProviderTaken, SecondFactorRequired),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> ScoringModel:
        """Create a scoring model.

        The model scores applications only after one of its versions is published as champion.

        Requires the role `owner` or `reviewer` of the lender. An account that sends an unused lender id becomes the
        owner of this lender, unless the operator assigns the ids.
        """
        return versions.create_model(**body, by=actor_of(request), now=timezone.now())

    @_reads(page=PageQuery, answer=serializers.ModelsPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[ScoringModel]:
        """List scoring models.

        The list has the models of the lenders that you are a member of, newest first.
        """
        return versions.list_models(request.user)

    @_reads(answer=serializers.ScoringModelSerializer, errors=(ScoringModelNotFound,))
    def retrieve(self, request: ApiRequest, model_id: str) -> ScoringModel:
        """Get a scoring model."""
        return versions.load_model(model_id, request.user)


class ModelVersionViewSet(ApiViewSet):
    """Versions of a model, which are numbered and immutable."""

    tag = "scoring"

    @parser_classes([DefinitionParser])
    @_writes(
        body=serializers.VersionRequestSerializer,
        answer=serializers.WholeVersionSerializer,
        status=201,
        errors=(ScoringModelNotFound, ReviewerRequired, SecondFactorRequired),
    )
    def create(self, request: ApiRequest, model_id: str, body: dict[str, Any]) -> ModelVersion:
        """Create a version of a model.

        The version is a draft. Requires the role `owner` or `reviewer` of the lender.

        For errors in a scorecard, `details` has JSON pointers.
        """
        model = versions.load_model(model_id, request.user)
        versions.check_writer(model, actor_of(request))
        return versions.add_version(model, **body, made_by=request.user, now=timezone.now())

    @_reads(page=PageQuery, answer=serializers.VersionsPageSerializer, errors=(ScoringModelNotFound,))
    def list(self, request: ApiRequest, model_id: str) -> QuerySet[ModelVersion]:
        """List the versions of a model.

        The newest version is first. The list does not contain the definitions.
        """
        return versions.load_model(model_id, request.user).versions.order_by("-number").defer("definition")

    @renderer_classes([OrjsonRenderer, renderer_for(PMML)])
    @_reads(answer=serializers.WholeVersionSerializer, errors=(ScoringModelNotFound,))
    def retrieve(self, request: ApiRequest, model_id: str, number: str) -> ModelVersion | HttpResponse:
        """Get a version of a model.

        With `Accept: application/xml`, the API returns a PMML 4.4 `Scorecard`.

        An engine for PMML scorecards computes the same points and reasons under two conditions. You must compute the
        values of `months_since`. You must omit facts whose JSON type differs from the type of the input. Engines round
        sums of fractions, and numbers with more than 15 digits. Results that depend on these numbers can differ. An
        engine can also list reasons without lost points.

        PMML can't express knockouts, outcomes, segments, the range of the total, and inputs that an applicant can
        change. The document has these parts, and the complete definition, in an `Extension`.
        """
        version = versions.load_version(model_id, number, request.user)
        if request.accepted_renderer.media_type != PMML:
            return version
        with heavy.slot(request):
            return HttpResponse(pmml.write(version.definition, name=version.model.name), content_type=PMML)

    @heavy.operation()
    @_writes(
        body=serializers.PublicationRequestSerializer, answer=serializers.PublishedVersionSerializer, errors=_REFUSALS
    )
    def publish(self, request: ApiRequest, model_id: str, number: str, body: dict[str, Any]) -> Any:
        """Publish a version or change its role.

        Requires the role `owner` or `reviewer` of the lender. A model has at most one champion. A new champion replaces
        the previous champion immediately. The previous champion becomes a challenger. Under four-eyes
        approval (`four_eyes`), the author of a version can't publish it, and can't make it the champion.

        `warnings` do not block the publication. The first publication computes the certificate. If the scorecard can
        decline without a reason, the API returns 400 `E1001`.
        """
        version = versions.load_version(model_id, number, request.user)
        versions.check_writer(version.model, actor_of(request))
        published: Any = versions.publish(version, role=body["role"], actor=actor_of(request), now=timezone.now())
        published.warnings = warnings_of(published)
        return published

    @_reads(answer=CertificateSerializer, errors=(ScoringModelNotFound,))
    def certificate(self, request: ApiRequest, model_id: str, number: str) -> Any:
        """Get the certificate of a version.

        The certificate covers every combination of bins, with one bin per characteristic. For a published version, the
        API returns the certificate that the publication stored. The record of the publication contains the
        certificate's hash. The record of each decision with a score of the version also contains the hash. If there is
        no stored certificate, for example for a draft, the API computes it. A version whose `declines_without_reason`
        is not 0 can't be published.
        """
        version = versions.load_version(model_id, number, request.user)
        if version.certificate is not None:
            return version.certificate
        with heavy.slot(request):
            return certificate_of(version.card)

    @_reads(answer=InstructionsSerializer, errors=(ScoringModelNotFound,))
    def instructions(self, request: ApiRequest, model_id: str, number: str) -> dict[str, Any]:
        """Get the instructions for use of a version.

        The author of a version sends the instructions as `about`. If the author sent no `about`, the text fields are
        empty.
        """
        version = versions.load_version(model_id, number, request.user)
        about = version.about or InstructionsSerializer.nothing()
        return {"model_id": version.model_id, "version": version.number, "name": version.model.name, **about}

    @_writes(answer=serializers.VersionSerializer, errors=_REFUSALS)
    def retire(self, request: ApiRequest, model_id: str, number: str) -> ModelVersion:
        """Retire a version permanently.

        If you retire the champion, the model scores no application until another version is the champion. Requires the
        role `owner` or `reviewer` of the lender. Idempotent.
        """
        version = versions.load_version(model_id, number, request.user)
        versions.check_writer(version.model, actor_of(request))
        return versions.retire(version, actor=actor_of(request), now=timezone.now())

    @_reads(
        body=serializers.EvaluationRequestSerializer,
        answer=serializers.EvaluationSerializer,
        errors=(ScoringModelNotFound,),
    )
    def evaluate(self, request: ApiRequest, model_id: str, number: str, body: dict[str, Any]) -> dict[str, Any]:
        """Evaluate a version of a model.

        The API scores the facts in the request with this version. The version can be a draft. The API stores no result.

        The API computes the derived values. Facts that the scorecard does not read have no effect.
        """
        card = versions.load_version(model_id, number, request.user).card
        known = {name: value for name, value in body["facts"].items() if value is not None}
        with heavy.slot(request):
            evaluation = evaluate(card, {SCORED_ON: timezone.now().date().isoformat(), **known})
            return {**asdict(evaluation), "reasons": in_full(evaluation.reasons), "changes": changes(card, evaluation)}


class ScoreMonitoringViewSet(ApiViewSet):
    tag = "scoring"

    @_reads(query=shapes.MonitoringQuery, answer=shapes.MonitoringSerializer, errors=(ScoringModelNotFound,))
    def monitor(self, request: ApiRequest, model_id: str, query: dict[str, Any]) -> Response:
        """Compare the scores of two windows.

        The API uses the newest 20,000 scores of each window. By convention, a stability index below 0.1 means stable
        scores, and an index above 0.25 means unstable scores. If a window has fewer than 100 scores, the index is null.
        """
        version = versions.load_version(model_id, query.pop("version"), request.user)
        with heavy.slot(request):
            return Response(monitoring(version, **query))

    @_reads(body=shapes.CompareRequestSerializer, answer=shapes.ComparisonSerializer, errors=(ScoringModelNotFound,))
    def compare(self, request: ApiRequest, model_id: str, number: str, body: dict[str, Any]) -> Response:
        """Compare two versions of a model.

        The API scores the stored facts of the version's newest scores again, with the other version. The API stores no
        result.
        """
        version = versions.load_version(model_id, number, request.user)
        other = versions.load_version(model_id, body.pop("other"), request.user)
        with heavy.slot(request):
            return Response(compare(version, other, **body))


class ScoringCatalogueViewSet(ApiViewSet):
    """Scorecards: models, versions, facts, evaluation, and monitoring."""

    tag = "scoring"

    @endpoint(access=PUBLIC)
    def definition_schema(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Get the JSON Schema of a scorecard's definition."""
        headers = {"Cache-Control": f"public, max-age={SCHEMA_MAX_AGE_SECONDS}"}
        return HttpResponse(render_json(SCHEMA), content_type="application/json", headers=headers)

    @_reads(answer=serializers.FactsPageSerializer)
    def facts(self, request: ApiRequest) -> dict[str, Any]:  # noqa: ARG002
        """List the facts for scorecards.

        If a name ends in `*`, replace the asterisk with a path, for example `application_data.income.monthly_cents`.
        Use a JSON pointer for field names with other characters: `application_data#/monthly income`. To select an item
        of a list, use its position, from 0.
        """
        return {"facts": [*catalogue().values(), *PATHS]}

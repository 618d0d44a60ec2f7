from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from config.core.json_text import day_of
from credit.api.scoring.about_serializers import AboutField, AboutRequestSerializer
from credit.api.shapes import SCORECARD
from credit.core import card
from credit.core import facts as known_facts
from credit.core.applicants import APPLICANTS_MAX, FIRST
from credit.core.card import SCORED_ON
from credit.models import Confirmation
from credit.models.scoring import CHALLENGER, CHAMPION, ModelVersion, ScoringModel
from credit.scoring.scores import COMPUTED, WAITING

OUTCOMES = (card.APPROVE, card.REFER, card.DECLINE)
FACTS_MAX = 500
_TEXT_MAX = 1_000
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {"number": (int, float), "text": (str,), "boolean": (bool,)}
_ANY: tuple[type, ...] = (int, float, str, bool)


@extend_schema_field(SCORECARD)
class DefinitionField(serializers.FreeField):
    """A scorecard; `definition.check` validates it."""


class ModelRequestSerializer(serializers.RequestSerializer):
    """A scoring model to create."""

    provider_id = serializers.PrintableIdField(
        help_text="The id of the model's lender, as a string of printable characters."
    )
    name = serializers.NameField(help_text="The model's name.")
    description = serializers.TextField(default="", help_text="The purpose of the model, in your words.")


@extend_schema_serializer(component_name="Model")
class ScoringModelSerializer(serializers.ModelResponseSerializer):
    """A scoring model of a lender."""

    class Meta:
        model = ScoringModel
        fields = ["id", "provider_id", "name", "description", "created_at"]
        extra_kwargs = {"id": {"help_text": "The model's id, which offers contain as `blockscore_model_id`."}}


class ModelsPageSerializer(serializers.PageSerializer):
    """A page of scoring models."""

    models = ScoringModelSerializer(many=True, help_text="The models, newest first.")


class VersionRequestSerializer(serializers.RequestSerializer):
    """The next version of a scoring model."""

    definition = DefinitionField(help_text="The scorecard.")
    note = serializers.TextField(default="")
    about = AboutRequestSerializer(
        required=False,
        allow_null=True,
        help_text="The instructions for use, whose hash is in the record of the publication. Null if there is none.",
    )


class VersionSerializer(serializers.ModelResponseSerializer):
    """A version of a scoring model, without its definition."""

    role = serializers.OneOfField((CHAMPION, CHALLENGER, ""))

    class Meta:
        model = ModelVersion
        fields = [
            "model_id", "number", "status", "role", "definition_sha256", "note", "made_by", "created_at",
            "published_by", "published_at",
        ]  # fmt: skip
        extra_kwargs = {"made_by": {"source": "made_by_id"}, "published_by": {"source": "published_by_id"}}


class PublishedVersionSerializer(VersionSerializer):
    """A published version, with warnings."""

    warnings = serializers.ListField(
        child=serializers.TextField(),
        help_text="A sentence for each weakness that the API finds. (1) The scorecard reads a claim that an active "
        "offer's `application_schema` does not require. (2) Only the applicant supplies a characteristic. (3) The "
        "scorecard reads no income, expenses, or obligations. (4) The scorecard reads no verified value. (5) The "
        "scorecard reads reports, but no knockout refers applications without a report.",
    )

    class Meta(VersionSerializer.Meta):
        fields = [*VersionSerializer.Meta.fields, "warnings"]


class WholeVersionSerializer(VersionSerializer):
    """A version of a scoring model, with its definition."""

    about = AboutField(allow_null=True, help_text="The instructions for use. Null if there is none.")

    class Meta(VersionSerializer.Meta):
        fields = [*VersionSerializer.Meta.fields, "definition", "about"]
        extra_kwargs: dict[str, Any] = {**VersionSerializer.Meta.extra_kwargs, "definition": {"shape": SCORECARD}}


class VersionsPageSerializer(serializers.PageSerializer):
    """A page of a model's versions."""

    versions = VersionSerializer(many=True, help_text="The versions, newest first.")


class PublicationRequestSerializer(serializers.RequestSerializer):
    """The role of a published version."""

    role = serializers.OneOfField(
        (CHAMPION, CHALLENGER),
        help_text="The role. The champion's scores decide applications or propose decisions. Challengers' scores are "
        "only for comparison.",
    )


@extend_schema_field(
    {
        "type": "object",
        "maxProperties": FACTS_MAX,
        "additionalProperties": {"type": ["number", "string", "boolean", "null"], "maxLength": _TEXT_MAX},
        "example": {"application_data.monthly_income_cents": 320_000, "application_data.housing": "own"},
    }
)
class FactsField(serializers.FreeField):
    default_error_messages = {
        "object": "Must be an object of facts by name.",
        "many": "Must have at most {most} facts.",
        "unknown": "{name}: Must be a fact of GET /v1/scoring/facts.",
        "type": "{name}: Must be a {kind}, or null if unknown.",
        "long": "{name}: Must have at most {most} characters.",
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("object")
        if len(data) > FACTS_MAX:
            self.fail("many", most=FACTS_MAX)
        for name, value in data.items():
            self._check(name, value)
        return data

    def type_of(self, name: str) -> str | None:
        return known_facts.type_of(name)

    def _check(self, name: str, value: Any) -> None:
        kind = self.type_of(name)
        if kind is None:
            self.fail("unknown", name=name[:200])
        elif value is None:
            return
        elif kind == "day":
            if day_of(value) is None:
                self.fail("type", name=name, kind="day such as 2026-01-31")
        elif type(value) not in _PYTHON_TYPES.get(kind, _ANY):
            self.fail("type", name=name, kind="number, a string, or a boolean" if kind == "any" else kind)
        if isinstance(value, str) and len(value) > _TEXT_MAX:
            self.fail("long", name=name, most=_TEXT_MAX)


class EvaluatedFactsField(FactsField):
    """Facts, and the day on which they are scored."""

    def type_of(self, name: str) -> str | None:
        return "day" if name == SCORED_ON else super().type_of(name)


class SaidFactsField(FactsField):
    """Facts that an applicant can state: paths of the application's data, not declared facts."""

    default_error_messages = {
        "unknown": "{name}: Must be a path such as application_data.monthly_income_cents or "
        "application_data#/net income."
    }

    def type_of(self, name: str) -> str | None:
        return super().type_of(name) if card.is_claimed(name) else None


class EvaluationRequestSerializer(serializers.RequestSerializer):
    """The facts for an evaluation."""

    facts = EvaluatedFactsField(
        help_text="A flat object whose keys are the names of `GET /v1/scoring/facts`. A null value means that the fact "
        "is missing. `scored_on` is the day of the score, by default today (UTC)."
    )


class PointsPageSerializer(serializers.ResponseSerializer):
    """The points of one characteristic."""

    characteristic = serializers.TextField(help_text="The characteristic's name in the definition.")
    bin = serializers.Int32Field(help_text="The position of the bin in the definition, from 0.")
    points = serializers.Int64Field(help_text="The points of the bin.")
    baseline = serializers.Int64Field(
        help_text="The baseline of the characteristic. If `points` is below the baseline, the characteristic is a "
        "reason for a lower score."
    )


class ReasonSerializer(serializers.JsonPartSerializer):
    """A principal reason for a lower score."""

    code = serializers.TextField(help_text="The code of a principal reason, or `other`.")
    text = serializers.TextField(help_text="The reason as a sentence or a phrase.")


class StepSerializer(serializers.ResponseSerializer):
    """A change of one input, which moves its characteristic to another bin."""

    characteristic = serializers.TextField(help_text="The characteristic's name in the definition.")
    input = serializers.TextField(help_text="The name of the input to change.")
    from_bin = serializers.Int32Field(help_text="The position of the current bin in the definition, from 0.")
    to_bin = serializers.Int32Field(help_text="The position of the required bin in the definition, from 0.")
    points = serializers.Int64Field(
        help_text="The points of the required bin less the points of the current bin. If "
        "the current bin is the bin of missing values, the difference can be 0 or negative."
    )


class ChangeSerializer(serializers.JsonPartSerializer):
    """One or two changes that together lead to a better outcome."""

    changes = StepSerializer(many=True, help_text="The changes. All these changes are required.")
    outcome = serializers.OneOfField(OUTCOMES, help_text="The outcome after these changes.")


class EvaluationSerializer(serializers.ResponseSerializer):
    """The result of a version for the facts in the request."""

    total = serializers.Int64Field(
        help_text="`base_points` plus the points of each characteristic, limited to the definition's range."
    )
    outcome = serializers.OneOfField(OUTCOMES, help_text="The outcome. If it is `refer`, reviewers decide.")
    segment = serializers.TextField(allow_null=True, help_text="The segment of the total. Null if there is none.")
    points = PointsPageSerializer(many=True, help_text="The points of each characteristic.")
    reasons = ReasonSerializer(many=True, help_text="At most four reasons, the most important first.")
    missing = serializers.ListField(
        child=serializers.TextField(),
        help_text="The names of the inputs that the scorecard uses, but that have no value.",
    )
    changes = ChangeSerializer(
        many=True, help_text="At most five sets of changes that lead to a better outcome, the smallest first."
    )


class FactSerializer(serializers.ResponseSerializer):
    """A fact that a scorecard can read."""

    name = serializers.TextField(help_text="The fact's name in a definition, such as `identity.verified`.")
    type = serializers.TextField(
        help_text="The type of the value: `number`, `text`, or `boolean`. For `application_data.*` and `confirmed.*`, "
        "the type is `any`."
    )
    unit = serializers.TextField(allow_null=True, help_text="The unit of a number. Null if there is none.")
    source = serializers.OneOfField(  # type: ignore[assignment]  # Field.source is a name
        tuple(known_facts.SOURCES), help_text="The supplier of the value."
    )
    meaning = serializers.TextField(help_text="The meaning of the value.")


class FactsPageSerializer(serializers.ResponseSerializer):
    """The catalog of facts."""

    facts = FactSerializer(
        many=True, help_text="The facts, sorted by name. `confirmed.*` and `application_data.*` are last."
    )


class UsedFactSerializer(serializers.JsonPartSerializer):
    """A fact that an input of a score used."""

    name = serializers.TextField(help_text="The fact's name in the definition.")
    source = serializers.OneOfField(  # type: ignore[assignment]  # Field.source is a name
        tuple(known_facts.SOURCES), help_text="The supplier of the value."
    )
    as_of = serializers.TextField(allow_null=True, help_text="The day of the value. Null if it is unknown.")


class ScorePageSerializer(serializers.ResponseSerializer):
    """The newest score of an application."""

    status = serializers.OneOfField(
        (COMPUTED, WAITING),
        help_text="The status of the score: `computed`, or `waiting` for reports that the offer requests. While the "
        "status is `waiting`, all other fields except `model_id` are null or empty.",
    )
    score = serializers.Int64Field(
        allow_null=True, help_text="The total of the score. Null for the applicant if the model reads `person.…`."
    )
    range = serializers.ListField(
        child=serializers.Int64Field(),
        allow_null=True,
        help_text="The lowest and the highest possible score. Null while `status` is `waiting`.",
    )
    scored_at = serializers.DateTimeField(
        allow_null=True, help_text="When the score was computed (UTC). Null while `status` is `waiting`."
    )
    model_id = serializers.Int64Field(help_text="The scoring model's id.")
    version = serializers.Int32Field(
        allow_null=True,
        help_text="The number of the version that computed the score. Null while `status` is `waiting`.",
    )
    outcome = serializers.OneOfField(
        OUTCOMES,
        allow_null=True,
        help_text="The outcome. If it is `refer`, reviewers decide. Applicants get null if the model reads `person.…`.",
    )
    reasons = ReasonSerializer(
        many=True, help_text="At most four reasons, the most important first. Empty if `outcome` is null."
    )
    changes = ChangeSerializer(
        many=True,
        allow_null=True,
        help_text="At most five sets of changes that would have led to a better outcome, the smallest first. Null "
        "after the erasure of the facts, and if `score` is null.",
    )
    facts = UsedFactSerializer(
        many=True,
        allow_null=True,
        help_text="The facts that the inputs read, by name. The applicant gets no `person.…` facts. Null for scores "
        "before version 1.1.",
    )


@extend_schema_field({"type": ["number", "string", "boolean"], "maxLength": _TEXT_MAX})
class ScalarField(serializers.FreeField):
    """A number, a string, or a boolean."""

    default_error_messages = {
        "kind": "Must be a number, a string, or a boolean.",
        "long": "Must have at most {most} characters.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, _ANY):
            self.fail("kind")
        if isinstance(data, str) and len(data) > _TEXT_MAX:
            self.fail("long", most=_TEXT_MAX)
        return data


class PointerField(serializers.TextField):
    """A JSON pointer below `application_data`. The pointer has the same limits as a fact's name."""

    default_error_messages = {
        "pointer": "Must be a JSON pointer such as /monthly_income_cents: at most 8 parts of 60 characters."
    }

    def to_internal_value(self, data: Any) -> str:
        pointer = str(super().to_internal_value(data))
        if not known_facts.path_of_pointer(pointer):
            self.fail("pointer")
        return pointer


class ConfirmationRequestSerializer(serializers.RequestSerializer):
    """A value to confirm from a file."""

    pointer = PointerField(
        max_length=known_facts.POINTER_MAX_LENGTH,
        help_text="The JSON pointer (RFC 6901) of the value below `application_data`, such as `/monthly_income_cents`.",
    )
    value = ScalarField(help_text="The value that the file shows.")
    file_id = serializers.IdField(help_text="The id of the application's file that shows the value.")


class ConfirmationSerializer(SecretAnswer, serializers.ModelResponseSerializer):
    """A value that a reviewer confirmed."""

    value = ScalarField(
        source="parsed_value", allow_null=True, help_text="The value that the file shows. Null after an erasure."
    )

    class Meta:
        model = Confirmation
        fields = ["id", "pointer", "value", "file_id", "confirmed_by", "confirmed_at"]
        extra_kwargs = {"confirmed_by": {"source": "confirmed_by_id"}}


class FactsQuery(serializers.QuerySerializer):
    """The subject of the facts."""

    applicant = serializers.QueryInt64Field(
        min_value=FIRST, max_value=APPLICANTS_MAX, default=FIRST, help_text="The number of the applicant: 1 or 2."
    )


class ApplicationFactSerializer(serializers.JsonPartSerializer):
    """A fact of an application."""

    name = serializers.TextField(help_text="The fact's name, as in `GET /v1/scoring/facts`.")
    value = ScalarField(allow_null=True, help_text="The value. Null if it is missing.")
    source = serializers.OneOfField(  # type: ignore[assignment]  # Field.source is a name
        tuple(known_facts.SOURCES), help_text="The supplier of the value."
    )
    as_of = serializers.TextField(
        allow_null=True, help_text="The day of the value. Null if the value is missing, or if its day is unknown."
    )
    differs_from_claim = serializers.FlagField(
        allow_null=True,
        help_text="Whether the value differs from the applicant's claim. A number must differ by more than 10 % of the "
        "claim. Null if the value or the claim is missing.",
    )


class ApplicationFactsSerializer(serializers.ResponseSerializer):
    """The facts of an application."""

    facts = ApplicationFactSerializer(many=True, help_text="The facts, sorted by name.")

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from credit.api import shapes
from credit.api.scoring.serializers import ScalarField
from credit.core import rights
from credit.core.applicants import LANGUAGES
from credit.core.facts import CATEGORIES, SOURCES
from credit.models import Correction
from credit.models.corrections import FACT_MAX_LENGTH
from credit.scoring.corrections import STATEMENT_MAX


class LanguageQuery(serializers.QuerySerializer):
    """The language of the response."""

    language = serializers.OneOfField(
        LANGUAGES,
        default=None,
        help_text="The language of the texts. Default: the applicant's language, otherwise `en`.",
    )


class AutomationQuery(serializers.QuerySerializer):
    """The language of the response."""

    language = serializers.OneOfField(LANGUAGES, default=LANGUAGES[0], help_text="The language of the texts.")


class RightSerializer(serializers.JsonPartSerializer):
    """A sentence for the applicant, and the law that requires it."""

    text = serializers.TextField(help_text="The sentence.")
    law = serializers.TextField(help_text="The citation of the law.")


class DataCategorySerializer(serializers.JsonPartSerializer):
    """A category of data."""

    code = serializers.OneOfField(CATEGORIES)
    text = serializers.TextField(help_text="The display name of the category.")


class DataSourceSerializer(serializers.JsonPartSerializer):
    """A source of data."""

    code = serializers.OneOfField(SOURCES)
    text = serializers.TextField(help_text="The display name of the source.")


class AutomationSerializer(serializers.JsonPartSerializer):
    """The automated processing of an offer's applications."""

    offer_id = serializers.TextField(help_text="The offer's id.")
    automated = serializers.OneOfField(
        rights.WAYS,
        help_text="The role of the score in decisions: `none` (no score), `assisted` (a person decides with a score), "
        "or `alone` (a score can decide without a person).",
    )
    model_id = serializers.Int64Field(allow_null=True, help_text="The scoring model's id. Null without a score.")
    version = serializers.Int32Field(
        allow_null=True, help_text="The number of the model's champion version. Null without a score."
    )
    purposes = serializers.ListField(
        child=serializers.TextField(), help_text="A sentence for each purpose of the score. Empty without a score."
    )
    categories = DataCategorySerializer(many=True, help_text="The categories of data that the score reads.")
    sources = DataSourceSerializer(  # type: ignore[assignment]  # the metaclass does not replace the method of this name
        many=True, help_text="The suppliers of the data."
    )
    reviewed_by = serializers.TextField(help_text="A sentence about the role of people in the decision.")
    before = RightSerializer(
        many=True, help_text="The sentences to display before an application, each with the law that requires it."
    )


class ExplainedScoreSerializer(serializers.JsonPartSerializer):
    """The score of the decision. Before a decision, the newest score."""

    total = serializers.Int64Field(
        allow_null=True, help_text="The total of the score. Null if the score used `person.…` facts."
    )
    range = serializers.ListField(child=serializers.Int64Field(), help_text="The lowest and the highest total.")
    outcome = serializers.TextField(
        allow_null=True,
        help_text="The outcome: `approve`, `refer`, or `decline`. Null if the score used `person.…` facts.",
    )
    scored_at = serializers.DateTimeField(help_text="When the score was computed (UTC).")
    model_id = serializers.Int64Field(help_text="The scoring model's id.")
    version = serializers.Int32Field(help_text="The number of the model's version.")
    reasons = serializers.ListField(
        child=serializers.TextField(),
        help_text="The reasons of the score, the most important first. Empty if the score used `person.…` facts.",
    )


class ExplainedFactSerializer(serializers.JsonPartSerializer):
    """A fact that an input used."""

    name = serializers.TextField(help_text="The fact's name.")
    value = serializers.FreeField(
        allow_null=True, shape=shapes.SCALAR, help_text="The fact's value. Null for `person.…` facts and missing facts."
    )
    source = serializers.OneOfField(  # type: ignore[assignment]  # Field.source is a name
        SOURCES, allow_null=True, help_text="The supplier of the value. Null for scores before version 1.1."
    )
    source_text = serializers.TextField(help_text="The display name of the source. Empty if `source` is null.")
    as_of = serializers.TextField(allow_null=True, help_text="The day of the value. Null if it is unknown.")


class ExplainedInputSerializer(serializers.JsonPartSerializer):
    """An input of the score."""

    name = serializers.TextField(help_text="The input's name in the scorecard.")
    is_changeable = serializers.FlagField(help_text="Whether the applicant can change the value.")
    facts = ExplainedFactSerializer(
        many=True,
        help_text="The facts that the score used, without missing facts and facts of the wrong type. If the input has "
        "`person.…` facts, the list has all facts of the input.",
    )
    range = serializers.TextField(
        allow_null=True, help_text="The range of the value, in words. Null if `points` is null."
    )
    points = serializers.Int64Field(
        allow_null=True,
        help_text="The points. Null for an input without points, and if the score used `person.…` facts.",
    )
    baseline = serializers.Int64Field(
        allow_null=True,
        help_text="If `points` is below this baseline, the input is a reason for a lower score. Null if `points` is "
        "null.",
    )
    text = serializers.TextField(help_text="A sentence about the points. Empty if `points` is null.")


class ExplanationSerializer(serializers.JsonPartSerializer):
    """The explanation of a decision. Texts are in `language`, except the names and reasons that the lender wrote."""

    application_id = serializers.TextField(help_text="The application's id.")
    language = serializers.OneOfField(LANGUAGES, help_text="The language of the texts.")
    automated = serializers.OneOfField(
        rights.WAYS,
        help_text="The role of the score in the decision: `none` (no score), `assisted` (a person decides with a "
        "score), or `alone` (a score decided without a person).",
    )
    outcome = serializers.OneOfField(
        rights.OUTCOMES,
        allow_null=True,
        help_text="The outcome: `rejection`, `approval`, or `worse`. `worse` is an approval of a smaller amount or a "
        "shorter term than requested. If the decision used a score, an approval above the offer's lowest rate is also "
        "`worse`. Null if `decided_at` is null.",
    )
    decided_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the application was decided (UTC). Null before a decision, after the decision was reopened, "
        "and for an approval that was withdrawn or expired.",
    )
    decided_by = serializers.TextField(help_text="A sentence about who or what decided, without names.")
    role = serializers.TextField(help_text="A sentence about the role of the score.")
    reasons = serializers.ListField(
        child=serializers.TextField(), help_text="The principal reasons of a rejection. Otherwise empty."
    )
    score = ExplainedScoreSerializer(allow_null=True, help_text="The score. Null without a score.")
    procedure = serializers.TextField(
        allow_null=True, help_text="How the score leads to an outcome. Null without a score."
    )
    inputs = ExplainedInputSerializer(
        many=True,
        allow_null=True,
        help_text="All inputs of the scorecard. Null without a score, and after the erasure of its facts.",
    )
    changes = serializers.ListField(
        child=serializers.TextField(),
        allow_null=True,
        help_text="The changes that would have led to a better outcome. If there are no such changes of one or two "
        "inputs, a single sentence states this. Empty if the score approves. Null if `inputs` is null, and if the "
        "score used `person.…` facts.",
    )
    can_do = serializers.ListField(
        child=serializers.TextField(),
        help_text="A sentence for each action that is possible now. The actions are to request reconsideration and to "
        "report a wrong value.",
    )
    rights = RightSerializer(many=True, help_text="The rights after the decision. Empty before a decision.")
    notice_days = serializers.Int32Field(
        allow_null=True,
        help_text="The deadline of the notice about the decision, in days. Under US law, the value is 30 for a "
        "`rejection` and for `worse`. Under EU law, the value is 3 for a `rejection`. Otherwise null, even if another "
        "notice has a deadline.",
    )


class CorrectionRequestSerializer(serializers.RequestSerializer):
    """A wrong value to report."""

    fact = serializers.IdField(
        max_length=FACT_MAX_LENGTH, help_text="The name of the fact, as in the explanation or in `GET …/facts`."
    )
    claimed = ScalarField(help_text="The correct value: a number, a string, or a boolean.")
    statement = serializers.TextField(
        min_length=1, max_length=STATEMENT_MAX, help_text="Why the value is wrong, in the applicant's words."
    )
    file = serializers.IdField(
        required=False,
        **serializers.NULLABLE,
        help_text="The id of an uploaded file of the application that shows the correct value. Required for facts that "
        "are not below `application_data`. Otherwise it can be null or absent.",
    )


class CorrectionAnswerRequestSerializer(serializers.RequestSerializer):
    """The answer to a correction."""

    status = serializers.StatusField(
        (Correction.CORRECTED, Correction.REFUSED), help_text="The answer: `corrected` or `refused`."
    )
    reason = serializers.TextField(min_length=1, max_length=STATEMENT_MAX, help_text="The reason, for the applicant.")


class CorrectionSerializer(SecretAnswer, serializers.ModelResponseSerializer):
    """A correction that the applicant requested."""

    status = serializers.OneOfField((Correction.OPEN, Correction.CORRECTED, Correction.REFUSED))
    claimed = ScalarField(source="parsed_claim", allow_null=True, help_text="The claimed value. Null after an erasure.")
    statement = serializers.TextField(allow_null=True)
    file = serializers.UUIDField(
        source="file_id",
        allow_null=True,
        help_text="The id of the file that shows the correct value. Null if there is none.",
    )
    reason = serializers.TextField(
        allow_null=True, help_text="The reviewer's reason. Null while the correction is open, and after an erasure."
    )
    is_scored_again = serializers.FlagField(source="has_score", help_text="Whether a new score was computed.")

    class Meta:
        model = Correction
        fields = [
            "id", "application_id", "status", "fact", "claimed", "statement", "file", "requested_at", "due_at",
            "closed_at", "reason", "is_scored_again",
        ]  # fmt: skip


class CorrectionsPageSerializer(serializers.PageSerializer):
    """A page of an application's corrections."""

    corrections = CorrectionSerializer(many=True, help_text="The corrections, newest first.")

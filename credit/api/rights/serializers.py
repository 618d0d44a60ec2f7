from config.api import serializers
from config.api.secret_answers import SecretAnswer
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
        LANGUAGES, default=None, help_text="The language of the texts; by default the applicant's."
    )


class RightSerializer(serializers.JsonPartSerializer):
    """A sentence for the applicant, and the law behind it."""

    text = serializers.TextField(help_text="The sentence.")
    law = serializers.TextField(help_text="The citation of the law.")


class DataCategorySerializer(serializers.JsonPartSerializer):
    """A category of data."""

    code = serializers.OneOfField(CATEGORIES)
    text = serializers.TextField(help_text="The category, for people to read.")


class DataSourceSerializer(serializers.JsonPartSerializer):
    """A source of data."""

    code = serializers.OneOfField(SOURCES)
    text = serializers.TextField(help_text="The source, for people to read.")


class AutomationSerializer(serializers.JsonPartSerializer):
    """The score that an offer uses."""

    offer_id = serializers.TextField(help_text="The offer.")
    automated = serializers.OneOfField(
        rights.WAYS, help_text="`none`: no score; `assisted`: a person decides with a score; `alone`: a score decides."
    )
    model_id = serializers.Int64Field(allow_null=True, help_text="The scoring model; null if there is no score.")
    version = serializers.Int32Field(allow_null=True, help_text="The published version; null if there is no score.")
    purposes = serializers.ListField(child=serializers.TextField(), help_text="The purposes of the score.")
    categories = DataCategorySerializer(many=True, help_text="The categories of data that the score reads.")
    sources = DataSourceSerializer(  # type: ignore[assignment]  # the metaclass keeps the method of this name
        many=True, help_text="The suppliers of the data."
    )
    reviewed_by = serializers.TextField(help_text="How people take part in the decision.")
    before = RightSerializer(many=True, help_text="The notice before use, as on the applicant's form.")


class ExplainedScoreSerializer(serializers.JsonPartSerializer):
    """The score of the decision."""

    total = serializers.Int64Field(
        allow_null=True, help_text="The total of the points; null if the score used `person.` facts."
    )
    range = serializers.ListField(child=serializers.Int64Field(), help_text="The lowest and the highest total.")
    outcome = serializers.TextField(
        allow_null=True, help_text="`approve`, `refer`, or `decline`; null if the score used `person.` facts."
    )
    scored_at = serializers.DateTimeField(help_text="When the score was computed (UTC).")
    model_id = serializers.Int64Field(help_text="The scoring model.")
    version = serializers.Int32Field(help_text="The version of the model.")
    reasons = serializers.ListField(
        child=serializers.TextField(),
        help_text="Its reasons, most important first; empty if the score used `person.` facts.",
    )


class ExplainedFactSerializer(serializers.JsonPartSerializer):
    """A fact that an input used."""

    name = serializers.TextField(help_text="The fact's name.")
    value = serializers.FreeField(allow_null=True, help_text="The fact's value; null for `person.` facts.")
    source = serializers.OneOfField(  # type: ignore[assignment]  # Field.source is a name
        SOURCES, allow_null=True, help_text="The supplier of the value; null for scores before version 1.1."
    )
    source_text = serializers.TextField(help_text="The source, for people to read.")
    as_of = serializers.TextField(allow_null=True, help_text="The day of the value; null if it is unknown.")


class ExplainedInputSerializer(serializers.JsonPartSerializer):
    """An input of the score."""

    name = serializers.TextField(help_text="The input's name in the scorecard.")
    is_changeable = serializers.FlagField(help_text="Whether the applicant can change it.")
    facts = ExplainedFactSerializer(many=True, help_text="The facts that were used; empty for a missing input.")
    range = serializers.TextField(allow_null=True, help_text="The range of the value; null if there are no points.")
    points = serializers.Int64Field(allow_null=True, help_text="The points; null for an input without points.")
    baseline = serializers.Int64Field(allow_null=True, help_text="The points that a reason is measured against.")
    text = serializers.TextField(help_text="The points, for people to read; empty if there are no points.")


class ExplanationSerializer(serializers.JsonPartSerializer):
    """The explanation of a decision. Texts are in `language`."""

    application_id = serializers.TextField(help_text="The application.")
    language = serializers.OneOfField(LANGUAGES, help_text="The language of the texts.")
    automated = serializers.OneOfField(
        rights.WAYS, help_text="`none`: no score; `assisted`: a person decides with a score; `alone`: a score decided."
    )
    outcome = serializers.OneOfField(
        rights.OUTCOMES,
        allow_null=True,
        help_text="`rejection`, `approval`, or `worse`: an approval of less or for a shorter term than requested, or "
        "with a score at more than the lowest rate. Null before a decision.",
    )
    decided_at = serializers.DateTimeField(allow_null=True, help_text="When it was decided (UTC); null before then.")
    decided_by = serializers.TextField(help_text="The role of the decider.")
    role = serializers.TextField(help_text="The role of the score.")
    reasons = serializers.ListField(child=serializers.TextField(), help_text="The principal reasons of a rejection.")
    score = ExplainedScoreSerializer(allow_null=True, help_text="The score; null if none was computed.")
    procedure = serializers.TextField(allow_null=True, help_text="How the score leads to an outcome; null if none.")
    inputs = ExplainedInputSerializer(
        many=True, allow_null=True, help_text="Every input; null if there is no score, or if its facts were erased."
    )
    changes = serializers.ListField(
        child=serializers.TextField(),
        allow_null=True,
        help_text="Changes that would have led to a better outcome; null like `inputs`, and with `person.` facts.",
    )
    can_do = serializers.ListField(
        child=serializers.TextField(), help_text="The actions that the applicant can take now."
    )
    rights = RightSerializer(many=True, help_text="The rights after the decision; empty before one.")
    notice_days = serializers.Int32Field(
        allow_null=True, help_text="How many days after the decision its notice is due; null if no law sets a term."
    )


class CorrectionRequestSerializer(serializers.RequestSerializer):
    """A wrong value to report."""

    fact = serializers.IdField(
        max_length=FACT_MAX_LENGTH, help_text="The name of the fact, as in the explanation or in `GET …/facts`."
    )
    claimed = ScalarField(help_text="The right value: a number, a string, or a boolean.")
    statement = serializers.TextField(
        min_length=1, max_length=STATEMENT_MAX, help_text="Why the value is wrong, in the applicant's words."
    )
    file = serializers.IdField(
        required=False,
        **serializers.NULLABLE,
        help_text="The id of a file that shows the right value. Required unless the fact is a claim of the applicant.",
    )


class CorrectionAnswerRequestSerializer(serializers.RequestSerializer):
    """The answer to a correction."""

    status = serializers.StatusField((Correction.CORRECTED, Correction.REFUSED), help_text="The answer.")
    reason = serializers.TextField(
        min_length=1, max_length=STATEMENT_MAX, help_text="The reason, which the applicant reads."
    )


class CorrectionSerializer(SecretAnswer, serializers.ModelResponseSerializer):
    """A correction that the applicant requested."""

    status = serializers.OneOfField((Correction.OPEN, Correction.CORRECTED, Correction.REFUSED))
    claimed = ScalarField(source="parsed_claim", allow_null=True, help_text="The claimed value; null once erased.")
    statement = serializers.TextField(allow_null=True)
    file = serializers.UUIDField(
        source="file_id", allow_null=True, help_text="The file that shows the right value; null if none."
    )
    reason = serializers.TextField(allow_null=True)
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

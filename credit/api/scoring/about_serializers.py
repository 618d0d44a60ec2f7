"""The instructions for use of a version, and the possible results of its scorecard."""

from typing import Any

from drf_spectacular.utils import extend_schema_field

from config.api import serializers
from credit.core.facts import CATEGORIES

_TEXT_MAX = 4_000
_CATEGORIES_HELP = "The categories of data that the scorecard reads, as stated by its author."


class AboutRequestSerializer(serializers.RequestSerializer):
    """The instructions for use of a model version."""

    intended_use = serializers.TextField(default="", max_length=_TEXT_MAX, help_text="The intended use of the model.")
    not_for = serializers.TextField(
        default="", max_length=_TEXT_MAX, help_text="Uses for which the model is not suitable."
    )
    data = serializers.TextField(default="", max_length=_TEXT_MAX, help_text="The data that the model was trained on.")  # type: ignore[assignment]
    categories = serializers.ListField(
        child=serializers.OneOfField(CATEGORIES),
        default=list,
        max_length=len(CATEGORIES),
        help_text=f"{_CATEGORIES_HELP} If the list is not empty, the API rejects a scorecard that reads a category "
        "outside the list.",
    )
    limits = serializers.TextField(default="", max_length=_TEXT_MAX, help_text="The known limits of the model.")
    human_review = serializers.TextField(default="", max_length=_TEXT_MAX, help_text="How people review the results.")
    accuracy = serializers.TextField(
        default="", max_length=_TEXT_MAX, help_text="The measured accuracy, and the data that it was measured on."
    )


@extend_schema_field({"$ref": "#/components/schemas/AboutRequest"})
class AboutField(serializers.FreeField):
    """Instructions for use, as the version's author sent them."""


class InstructionsSerializer(serializers.JsonPartSerializer):
    """The instructions for use of a version. Fields that the author did not send are empty."""

    model_id = serializers.Int64Field(help_text="The scoring model's id.")
    version = serializers.Int32Field(help_text="The number of the version.")
    name = serializers.TextField(help_text="The name of the model.")

    def get_fields(self) -> dict[str, Any]:
        """Add the fields of the request."""
        about = AboutRequestSerializer().fields.items()
        texts = {name: serializers.TextField(help_text=field.help_text) for name, field in about}
        categories = serializers.ListField(child=serializers.OneOfField(CATEGORIES), help_text=_CATEGORIES_HELP)
        return {**texts, "categories": categories, **super().get_fields()}

    @staticmethod
    def nothing() -> dict[str, Any]:
        return {**dict.fromkeys(AboutRequestSerializer().fields, ""), "categories": []}


@extend_schema_field({"type": ["integer", "string"], "description": "A string if the number is 2^53 or more."})
class CountField(serializers.FreeField):
    """A count that can be too large for the exact integers of some JSON parsers."""


class CertifiedReasonSerializer(serializers.JsonPartSerializer):
    """A reason of the scorecard."""

    code = serializers.TextField(help_text="The code of a principal reason, or `other`.")
    text = serializers.TextField(help_text="The reason as a sentence or a phrase.")
    can_occur = serializers.FlagField(
        help_text="Whether the reason can occur in a knockout, or in a result whose outcome is not `approve`."
    )


class OrderedInputSerializer(serializers.JsonPartSerializer):
    """An input whose bins are ordered."""

    name = serializers.TextField(help_text="The name of the input.")
    is_monotone = serializers.FlagField(
        help_text="Whether the points of the bins only rise or only fall. The bin of missing values is ignored."
    )


class CertifiedInputSerializer(serializers.JsonPartSerializer):
    """An input of the scorecard."""

    name = serializers.TextField(help_text="The name of the input.")
    facts = serializers.ListField(child=serializers.TextField(), help_text="The facts that the input reads.")
    categories = serializers.ListField(
        child=serializers.OneOfField(CATEGORIES), help_text="The categories of the facts."
    )


class CertificateSerializer(serializers.JsonPartSerializer):
    """The possible results of a scorecard, computed over every combination of bins."""

    combinations = CountField(help_text="The number of combinations. The value is a string if it is 2^53 or more.")
    declines = CountField(
        help_text="The number of combinations whose total has the outcome `decline`. The value is a string if "
        "it is 2^53 or more."
    )
    declines_without_reason = CountField(
        help_text="The number of declining combinations without a reason. The number is 0 if the version was published "
        "with version 1.1 of the platform or later. The value is a string if it is 2^53 or more."
    )
    reasons = CertifiedReasonSerializer(
        many=True, help_text="The reasons of characteristics, then the reasons of knockouts."
    )
    total_min = serializers.Int64Field(help_text="The lowest possible total, limited to the definition's `range`.")
    total_max = serializers.Int64Field(help_text="The highest possible total, limited to the definition's `range`.")
    ordered = OrderedInputSerializer(many=True, help_text="The inputs whose bins are ranges (`below`).")
    inputs = CertifiedInputSerializer(many=True, help_text="All inputs of the scorecard.")

"""Answers about an application's score and the evidence of its decision."""

from typing import Any

from rest_framework import serializers

from config.api.serializers import Int32Field, Int64Field, OneOfField, ResponseSerializer, StrictListField, TextField
from credit.scoring.serializers import OUTCOMES, ChangeAnswer, ReasonAnswer


class ScoreAnswer(ResponseSerializer):
    """What a scoring model made of an application when it was submitted."""

    score = Int64Field(help_text="The total of the points.")
    range: Any = StrictListField(child=Int64Field(), help_text="The lowest and the highest score there is.")
    scored_at = serializers.DateTimeField(help_text="When it was computed (UTC).")
    model_id = Int64Field(help_text="The scoring model that computed it.")
    version = Int32Field(help_text="The number of the model's version that computed it.")
    outcome = OneOfField(OUTCOMES, help_text="`refer`: the model leaves it to people.")
    reasons = ReasonAnswer(many=True, help_text="At most four, the most important first.")
    changes = ChangeAnswer(
        many=True, allow_null=True, help_text="The smallest first; null once the facts of the score are erased."
    )


class BundleAnswer(ResponseSerializer):
    """The newest decision as a file to keep: each member is the exact text that was hashed."""

    record = TextField(help_text="What the ledger anchors: canonical JSON.")
    proof_file = TextField(allow_null=True, help_text="The ledger's proof of `record`; null while it is not anchored.")
    definition = TextField(allow_null=True, help_text="The scorecard, canonical JSON; null where nothing was scored.")
    facts = TextField(allow_null=True, help_text="What was scored, canonical JSON; null once it is erased.")
    nonce = TextField(allow_null=True, help_text="What is hashed before the facts, in base64.")

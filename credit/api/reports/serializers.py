from config.api import serializers
from config.api.secret_answers import SecretAnswer
from credit.core.applicants import APPLICANTS_MAX, FIRST
from credit.models.reports import KINDS, PURPOSES, Report


class ReportRequestSerializer(serializers.RequestSerializer):
    """A report to request."""

    kind = serializers.OneOfField(KINDS, help_text="The kind of the report: `credit` or `income`.")
    purpose = serializers.OneOfField(
        PURPOSES, default=None, allow_null=True,
        help_text="The permissible purpose: `credit_transaction` (15 USC 1681b(a)(3)(A)), or `written_instructions` of "
        "the applicant (15 USC 1681b(a)(2)). If `purpose` is missing, the API returns 400 `E1022`.",
    )  # fmt: skip
    applicant = serializers.Int32Field(
        min_value=FIRST, max_value=APPLICANTS_MAX, default=FIRST, help_text="The number of the applicant: 1 or 2."
    )


class ReportScoreSerializer(serializers.JsonPartSerializer):
    """A score of a report."""

    value = serializers.Int64Field(help_text="The score.")
    min = serializers.Int64Field(help_text="The lowest possible score.")
    max = serializers.Int64Field(help_text="The highest possible score.")
    factors = serializers.ListField(child=serializers.TextField(), help_text="The key factors of the score, in words.")
    supplier = serializers.TextField(
        allow_null=True, help_text="The supplier of the score. Null if the agency supplied the score."
    )
    ranks_above_percent = serializers.Int32Field(
        allow_null=True, help_text="The percentage of consumers with a lower score. Null if unknown."
    )


class AgencySerializer(serializers.JsonPartSerializer):
    """The agency that supplied a report."""

    name = serializers.TextField(help_text="The agency's name.")
    address = serializers.TextField(help_text="The agency's postal address.")
    phone = serializers.TextField(help_text="The agency's phone number.")
    website = serializers.TextField(allow_null=True, help_text="The agency's website. Null if unknown.")


class SummarySerializer(serializers.JsonPartSerializer):
    """The summary of a report."""

    score = ReportScoreSerializer(allow_null=True, help_text="The score. Null if there is none.")
    currency = serializers.TextField(help_text="The ISO 4217 code of the amounts' currency.")
    income_monthly_cents = serializers.Int64Field(
        allow_null=True, help_text="The income per month, in the currency's minor unit. Null if unknown."
    )
    obligations_monthly_cents = serializers.Int64Field(
        allow_null=True, help_text="The payments due per month, in the currency's minor unit. Null if unknown."
    )
    delinquencies_24_months = serializers.Int64Field(
        allow_null=True, help_text="The number of delinquencies in the last 24 months. Null if unknown."
    )
    inquiries_6_months = serializers.Int64Field(
        allow_null=True, help_text="The number of inquiries in the last 6 months. Null if unknown."
    )
    oldest_account_months = serializers.Int64Field(
        allow_null=True, help_text="The age of the oldest account, in months. Null if unknown."
    )
    agency = AgencySerializer(help_text="The agency that supplied the report.")
    categories = serializers.ListField(child=serializers.TextField(), help_text="The categories of data in the report.")
    result = serializers.TextField(allow_null=True, help_text="The result, in words. Null if there is none.")


class ReportSerializer(SecretAnswer, serializers.ModelResponseSerializer):
    """A report about an applicant."""

    raw = serializers.TextField(
        source="shown_raw", allow_null=True,
        help_text="The vendor's response as text. Null unless a reviewer gets a single report.",
    )  # fmt: skip
    reused = serializers.FlagField(
        source="is_reused",
        help_text="True if the request returned an earlier, unexpired report of the same kind, purpose, and applicant. "
        "Otherwise false.",
    )
    summary = SummarySerializer(
        source="parsed_summary",
        allow_null=True,
        help_text="The summary of the report. Null until the report arrives, if the report failed, and after an "
        "erasure.",
    )

    class Meta:
        model = Report
        fields = [
            "id", "kind", "vendor", "purpose", "applicant", "status", "requested_by", "requested_at", "as_of",
            "expires_at", "summary", "summary_sha256", "raw", "reused",
        ]  # fmt: skip
        extra_kwargs = {"requested_by": {"source": "requested_by_id", "allow_null": True}}

"""Requests and responses about loans: counteroffers and agreements."""

from hashlib import sha256
from typing import Any

from django.conf import settings

from config.api import serializers
from config.core.json_text import canonical_json
from credit.api.anchoring.serializers import AnchorSerializer
from credit.api.applications.applicant_serializers import ApplicantSerializer
from credit.api.offers.serializers import InstalmentSerializer
from credit.core.apr import TERM_MAX_MONTHS
from credit.core.quotes import AMOUNT_MAX_CENTS
from credit.models import Precontract
from credit.models.terms import Counteroffer
from credit.terms.agreement import Agreement
from credit.terms.withdrawals import RECORDED

PROPOSED = "proposed"


class MomentField(serializers.QueryTimeField):
    """A date and time in a body (RFC 3339), with its UTC offset."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class CounterofferRequestSerializer(serializers.RequestSerializer):
    """A counteroffer to create."""

    refuses_unknown = True
    terms = serializers.FreeField(
        **serializers.NULLABLE,
        help_text="The loan, in the form of `metadata.terms` of an approval, with at least one figure. Missing figures "
        "come from the application or the offer.",
    )
    reasons = serializers.FreeField(
        help_text="One to four principal reasons of the rejection that follows if it is not accepted."
    )
    expires_at = MomentField(
        help_text="The time by which it must be accepted: after today (UTC), and at most 90 days from now."
    )
    with_denial = serializers.FlagField(
        default=False,
        help_text="Whether the counteroffer's notice already has the denial of the request and its reasons. No other "
        "notice then follows if it is not accepted (12 CFR 1002.9, comment 9(a)(1)-6).",
    )
    report_ids = serializers.ListField(
        child=serializers.IdField(),
        max_length=10,
        **serializers.NULLABLE,
        help_text="The ids of the stored reports that the counteroffer is based on; null if none.",
    )
    consumer_report = serializers.FreeField(
        **serializers.NULLABLE,
        help_text="The consumer report, in the form of `metadata.consumer_report` of a decision.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {**attrs, "expires_at": attrs["expires_at"].isoformat()}


class CounterofferSerializer(serializers.ResponseSerializer):
    """A counteroffer."""

    id = serializers.UUIDField(
        allow_null=True, help_text="The counteroffer's id; null while a second reviewer has to confirm it."
    )
    status = serializers.OneOfField(
        (PROPOSED, Counteroffer.OPEN, *Counteroffer.OUTCOMES),
        help_text="The status. `superseded`: another decision was made, or the data changed.",
    )
    terms = serializers.FreeField(help_text="The loan, for a start on the day of the counteroffer.")
    terms_sha256 = serializers.TextField(
        allow_null=True, help_text="The SHA-256 of the canonical JSON of `terms`, in hex."
    )
    reasons = serializers.FreeField(
        help_text="The principal reasons of the rejection that follows if it is not accepted."
    )
    expires_at = serializers.DateTimeField(help_text="The time by which it must be accepted.")
    offered_by = serializers.TextField(help_text="The account that created the counteroffer.")
    offered_at = serializers.DateTimeField(help_text="When the counteroffer was created or proposed.")
    closed_at = serializers.DateTimeField(
        allow_null=True, help_text="When the counteroffer was closed; null while it is open."
    )


class LenderSerializer(serializers.ResponseSerializer):
    """The lender of the offer."""

    provider_id = serializers.TextField(source="id")
    name = serializers.TextField(help_text="The lender's name; empty if not set.")


class BorrowerSerializer(serializers.ResponseSerializer):
    """The party that accepted the agreement."""

    consumer_id = serializers.TextField()
    applicants = ApplicantSerializer(
        many=True, allow_null=True, help_text="The applicants; null if none, or if they were erased."
    )


class DisclosureSerializer(serializers.ResponseSerializer):
    """The four figures of 12 CFR 1026.18; null for a line of credit."""

    apr_percent = serializers.NumberField(
        source="apr_number", allow_null=True, help_text="The annual percentage rate, by the `method` of `terms`."
    )
    finance_charge_cents = serializers.Int64Field(allow_null=True, help_text="The cost of the credit, in cents.")
    amount_financed_cents = serializers.Int64Field(allow_null=True, help_text="The amount less the prepaid fee.")
    total_of_payments_cents = serializers.Int64Field(allow_null=True, help_text="All payments together, in cents.")


class AgreedDecisionSerializer(serializers.ResponseSerializer):
    """The approval."""

    decided_by = serializers.TextField(help_text="The account that approved, or created the counteroffer.")
    decided_at = serializers.DateTimeField(help_text="When the decision was made (UTC).")
    proof = AnchorSerializer(allow_null=True, help_text="The decision's record; null if there is no record.")


class AgreedAcceptanceSerializer(serializers.ResponseSerializer):
    """The acceptance."""

    accepted_by = serializers.TextField(source="principal_id", help_text="The `user_id` of the account that accepted.")
    accepted_at = serializers.DateTimeField(help_text="The time of the acceptance (UTC).")
    credential = serializers.TextField(
        help_text="The kind and public id of the credential, such as `api_key:…`. It is not a secret."
    )
    proof = AnchorSerializer(allow_null=True, help_text="The acceptance's record; null if there is no record.")


class AgreementMemberSerializer(serializers.JsonPartSerializer):
    """One item of the information that Directive (EU) 2023/2225, Article 21 requires."""

    name = serializers.TextField(help_text="The item's name, such as `withdrawal`.")
    title = serializers.TextField(help_text="The item's title, in the first borrower's language.")
    text = serializers.TextField(allow_null=True, help_text="The item's text; null while it is missing.")


class AgreedSerializer(serializers.ResponseSerializer):
    """Everything that `agreement_sha256` is of."""

    application_id = serializers.TextField()
    offer_id = serializers.Int64Field(help_text="The id of the application's offer.")
    offer_version = serializers.Int64Field(
        allow_null=True, help_text="The offer's version at the submission; null for an unlisted offer."
    )
    offer_terms_sha256 = serializers.TextField(help_text="SHA-256 of the offer's terms as they were at the submission.")
    lender = LenderSerializer(help_text="The lender of the offer.")
    borrower = BorrowerSerializer(help_text="The account that accepted the agreement.")
    terms = serializers.FreeField(help_text="The loan: amount, note rate, term, fee, and cost.")
    terms_sha256 = serializers.TextField(help_text="The SHA-256 of the canonical JSON of `terms`, in hex.")
    starts_on = serializers.DayField(help_text="The day of the acceptance, on which the schedule starts.")
    schedule = InstalmentSerializer(
        many=True, allow_null=True, help_text="Every payment in order; null for a line of credit."
    )
    schedule_sha256 = serializers.TextField(
        allow_null=True, help_text="The SHA-256 of the canonical JSON of `schedule`, in hex."
    )
    disclosure = DisclosureSerializer(help_text="The four figures of 12 CFR 1026.18.")
    decision = AgreedDecisionSerializer(help_text="The approval, with its proof.")
    acceptance = AgreedAcceptanceSerializer(help_text="The acceptance, with its proof.")
    members = AgreementMemberSerializer(
        many=True,
        required=False,
        help_text="The information that Directive (EU) 2023/2225, Article 21 requires; absent for an agreement under "
        "another law.",
    )


class AgreementSerializer(AgreedSerializer):
    """The whole agreement: lender, borrower, loan, disclosure, decision, and acceptance, with inclusion proofs."""

    agreement_sha256 = serializers.TextField(help_text="The SHA-256 of the canonical JSON of everything else, in hex.")

    @classmethod
    def represent(cls, thing: Agreement) -> dict[str, Any]:
        agreed = AgreedSerializer.represent(thing)
        return {**agreed, "agreement_sha256": sha256(canonical_json(agreed)).hexdigest()}


class WithdrawalRequestSerializer(serializers.RequestSerializer):
    """A withdrawal from an accepted agreement. A borrower sends an empty object."""

    refuses_unknown = True
    declared_at = MomentField(
        **serializers.NULLABLE,
        help_text="When the borrower sent the declaration. Only the lender sends it, with `channel`.",
    )
    channel = serializers.OneOfField(
        RECORDED, **serializers.NULLABLE, help_text="How the declaration reached the lender."
    )


class WithdrawalSerializer(serializers.ResponseSerializer):
    """The right to withdraw from an accepted agreement, and its use. Amounts are in the currency's minor unit."""

    told_of_right_at = serializers.DateTimeField(
        allow_null=True, help_text="When the borrowers were informed of the right (UTC); null if they were not."
    )
    complete_since = serializers.DateTimeField(
        allow_null=True, help_text="When the borrowers had all terms and information (UTC); null if they did not."
    )
    period_ends_at = serializers.DateTimeField(
        allow_null=True, help_text="The moment by which a declaration must be sent (UTC); null for no end."
    )
    declared_at = serializers.DateTimeField(
        allow_null=True, help_text="When a borrower sent the declaration (UTC); null before then."
    )
    repay_by = serializers.DayField(allow_null=True, help_text="The last day for repayment; null before a withdrawal.")
    interest_a_day_cents = serializers.Int64Field(
        allow_null=True, help_text="The interest per day until repayment; null for a line of credit."
    )
    capital_cents = serializers.Int64Field(
        allow_null=True, help_text="The capital to repay; null for a line of credit."
    )
    fee_back_cents = serializers.Int64Field(
        allow_null=True, help_text="The fee that the lender returns; null if the approval has no loan."
    )
    proof = AnchorSerializer(allow_null=True, help_text="The withdrawal's record; null if there is no record.")


class FormQuery(serializers.QuerySerializer):
    """The language of a form."""

    language = serializers.OneOfField(
        dict(settings.LANGUAGES), default=None, help_text="The language of the form. Default: the applicant's, or `en`."
    )


class OfferFormQuery(FormQuery):
    """The loan that a form is about."""

    amount_cents = serializers.QueryInt64Field(
        min_value=1,
        max_value=AMOUNT_MAX_CENTS,
        default=None,
        help_text="The loan. Default: the example's amount; of a line of credit, a ceiling of 1,500 euros.",
    )
    term_months = serializers.QueryInt64Field(
        min_value=1,
        max_value=TERM_MAX_MONTHS,
        default=None,
        help_text="The duration. Default: the example's. Omit it for a line of credit.",
    )


class FormRowSerializer(serializers.JsonPartSerializer):
    """A row of the European information form."""

    number = serializers.Int32Field(help_text="The row's number in Annex I, from 1 to 60.")
    part = serializers.TextField(help_text="`I` or `II` of the key information, or `1` to `4`; empty for the layout.")
    title = serializers.TextField(help_text="The row's title, in the form's language.")
    value = serializers.TextField(
        help_text="The row's text, in the form's language. The lender's texts (`texts` of the offer) stay as sent."
    )


class OfferFormSerializer(serializers.ResponseSerializer):
    """The European information form of an offer."""

    language = serializers.TextField(help_text="The language of the form.")
    terms = serializers.FreeField(help_text="The loan that the form is about, with its figures.")
    rows = FormRowSerializer(many=True, help_text="The 60 rows of Annex I.")
    schedule = InstalmentSerializer(many=True, help_text="Every payment; empty for a line of credit.")


class PrecontractSerializer(serializers.ModelResponseSerializer):
    """The European information form of an application."""

    rows = FormRowSerializer(many=True, help_text="The 60 rows of Annex I.")
    schedule = serializers.ListField(
        child=serializers.FreeField(), help_text="Every payment, as in `GET …/acceptance`; empty for a line of credit."
    )

    class Meta:
        model = Precontract
        fields = [
            "application_id", "terms_sha256", "language", "sha256", "medium", "provided_at", "opened_at", "rows",
            "schedule",
        ]  # fmt: skip

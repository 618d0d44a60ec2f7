"""Requests and responses about loans: counteroffers and agreements."""

from hashlib import sha256
from typing import Any

from django.conf import settings

from config.api import serializers
from config.core.json_text import canonical_json
from credit.api import shapes
from credit.api.anchoring.serializers import AnchorSerializer
from credit.api.applications.applicant_serializers import ApplicantSerializer
from credit.api.offers.loan_serializers import InstalmentSerializer
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
        shape=shapes.LOAN_TERMS_REQUEST,
        help_text="The loan, with the fields of an approval's `metadata.terms`. At least one value is required. If the "
        "amount or the term is missing, the API uses the value of the application. If the rate is missing, the API "
        "uses the lowest or only rate of the offer.",
    )
    reasons = serializers.FreeField(
        shape=shapes.REASONS_REQUEST,
        help_text="One to four principal reasons of the rejection that follows if the counteroffer is not accepted by "
        "its deadline.",
    )
    expires_at = MomentField(
        help_text="The time by which the applicant must accept. The date (UTC) must be after today, and at most 90 "
        "days from today. If `first_payment_on` is fixed, the time must not be after the beginning of that day."
    )
    with_denial = serializers.FlagField(
        default=False,
        help_text="Whether the counteroffer's notice also contains the denial of the requested credit, with the "
        "reasons. If that notice is delivered, the rejection at the deadline requires no other notice (12 CFR 1002.9, "
        "comment 9(a)(1)-6).",
    )
    report_ids = serializers.ListField(
        child=serializers.IdField(),
        max_length=10,
        **serializers.NULLABLE,
        help_text="The ids of the stored reports that the counteroffer is based on. Null if there is none. Without "
        "`report_ids` and `consumer_report`, the API adds the reports that the score used.",
    )
    consumer_report = serializers.FreeField(
        **serializers.NULLABLE,
        shape=shapes.REPORTS,
        help_text="Reports that the platform does not store. The form and the conditions are the same as for "
        "`metadata.consumer_report` of a decision. Null if there is none.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {**attrs, "expires_at": attrs["expires_at"].isoformat()}


class CounterofferSerializer(serializers.ResponseSerializer):
    """A counteroffer."""

    id = serializers.UUIDField(
        allow_null=True, help_text="The counteroffer's id. Null until a second reviewer confirms the proposal."
    )
    status = serializers.OneOfField(
        (PROPOSED, Counteroffer.OPEN, *Counteroffer.OUTCOMES),
        help_text="The status. `proposed`: a second reviewer must confirm it. `superseded`: another decision was made, "
        "the data or the applicants changed, or the review ended.",
    )
    terms = serializers.FreeField(
        shape=shapes.LOAN_TERMS,
        help_text="The loan. Its cost is computed for a start on the day of the counteroffer. While the status is "
        "`proposed`, and for a line of credit, the terms have no cost.",
    )
    terms_sha256 = serializers.TextField(
        allow_null=True,
        help_text="The SHA-256 of the canonical JSON of `terms`, in hex. Null while the status is `proposed`.",
    )
    reasons = serializers.FreeField(
        shape=shapes.STORED_REASONS,
        help_text="The principal reasons with which the API rejects the application if the counteroffer is not "
        "accepted by its deadline.",
    )
    expires_at = serializers.DateTimeField(help_text="The time by which the applicant must accept (UTC).")
    offered_by = serializers.TextField(
        help_text="The `user_id` of the account that created or proposed the counteroffer. For a counteroffer from the "
        "back office or the lender console, the user name of this account."
    )
    offered_at = serializers.DateTimeField(help_text="When the counteroffer was created or proposed (UTC).")
    closed_at = serializers.DateTimeField(
        allow_null=True, help_text="When the counteroffer was closed (UTC). Null before then."
    )


class LenderSerializer(serializers.ResponseSerializer):
    """The lender of the offer."""

    provider_id = serializers.TextField(
        source="id", help_text="The lender's id, as a string. In applications it is an integer."
    )
    name = serializers.TextField(help_text="The lender's name. Empty if it is not set.")


class BorrowerSerializer(serializers.ResponseSerializer):
    """The borrower: the account, and the applicants."""

    consumer_id = serializers.TextField(help_text="The `user_id` of the account that accepted the agreement.")
    applicants = ApplicantSerializer(
        many=True, allow_null=True, help_text="The applicants. Null if there are no applicants, or if they were erased."
    )


class DisclosureSerializer(serializers.ResponseSerializer):
    """The four figures of 12 CFR 1026.18, which are null for a line of credit."""

    apr_percent = serializers.NumberField(
        source="apr_number",
        allow_null=True,
        help_text="The annual percentage rate, by the `method` of `terms`. Null for a line of credit.",
    )
    finance_charge_cents = serializers.Int64Field(
        allow_null=True, help_text="The cost of the credit, in the currency's minor unit. Null for a line of credit."
    )
    amount_financed_cents = serializers.Int64Field(
        allow_null=True, help_text="The amount less the fee, in the currency's minor unit. Null for a line of credit."
    )
    total_of_payments_cents = serializers.Int64Field(
        allow_null=True, help_text="The sum of all payments, in the currency's minor unit. Null for a line of credit."
    )


class AgreedDecisionSerializer(serializers.ResponseSerializer):
    """The approval."""

    decided_by = serializers.TextField(
        help_text="The author of the approval: the `updated_by` of the API request, or the reviewer's user name in the "
        "back office and the lender console. For an accepted counteroffer, the counteroffer's `offered_by`. For an "
        "automatic approval, `model:<id>@<version>`."
    )
    decided_at = serializers.DateTimeField(
        help_text="When the application was approved (UTC). For a counteroffer, this is the time of the acceptance."
    )
    proof = AnchorSerializer(allow_null=True, help_text="The approval's record. Null if there is none.")


class AgreedAcceptanceSerializer(serializers.ResponseSerializer):
    """The acceptance."""

    accepted_by = serializers.TextField(source="principal_id", help_text="The `user_id` of the account that accepted.")
    accepted_at = serializers.DateTimeField(help_text="The time of the acceptance (UTC).")
    credential = serializers.TextField(
        help_text="The kind and the public id of the credential, such as `api_key:…`, or `my` for the applicant's "
        "page. The value is not a secret."
    )
    proof = AnchorSerializer(allow_null=True, help_text="The acceptance's record. Null if there is none.")


class AgreementMemberSerializer(serializers.JsonPartSerializer):
    """An item of the agreement, with its text."""

    name = serializers.TextField(help_text="The item's name, such as `withdrawal`.")
    title = serializers.TextField(help_text="The item's title, in the first borrower's language, or in English.")
    text = serializers.TextField(
        allow_null=True, help_text="The item's text. Null if the text was missing at the acceptance."
    )


class AgreedSerializer(serializers.ResponseSerializer):
    """The part of the agreement that `agreement_sha256` hashes."""

    application_id = serializers.TextField()
    offer_id = serializers.Int64Field(help_text="The id of the application's offer.")
    offer_version = serializers.Int64Field(
        allow_null=True, help_text="The offer's version at the submission. Null for an unlisted offer."
    )
    offer_terms_sha256 = serializers.TextField(
        help_text="The SHA-256 of the canonical JSON of the offer's terms at the submission, in hex. For an unlisted "
        "offer, this is the hash of `null`."
    )
    lender = LenderSerializer(help_text="The lender of the offer.")
    borrower = BorrowerSerializer(help_text="The account that accepted the agreement, and the applicants.")
    terms = serializers.FreeField(
        shape=shapes.LOAN_TERMS,
        help_text="The loan: amount, note rate, term, fee, and cost. A line of credit has no term and no cost.",
    )
    terms_sha256 = serializers.TextField(help_text="The SHA-256 of the canonical JSON of `terms`, in hex.")
    starts_on = serializers.DayField(help_text="The day of the acceptance (UTC), on which the loan starts.")
    schedule = InstalmentSerializer(
        many=True, allow_null=True, help_text="All payments, in order. Null for a line of credit."
    )
    schedule_sha256 = serializers.TextField(
        allow_null=True, help_text="The SHA-256 of the canonical JSON of `schedule`, in hex. Null for a line of credit."
    )
    disclosure = DisclosureSerializer(help_text="The four figures of 12 CFR 1026.18.")
    decision = AgreedDecisionSerializer(help_text="The approval.")
    acceptance = AgreedAcceptanceSerializer(help_text="The acceptance.")
    members = AgreementMemberSerializer(
        many=True,
        required=False,
        help_text="The items of the agreement as text, as of the acceptance. Under Directive (EU) 2023/2225, they are "
        "the items of Article 21. For other agreements, they are the lender and its contact data (`parties`), "
        "`credit_type`, and the lender's terms (`other_terms`). If two applicants accepted on `/my`, `joint_credit` "
        "is their declaration. Absent if version 1.0 of the platform created the agreement, and the directive does "
        "not apply.",
    )


class AgreementSerializer(AgreedSerializer):
    """The agreement: lender, borrower, loan, disclosure, decision, and acceptance."""

    agreement_sha256 = serializers.TextField(help_text="The SHA-256 of the canonical JSON of all other fields, in hex.")

    @classmethod
    def represent(cls, thing: Agreement) -> dict[str, Any]:
        agreed = AgreedSerializer.represent(thing)
        return {**agreed, "agreement_sha256": sha256(canonical_json(agreed)).hexdigest()}


class WithdrawalRequestSerializer(serializers.RequestSerializer):
    """A withdrawal from an accepted agreement. A borrower sends an empty object."""

    refuses_unknown = True
    declared_at = MomentField(
        **serializers.NULLABLE,
        help_text="When the borrower sent the declaration, between the acceptance and now. A reviewer must send this "
        "field. A borrower must omit this field.",
    )
    channel = serializers.OneOfField(
        RECORDED,
        **serializers.NULLABLE,
        help_text="How the declaration reached the lender. A reviewer must send this field. A borrower must omit this "
        "field.",
    )


class WithdrawalSerializer(serializers.ResponseSerializer):
    """The right to withdraw from an accepted agreement, and its use. Amounts are in the currency's minor unit."""

    told_of_right_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the borrowers were informed of the right (UTC). Null if the borrowers were not informed.",
    )
    complete_since = serializers.DateTimeField(
        allow_null=True,
        help_text="When the borrowers had all terms and information (UTC). Null while an item is missing.",
    )
    period_ends_at = serializers.DateTimeField(
        allow_null=True,
        help_text="The end of the withdrawal period (UTC). A declaration must be sent before this time. Null if the "
        "period has no end.",
    )
    declared_at = serializers.DateTimeField(
        allow_null=True, help_text="When a borrower sent the declaration (UTC). Null before then."
    )
    repay_by = serializers.DayField(
        allow_null=True, help_text="The last day for the repayment. Null before a withdrawal."
    )
    interest_a_day_cents = serializers.Int64Field(
        allow_null=True,
        help_text="The interest per day until the repayment. Null for a line of credit, and without a loan.",
    )
    capital_cents = serializers.Int64Field(
        allow_null=True,
        help_text="The amount of the loan. The borrower must repay this amount. If the lender deducted the fee from "
        "the payout, subtract `fee_back_cents`. Null for a line of credit, and without a loan.",
    )
    fee_back_cents = serializers.Int64Field(
        allow_null=True,
        help_text="The fee that the borrower does not owe. The lender returns the fee, unless the fee was deducted "
        "from the payout of a loan. Null if the approval has no loan.",
    )
    proof = AnchorSerializer(allow_null=True, help_text="The withdrawal's record. Null if there is none.")


class FormQuery(serializers.QuerySerializer):
    """The language of a form."""

    language = serializers.OneOfField(
        dict(settings.LANGUAGES),
        default=None,
        help_text="The language of the form. Default: the applicant's language, otherwise `en`.",
    )


class OfferFormQuery(FormQuery):
    """The language of a form, and its loan."""

    language = serializers.OneOfField(
        dict(settings.LANGUAGES), default=None, help_text="The language of the form. Default: `en`."
    )

    amount_cents = serializers.QueryInt64Field(
        min_value=1,
        max_value=AMOUNT_MAX_CENTS,
        default=None,
        help_text="The amount, in the currency's minor unit. Default for a loan: the example's amount. Default for a "
        "line of credit: an assumed limit of 1,500 euros. If the form can't assume this limit, the example's amount.",
    )
    term_months = serializers.QueryInt64Field(
        min_value=1,
        max_value=TERM_MAX_MONTHS,
        default=None,
        help_text="The duration in months. Default: the example's duration. If you send a duration for a line of "
        "credit, the API returns 400 `E1001`.",
    )


class FormRowSerializer(serializers.JsonPartSerializer):
    """A row of the European information form."""

    number = serializers.Int32Field(help_text="The row's number in Annex I, from 1 to 60.")
    part = serializers.TextField(
        help_text="The part: `I` or `II` (key information), or `1` to `4`. Empty for the layout."
    )
    title = serializers.TextField(help_text="The row's title, in the form's language.")
    value = serializers.TextField(
        help_text="The row's text, in the form's language. The lender's texts (`texts` of the offer) are in this "
        "language if the offer has a translation."
    )


class OfferFormSerializer(serializers.ResponseSerializer):
    """The European information form of an offer."""

    language = serializers.TextField(help_text="The language of the form.")
    terms = serializers.FreeField(
        shape=shapes.LOAN_TERMS,
        help_text="The credit that the form describes, with its figures. The object has no `application_id` and no "
        "`kind`. For a line of credit, it also has none of the fields from `payment_cents` to "
        "`amount_financed_cents`. If the form assumes a credit limit, `amount_cents` is null.",
    )
    rows = FormRowSerializer(many=True, help_text="The 60 rows of Annex I.")
    schedule = InstalmentSerializer(many=True, help_text="All payments, in order. Empty for a line of credit.")


class PrecontractSerializer(serializers.ModelResponseSerializer):
    """The European information form of an application."""

    rows = FormRowSerializer(many=True, help_text="The 60 rows of Annex I.")
    schedule = serializers.ListField(
        child=serializers.FreeField(shape=shapes.INSTALMENT),
        help_text="All payments, as in `GET …/acceptance` when the form was created. Empty for a line of credit.",
    )

    class Meta:
        model = Precontract
        fields = [
            "application_id", "terms_sha256", "language", "sha256", "medium", "provided_at", "opened_at", "rows",
            "schedule",
        ]  # fmt: skip

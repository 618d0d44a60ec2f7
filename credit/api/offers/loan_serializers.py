"""Serializers for the jurisdiction of offers, credit under Directive (EU) 2023/2225, and quotes of loan costs."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from config.api import serializers
from config.core.currencies import currencies_in_use
from credit.api.applications.applicant_serializers import Whole
from credit.core.apr import APR_MAX_PERCENT, RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.eu_credit import (
    REGIMES,
    RENOVATION,
    REQUIRED_TEXTS,
    TERMS_TEXT_MAX_LENGTH,
    TEXT_MAX_LENGTH,
    TEXTS,
    TEXTS_OF_LINE,
    faults_of,
)
from credit.core.jurisdictions import DAY_COUNTS, DEFAULT_CURRENCY, JURISDICTIONS, US
from credit.core.quotes import AMOUNT_MAX_CENTS, METHODS


class CurrencyField(serializers.TextField):
    default_error_messages = {"currency": "Must be the ISO 4217 code of a currency in use, such as EUR."}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not re.fullmatch("[A-Z]{3}", text) or text not in currencies_in_use():
            self.fail("currency")
        return text


class LongTextField(serializers.TextField):
    """A lender's text for people: not blank, and without invisible characters."""

    default_error_messages = {"blank_text": "Must have visible text.", "unprintable": "Must have printable text."}

    def __init__(self, *, max_length: int = TEXT_MAX_LENGTH, **options: Any) -> None:
        super().__init__(min_length=1, max_length=max_length, **options)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data).replace("\r\n", "\n").strip()
        if not text:
            self.fail("blank_text")
        if not text.replace("\n", "").isprintable():
            self.fail("unprintable")
        return text


class TextsField(serializers.DictField):
    """The lender's texts for the rows of the European information form. A text can be `does not apply`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=LongTextField(), **options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := next((name for name in data if name not in TEXTS), None)) is not None:
            raise serializers.ValidationError({unknown[:60]: [f"Unknown field. Allowed: {', '.join(TEXTS)}."]})
        return super().to_internal_value(data)


class ExampleRequestSerializer(Whole):
    """The credit of a representative example."""

    amount_cents = serializers.Int64Field(
        min_value=1, max_value=AMOUNT_MAX_CENTS, help_text="The amount, in the currency's minor unit."
    )
    months = serializers.Int32Field(min_value=1, max_value=TERM_MAX_MONTHS, help_text="The duration in months.")
    rate_percent = serializers.NumberField(
        min_value=0, max_value=RATE_MAX_PERCENT, help_text="The borrowing rate per year: 14.2 is 14.2 %."
    )
    fee_cents = serializers.Int64Field(
        min_value=0, max_value=AMOUNT_MAX_CENTS, default=0, help_text="The fee, in the currency's minor unit."
    )


class JurisdictionRequestSerializer(serializers.RequestSerializer):
    """The law that an offer follows, and the fields of an offer in the European Union."""

    jurisdiction = serializers.OneOfField(
        JURISDICTIONS,
        help_text="The law that the offer follows: `us`, or `eu` for credit in the European Union. Null means `us`.",
    )
    regime = serializers.OneOfField(
        REGIMES,
        help_text="Whether Directive (EU) 2023/2225 applies: `ccd2`, `ccd2_small` (a lighter national regime), or "
        "`none`. Required if `jurisdiction` is `eu`. Null if `jurisdiction` is `us`.",
    )
    regime_reason = serializers.NameField(
        max_length=500,
        help_text="Why the regime applies. Required if `regime` is `ccd2_small` or `none`. If `regime` is `ccd2`, "
        f"unsecured credit above EUR 100,000 requires `{RENOVATION}`. Null if `jurisdiction` is `us`.",
    )
    currency = CurrencyField(
        max_length=3,
        help_text="The ISO 4217 code of the currency of all amounts, which are in its minor unit. If `jurisdiction` is "
        "`us`, the currency must be USD. Null means USD for `us`, and EUR for `eu`.",
    )
    day_count = serializers.OneOfField(
        DAY_COUNTS,
        help_text="The day-count convention: the number of days in a year for daily interest. `act_365` is 365, "
        "`30_360` is 360. Required if `jurisdiction` is `eu`. Null if `jurisdiction` is `us`.",
    )
    fee_financed = serializers.FlagField(
        help_text="If true, the lender deducts the fee from the payout, and the total amount of credit is the amount "
        "less the fee. If false, the borrower pays the fee separately. Required if `jurisdiction` is `eu`. Null if "
        "`jurisdiction` is `us`."
    )
    example = ExampleRequestSerializer(
        help_text="The credit of the representative example. Required if `regime` is `ccd2` or `ccd2_small`. Null if "
        "`jurisdiction` is `us`."
    )
    apr_cap = serializers.NumberField(
        min_value=0,
        max_value=APR_MAX_PERCENT,
        help_text="The highest annual percentage rate that the law allows. Null if there is none.",
    )
    terms_text = LongTextField(
        max_length=TERMS_TEXT_MAX_LENGTH,
        help_text="The lender's terms in words, which applicants read before they accept. If the directive does not "
        "apply to the offer, the agreement contains these terms. If `regime` is `ccd2` or `ccd2_small`, these terms "
        "are the explanations that Article 12 requires. Null if there are no terms.",
    )
    texts = TextsField(
        help_text="The lender's texts for the rows of the European information form, by the row's name. If `regime` is "
        f"`ccd2` or `ccd2_small`, these texts are required: {', '.join(f'`{name}`' for name in REQUIRED_TEXTS)}. "
        f"A line of credit also requires `{TEXTS_OF_LINE[0]}`. Null if `jurisdiction` is `us`."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs["jurisdiction"] = attrs["jurisdiction"] or US
        attrs["currency"] = attrs["currency"] or DEFAULT_CURRENCY[attrs["jurisdiction"]]
        faults: dict[str, list[str]] = {}
        for member, words in faults_of(attrs):
            faults.setdefault(member, []).append(words)
        if faults:
            raise serializers.ValidationError(faults)
        return attrs


class ExampleSerializer(serializers.JsonPartSerializer):
    """The credit of a representative example."""

    amount_cents = serializers.Int64Field(help_text="The amount, in the currency's minor unit.")
    months = serializers.Int32Field(help_text="The duration in months.")
    rate_percent = serializers.NumberField(help_text="The borrowing rate per year: 14.2 is 14.2 %.")
    fee_cents = serializers.Int64Field(help_text="The fee, in the currency's minor unit.")


class RepresentativeExampleSerializer(ExampleSerializer):
    """A representative example: the credit and its cost. All amounts are in the currency's minor unit."""

    currency = serializers.TextField(help_text="The ISO 4217 code of the currency of all amounts.")
    fee_financed = serializers.FlagField(help_text="Whether the lender deducts the fee from the payout.")
    total_credit_cents = serializers.Int64Field(help_text="The total amount of credit.")
    total_cost_cents = serializers.Int64Field(help_text="The total cost of the credit.")
    total_payable_cents = serializers.Int64Field(help_text="The total amount payable.")
    payment_cents = serializers.Int64Field(
        allow_null=True, help_text="The amount of each payment except the last. Null for a line of credit."
    )
    apr_percent = serializers.NumberField(help_text="The annual percentage rate, with up to four decimal places.")
    text = serializers.TextField(help_text="The example as a text to display.")


_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?", re.ASCII)


class QueryDecimalField(serializers.NumberField):
    """A number in a query string, as an exact decimal: ASCII digits, at most six after the decimal point."""

    default_error_messages = {"invalid": "Must be a number such as 9.75, with at most six decimal places."}

    def to_internal_value(self, data: Any) -> Decimal:  # type: ignore[override]
        if not _FRACTION.fullmatch(data):
            self.fail("invalid")
        return Decimal(data)


class QuoteQuery(serializers.QuerySerializer):
    """The loan to quote."""

    amount_cents = serializers.QueryInt64Field(
        min_value=1, max_value=AMOUNT_MAX_CENTS, help_text="The amount, in the currency's minor unit."
    )
    term_months = serializers.QueryInt64Field(
        min_value=1,
        max_value=TERM_MAX_MONTHS,
        help_text="The term in months. The schedule has one payment per month, or fewer if rounded payments repay a "
        "small loan early.",
    )
    apr_percent = QueryDecimalField(
        min_value=0,
        max_value=RATE_MAX_PERCENT,
        default=None,
        help_text="The note rate per year in percent, with at most six decimal places. Default: the offer's lowest "
        "rate, or its highest rate if it has no lowest rate. Required if the offer has no rate.",
    )
    fee_cents = serializers.QueryInt64Field(
        min_value=0,
        default=0,
        help_text="The prepaid finance charge, in the currency's minor unit. The charge must be less than the amount.",
    )
    first_payment_on = serializers.DayField(
        default=None,
        help_text="The date of the first payment: after today (UTC), within 12 months. Default: one month from today.",
    )
    method = serializers.OneOfField(
        METHODS,
        default=None,
        help_text="The method of computing `apr_percent`. Default: the method of the offer's jurisdiction. An offer "
        "with `jurisdiction` `eu` accepts only `eu_annex_iii`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["fee_cents"] >= attrs["amount_cents"]:
            raise serializers.ValidationError({"fee_cents": ["Must be less than `amount_cents`."]})
        if attrs["first_payment_on"] is not None:
            attrs["first_payment_on"] = date.fromisoformat(attrs["first_payment_on"])
        return attrs


class InstalmentSerializer(serializers.ResponseSerializer):
    """One payment of a schedule."""

    number = serializers.Int32Field(help_text="The number of the payment, from 1.")
    due_on = serializers.DateField(help_text="The due date.")
    payment_cents = serializers.Int64Field(help_text="The payment, in the currency's minor unit.")
    interest_cents = serializers.Int64Field(help_text="The interest in the payment, in the currency's minor unit.")
    principal_cents = serializers.Int64Field(
        help_text="The principal in the payment, in the currency's minor unit. Negative if the interest of a long "
        "first period exceeds the payment."
    )
    balance_cents = serializers.Int64Field(help_text="The balance after the payment, in the currency's minor unit.")


class QuoteSerializer(serializers.ResponseSerializer):
    """The cost of a loan. All amounts are in the currency's minor unit."""

    payment_cents = serializers.Int64Field(help_text="The amount of each payment except the last.")
    final_payment_cents = serializers.Int64Field(help_text="The amount of the last payment.")
    total_of_payments_cents = serializers.Int64Field(help_text="The sum of all payments.")
    finance_charge_cents = serializers.Int64Field(help_text="The finance charge: the interest and the prepaid fee.")
    amount_financed_cents = serializers.Int64Field(help_text="The amount less the prepaid fee.")
    apr_percent = serializers.NumberField(help_text="The annual percentage rate, with up to four decimal places.")
    method = serializers.OneOfField(METHODS, help_text="The method of computing `apr_percent`.")
    schedule = InstalmentSerializer(many=True, help_text="All payments, in order.")
    currency = serializers.TextField(
        required=False,
        help_text="The ISO 4217 code of the currency. Present only if the offer's `jurisdiction` is `eu`.",
    )
    fee_financed = serializers.FlagField(
        required=False,
        help_text="Whether the lender deducts the fee from the payout. Present only if the offer's `jurisdiction` is "
        "`eu`.",
    )
    total_credit_cents = serializers.Int64Field(
        required=False,
        help_text="The total amount of credit. If the lender deducts the fee, the amount less the fee. Present only if "
        "the offer's `jurisdiction` is `eu`.",
    )
    total_cost_cents = serializers.Int64Field(
        required=False,
        help_text="The total cost of the credit: interest and fee. Present only if the offer's `jurisdiction` is `eu`.",
    )
    total_payable_cents = serializers.Int64Field(
        required=False,
        help_text="The total amount of credit plus its total cost. Present only if the offer's `jurisdiction` is `eu`.",
    )
    warning = serializers.TextField(
        required=False,
        help_text="The warning of Directive (EU) 2023/2225, Article 8. Present only if the offer's `jurisdiction` is "
        "`eu`.",
    )
    representative_example = RepresentativeExampleSerializer(
        required=False,
        allow_null=True,
        help_text="The offer's representative example. Present only if the offer's `jurisdiction` is `eu`. Null if the "
        "offer has no `example`, or if the annual percentage rate of the example is out of range.",
    )

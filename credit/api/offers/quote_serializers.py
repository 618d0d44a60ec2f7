"""The cost of a loan of an offer."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from config.api import serializers
from credit.api.offers.eu_serializers import RepresentativeExampleSerializer
from credit.core.apr import RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.quotes import AMOUNT_MAX_CENTS, METHODS

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
        "rate, or its highest if it has no lowest. Required if the offer has no rate.",
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
        "with `eu` accepts only `eu_annex_iii`.",
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
        help_text="The total amount of credit, without a deducted fee. Present only if the offer's `jurisdiction` is "
        "`eu`.",
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
        help_text="The offer's representative example. Present only if the offer's `jurisdiction` is `eu`. Null "
        "without an `example`, and if its annual percentage rate is out of range.",
    )

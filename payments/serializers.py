"""Bodies, queries and answers of fees and card payments (specification sections 2.5 and 4.2)."""

from config.api.errors import ApiError
from config.api.fields import Int64Field, NumberField, QueryInt64Field
from config.api.serializers import Answer, StrictQuery


class InvalidAmount(ApiError):
    """The `amount` of a fee quote is not a positive number of cents, given once."""

    error, code, message = "invalid_amount", "E1003", "`amount` is a number of cents from 1 to 9223372036854775807."


class AmountField(QueryInt64Field):
    """Cents in a query string, from 1; anything else is `invalid_amount`."""

    refusal = InvalidAmount


class FeeQuery(StrictQuery):
    """The amount to quote for."""

    amount = AmountField(minimum=1)


class FeeAnswer(Answer):
    """A fee quote."""

    amount_cents = Int64Field()
    fee_amount_cents = Int64Field()
    fee_percentage = NumberField(minimum=0, maximum=100)
    net_amount_cents = Int64Field()

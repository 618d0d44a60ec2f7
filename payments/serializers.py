"""Bodies, queries and answers of fees and card payments (specification sections 2.5 and 4.2)."""

from rest_framework import serializers

from config.api.errors import ApiError
from config.api.fields import FlagField, IdField, Int64Field, NumberField, OneOfField, QueryInt64Field, TextField
from config.api.serializers import Answer, Strict, StrictQuery
from payments.card_models import STATUSES
from payments.methods import PROCESSOR_TYPES


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


class ProcessBody(Strict):
    """ProcessPayment."""

    user_id = Int64Field()
    amount_cents = Int64Field(minimum=1)
    payment_method_id = IdField()
    currency = TextField(min_length=3, max_length=3, allow_null=True, default=None)
    description = TextField(allow_null=True, default=None)
    provider_account_id = IdField(allow_null=True, default=None)


class ProcessedAnswer(Answer):
    """A processed payment (specification section 2.5)."""

    amount_cents = Int64Field()
    payment_id = Int64Field()
    processed_at = serializers.DateTimeField()
    status = TextField(help_text="Completed")
    transaction_id = TextField()


class PaymentAnswer(Answer):
    """A payment, whatever has become of it."""

    payment_id = Int64Field()
    status = OneOfField(STATUSES)
    amount_cents = Int64Field()
    fee_amount_cents = Int64Field()
    net_amount_cents = Int64Field()
    currency = TextField()
    transaction_id = TextField(allow_null=True)
    created_at = serializers.DateTimeField()
    processed_at = serializers.DateTimeField(allow_null=True)
    failure = TextField(allow_null=True)


class AddMethodBody(Strict):
    """AddPaymentMethod."""

    user_id = Int64Field()
    account_id = IdField()
    processor_type = OneOfField(PROCESSOR_TYPES)


class MethodAnswer(Answer):
    """A payment method, or the acknowledgement of what is not kept."""

    id = TextField()
    acknowledged = FlagField(required=False)
    persisted = FlagField(required=False)
    user_id = Int64Field(required=False)
    processor_type = TextField(required=False)
    account_id = TextField(required=False, help_text="Masked.")
    is_default = FlagField(required=False)
    is_active = FlagField(required=False)
    created_at = serializers.DateTimeField(required=False)


class AddedAnswer(MethodAnswer):
    """What adding gives; an id only where methods are kept."""

    id = TextField(required=False)


class MethodsAnswer(Answer):
    """A person's payment methods."""

    payment_methods = MethodAnswer(many=True)
    total = Int64Field()

"""Bodies, queries and answers of fees and card payments (specification sections 2.5 and 4.2)."""

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    IdField,
    Int64Field,
    NumberField,
    OneOfField,
    QueryInt64Field,
    QuerySerializer,
    RequestSerializer,
    ResponseSerializer,
    TextField,
)
from payments.cards.methods import PROCESSOR_TYPES
from payments.cards.models import STATUSES
from payments.errors import InvalidAmount


class AmountField(QueryInt64Field):
    """Cents in a query string, from 1; anything else is `invalid_amount`."""

    refusal = InvalidAmount


class FeeQuery(QuerySerializer):
    """The amount to quote for."""

    amount = AmountField(min_value=1)


class FeeAnswer(ResponseSerializer):
    """A fee quote."""

    amount_cents = Int64Field()
    fee_amount_cents = Int64Field()
    fee_percentage = NumberField(min_value=0, max_value=100)
    net_amount_cents = Int64Field()


class ProcessBody(RequestSerializer):
    """ProcessPayment."""

    user_id = Int64Field()
    amount_cents = Int64Field(min_value=1)
    payment_method_id = IdField()
    currency = TextField(min_length=3, max_length=3, allow_null=True, default=None)
    description = TextField(allow_null=True, default=None)
    provider_account_id = IdField(allow_null=True, default=None)


class ProcessedAnswer(ResponseSerializer):
    """A processed payment (specification section 2.5)."""

    amount_cents = Int64Field()
    payment_id = Int64Field()
    processed_at = serializers.DateTimeField()
    status = TextField(help_text="Completed")
    transaction_id = TextField()


class PaymentAnswer(ResponseSerializer):
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


class AddMethodBody(RequestSerializer):
    """AddPaymentMethod."""

    user_id = Int64Field()
    account_id = IdField()
    processor_type = OneOfField(PROCESSOR_TYPES)


class MethodAnswer(ResponseSerializer):
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


class MethodsAnswer(ResponseSerializer):
    """A person's payment methods."""

    payment_methods = MethodAnswer(many=True)
    total = Int64Field()

from config.api import serializers
from payments.cards.methods import PROCESSOR_TYPES
from payments.cards.models import STATUSES
from payments.errors import InvalidAmount


class AmountField(serializers.QueryInt64Field):
    """Cents in a query string, from 1; anything else is `invalid_amount`."""

    refusal = InvalidAmount


class FeeQuery(serializers.QuerySerializer):
    """The amount to quote for."""

    amount = AmountField(min_value=1)


class FeeAnswer(serializers.ResponseSerializer):
    """A fee quote."""

    amount_cents = serializers.Int64Field()
    fee_amount_cents = serializers.Int64Field()
    fee_percentage = serializers.NumberField(min_value=0, max_value=100)
    net_amount_cents = serializers.Int64Field()


class ProcessBody(serializers.RequestSerializer):
    """ProcessPayment."""

    user_id = serializers.Int64Field()
    amount_cents = serializers.Int64Field(min_value=1)
    payment_method_id = serializers.IdField()
    currency = serializers.TextField(min_length=3, max_length=3, allow_null=True, default=None)
    description = serializers.TextField(allow_null=True, default=None)
    provider_account_id = serializers.IdField(allow_null=True, default=None)


class ProcessedAnswer(serializers.ResponseSerializer):
    """A processed payment (specification section 2.5)."""

    amount_cents = serializers.Int64Field()
    payment_id = serializers.Int64Field()
    processed_at = serializers.DateTimeField()
    status = serializers.TextField(help_text="Completed")
    transaction_id = serializers.TextField()


class PaymentAnswer(serializers.ResponseSerializer):
    """A payment, whatever has become of it."""

    payment_id = serializers.Int64Field(source="pk")
    status = serializers.OneOfField(STATUSES)
    amount_cents = serializers.Int64Field()
    fee_amount_cents = serializers.Int64Field()
    net_amount_cents = serializers.Int64Field()
    currency = serializers.TextField()
    transaction_id = serializers.TextField(allow_null=True)
    created_at = serializers.DateTimeField()
    processed_at = serializers.DateTimeField(allow_null=True)
    failure = serializers.TextField(allow_null=True)


class AddMethodBody(serializers.RequestSerializer):
    """AddPaymentMethod."""

    user_id = serializers.Int64Field()
    account_id = serializers.IdField()
    processor_type = serializers.OneOfField(PROCESSOR_TYPES)


class MethodAnswer(serializers.ResponseSerializer):
    """A payment method, or the acknowledgement of what is not kept."""

    id = serializers.TextField()
    acknowledged = serializers.FlagField(required=False)
    persisted = serializers.FlagField(required=False)
    user_id = serializers.Int64Field(required=False)
    processor_type = serializers.TextField(required=False)
    account_id = serializers.TextField(required=False, help_text="Masked.")
    is_default = serializers.FlagField(required=False)
    is_active = serializers.FlagField(required=False)
    created_at = serializers.DateTimeField(required=False)


class AddedAnswer(MethodAnswer):
    """What adding gives; an id only where methods are kept."""

    id = serializers.TextField(required=False)


class MethodsAnswer(serializers.ResponseSerializer):
    """A person's payment methods."""

    payment_methods = MethodAnswer(many=True)
    total = serializers.Int64Field()

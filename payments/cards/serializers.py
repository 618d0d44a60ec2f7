from config.api import serializers
from payments.cards.methods import PROCESSOR_TYPES
from payments.cards.models import Payment
from payments.errors import InvalidAmount


class AmountField(serializers.QueryInt64Field):
    """An amount in cents in a query string, at least 1. Raises `invalid_amount` for any other value."""

    refusal = InvalidAmount


class FeeQuery(serializers.QuerySerializer):
    """The amount for which to quote the fee."""

    amount = AmountField(min_value=1, help_text="The amount, in the currency's minor unit.")


class FeeSerializer(serializers.ResponseSerializer):
    """A fee quote."""

    amount_cents = serializers.Int64Field()
    fee_amount_cents = serializers.Int64Field()
    fee_percentage = serializers.NumberField(
        min_value=0, max_value=100, help_text="The fee in percent of the amount: 2.5 is 2.5 %."
    )
    net_amount_cents = serializers.Int64Field()


class ProcessRequestSerializer(serializers.RequestSerializer):
    """A card payment to charge."""

    refuses_unknown = True
    user_id = serializers.Int64Field(help_text="The payer: your own user_id, as a number.")
    amount_cents = serializers.Int64Field(min_value=1, help_text="The amount, in the currency's minor unit.")
    payment_method_id = serializers.IdField(
        help_text="The processor's token of the method, or the id of a stored method."
    )
    currency = serializers.TextField(
        min_length=3,
        max_length=3,
        **serializers.NULLABLE,
        help_text="The ISO 4217 code of the currency. Null means USD.",
    )
    description = serializers.TextField(
        **serializers.NULLABLE, help_text="A description for your own use; null if there is none."
    )
    provider_account_id = serializers.IdField(
        **serializers.NULLABLE, help_text="The payee's account at the processor. Null means the platform's own account."
    )


class ProcessedSerializer(serializers.ModelResponseSerializer):
    """A processed payment."""

    payment_id = serializers.Int64Field(source="pk")
    status = serializers.TextField(help_text="Always `Completed`.")

    class Meta:
        model = Payment
        fields = ["amount_cents", "payment_id", "processed_at", "status", "transaction_id"]
        extra_kwargs = {
            "processed_at": {"allow_null": False, "help_text": "When the payment was completed (UTC)."},
            "transaction_id": {"allow_null": False, "help_text": "The processor's id of the charge."},
        }


class PaymentSerializer(serializers.ModelResponseSerializer):
    """A payment in any status."""

    payment_id = serializers.Int64Field(source="pk")
    net_amount_cents = serializers.Int64Field(help_text="The amount less the fee, in the currency's minor unit.")

    class Meta:
        model = Payment
        fields = [
            "payment_id", "status", "amount_cents", "fee_amount_cents", "net_amount_cents", "currency",
            "transaction_id", "created_at", "processed_at", "failure", "refunded_cents", "disputed",
        ]  # fmt: skip


class AddMethodRequestSerializer(serializers.RequestSerializer):
    """A payment method to add."""

    refuses_unknown = True
    user_id = serializers.Int64Field(help_text="The owner of the method: your own user_id, as a number.")
    account_id = serializers.IdField(
        help_text="The processor's token for the account or the card, not the number of the account or the card."
    )
    processor_type = serializers.OneOfField(PROCESSOR_TYPES)


class MethodSerializer(serializers.ResponseSerializer):
    """A payment method. If the installation does not store payment methods, the response is an acknowledgment."""

    id = serializers.TextField(help_text="The method's id.")
    acknowledged = serializers.FlagField(required=False)
    persisted = serializers.FlagField(required=False)
    user_id = serializers.Int64Field(required=False, help_text="The owner of the method.")
    processor_type = serializers.TextField(required=False)
    account_id = serializers.TextField(
        source="account_hint", required=False, help_text="The masked token of the account or card."
    )
    is_default = serializers.FlagField(required=False)
    is_active = serializers.FlagField(required=False, help_text="Whether the method is enabled.")
    created_at = serializers.DateTimeField(required=False)


class AddedSerializer(MethodSerializer):
    """The added payment method. If the installation does not store payment methods, `id` is absent."""

    id = serializers.TextField(
        required=False, help_text="The method's id. Absent if the installation does not store payment methods."
    )


class MethodsSerializer(serializers.CollectionSerializer):
    """The account's payment methods."""

    payment_methods = MethodSerializer(
        many=True, help_text="The methods. Empty if the installation does not store payment methods."
    )
    total = serializers.Int64Field(help_text="The number of methods.")

"""Bodies and answers of crypto payments (specification section 4.2; the answers are decisions of this interface)."""

from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    FreeField,
    IdField,
    Int64Field,
    OneOfField,
    RequestSerializer,
    ResponseSerializer,
    TextField,
)
from payments.crypto.machine import MACHINE
from payments.crypto.queries import STATUSES
from payments.wallets.serializers import AddressField, NetworkField

# A transfer signed with an access list has a few hundred bytes; no wallet's comes near this.
SIGNED_TRANSACTION_MAX_LENGTH = 16_384


class InitiateBody(RequestSerializer):
    """InitiateCryptoPayment."""

    user_id = IdField()
    wallet_id = IdField()
    to_address = AddressField()
    amount_usdc = Int64Field(min_value=0)
    description = TextField(allow_null=True, default=None)
    network = NetworkField(allow_null=True, default=None)


class ConfirmBody(RequestSerializer):
    """ConfirmCryptoPayment."""

    payment_id = IdField()
    signed_transaction = TextField(min_length=1, max_length=SIGNED_TRANSACTION_MAX_LENGTH)
    network = NetworkField(allow_null=True, default=None)


class UnsignedTransactionAnswer(ResponseSerializer):
    """A transaction for a wallet to sign; amounts and fees in wei."""

    to = TextField()
    data = TextField()  # type: ignore[assignment]
    value = Int64Field()
    chain_id = Int64Field()
    nonce = Int64Field()
    gas = Int64Field()
    max_fee_per_gas = Int64Field()
    max_priority_fee_per_gas = Int64Field()


class InitiatedAnswer(ResponseSerializer):
    """A payment that waits for its signature."""

    payment_id = serializers.UUIDField()
    status = OneOfField(MACHINE.statuses)
    network = TextField(help_text="CAIP-2")
    wallet_id = serializers.UUIDField()
    to_address = TextField()
    amount_usdc = Int64Field()
    transaction = UnsignedTransactionAnswer()
    expires_at = serializers.DateTimeField()
    simulated = FlagField()


class ConfirmedAnswer(ResponseSerializer):
    """A payment whose signed transaction was taken."""

    payment_id = serializers.UUIDField(source="id")
    tx_hash = TextField()
    status = OneOfField(MACHINE.statuses)
    simulated = FlagField()


class TransactionStatusAnswer(ResponseSerializer):
    """Where a transaction is."""

    tx_hash = TextField()
    status = OneOfField(STATUSES)
    confirmations = Int64Field()
    simulated = FlagField()


class ReceiptAnswer(ResponseSerializer):
    """Whether the settlement chain holds a receipt."""

    tx_hash = TextField()
    verified = FlagField()
    network = TextField(help_text="CAIP-2")


class ReceiptDetailsAnswer(ReceiptAnswer):
    """The receipt, as far as there is one. `from` is added below: it is a word of the language."""

    block_number = Int64Field(allow_null=True)
    to = TextField(allow_null=True)
    amount_usdc = Int64Field(allow_null=True)
    confirmations = Int64Field()
    receipt = FreeField(allow_null=True, help_text="The node's own receipt.")

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": TextField(allow_null=True)}

from typing import Any

from config.api import serializers
from payments.crypto.machine import MACHINE
from payments.crypto.queries import STATUSES
from payments.wallets.serializers import AddressField, NetworkField

# A transfer signed with an access list has a few hundred bytes; no wallet's comes near this.
SIGNED_TRANSACTION_MAX_LENGTH = 16_384


class InitiateBody(serializers.RequestSerializer):
    """InitiateCryptoPayment."""

    user_id = serializers.IdField()
    wallet_id = serializers.IdField()
    to_address = AddressField()
    amount_usdc = serializers.Int64Field(min_value=0)
    description = serializers.TextField(allow_null=True, default=None)
    network = NetworkField(allow_null=True, default=None)


class ConfirmBody(serializers.RequestSerializer):
    """ConfirmCryptoPayment."""

    payment_id = serializers.IdField()
    signed_transaction = serializers.TextField(min_length=1, max_length=SIGNED_TRANSACTION_MAX_LENGTH)
    network = NetworkField(allow_null=True, default=None)


class UnsignedTransactionAnswer(serializers.ResponseSerializer):
    """A transaction for a wallet to sign; amounts and fees in wei."""

    to = serializers.TextField()
    data = serializers.TextField()  # type: ignore[assignment]
    value = serializers.Int64Field()
    chain_id = serializers.Int64Field()
    nonce = serializers.Int64Field()
    gas = serializers.Int64Field()
    max_fee_per_gas = serializers.Int64Field()
    max_priority_fee_per_gas = serializers.Int64Field()


class InitiatedAnswer(serializers.ResponseSerializer):
    """A payment that waits for its signature."""

    payment_id = serializers.UUIDField(source="id")
    status = serializers.OneOfField(MACHINE.statuses)
    network = serializers.TextField(help_text="CAIP-2")
    wallet_id = serializers.UUIDField()
    to_address = serializers.TextField()
    amount_usdc = serializers.Int64Field()
    transaction = UnsignedTransactionAnswer(source="unsigned")
    expires_at = serializers.DateTimeField()
    simulated = serializers.FlagField()


class ConfirmedAnswer(serializers.ResponseSerializer):
    """A payment whose signed transaction was taken."""

    payment_id = serializers.UUIDField(source="id")
    tx_hash = serializers.TextField()
    status = serializers.OneOfField(MACHINE.statuses)
    simulated = serializers.FlagField()


class TransactionStatusAnswer(serializers.ResponseSerializer):
    """Where a transaction is."""

    tx_hash = serializers.TextField()
    status = serializers.OneOfField(STATUSES)
    confirmations = serializers.Int64Field()
    simulated = serializers.FlagField()


class ReceiptAnswer(serializers.ResponseSerializer):
    """Whether the settlement chain holds a receipt."""

    tx_hash = serializers.TextField()
    verified = serializers.FlagField()
    network = serializers.TextField(help_text="CAIP-2")


class ReceiptDetailsAnswer(ReceiptAnswer):
    """The receipt, as far as there is one. `from` is added below: it is a word of the language."""

    block_number = serializers.Int64Field(allow_null=True)
    to = serializers.TextField(allow_null=True)
    amount_usdc = serializers.Int64Field(allow_null=True)
    confirmations = serializers.Int64Field()
    receipt = serializers.FreeField(allow_null=True, help_text="The node's own receipt.")

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": serializers.TextField(allow_null=True)}

from typing import Any

from config.api import serializers
from payments.chain.serializers import AddressField, NetworkField
from payments.crypto.models import CryptoPayment
from payments.crypto.queries import STATUSES

# A transfer signed with an access list has a few hundred bytes; no wallet's comes near this.
SIGNED_TRANSACTION_MAX_LENGTH = 16_384


class InitiateRequestSerializer(serializers.RequestSerializer):
    """InitiateCryptoPayment."""

    refuses_unknown = True
    user_id = serializers.IdField(help_text="The payer: your own user_id, as a string.")
    wallet_id = serializers.IdField(help_text="The wallet that pays.")
    to_address = AddressField()
    amount_usdc = serializers.Int64Field(min_value=0)
    description = serializers.TextField(allow_null=True, default=None, help_text="For your own use; null for nothing.")
    network = NetworkField(allow_null=True, default=None)


class ConfirmRequestSerializer(serializers.RequestSerializer):
    """ConfirmCryptoPayment."""

    refuses_unknown = True
    payment_id = serializers.IdField()
    signed_transaction = serializers.TextField(
        min_length=1, max_length=SIGNED_TRANSACTION_MAX_LENGTH, help_text="The signed transaction: 0x and hex digits."
    )
    network = NetworkField(
        allow_null=True, default=None, help_text="The network that it was initiated on; null is the same."
    )


class UnsignedTransactionSerializer(serializers.JsonPartSerializer):
    """A transaction for a wallet to sign; amounts and fees in wei."""

    to = serializers.TextField(help_text="The contract of USDC.")
    data = serializers.TextField(help_text="The call: the transfer, 0x and hex digits.")  # type: ignore[assignment]
    value = serializers.Int64Field(help_text="In wei: 0, since tokens are moved.")
    chain_id = serializers.Int64Field(help_text="The network's number (EIP-155).")
    nonce = serializers.Int64Field(help_text="How many transactions the wallet has sent before.")
    gas = serializers.Int64Field(help_text="The most gas that it may use.")
    max_fee_per_gas = serializers.Int64Field(help_text="In wei.")
    max_priority_fee_per_gas = serializers.Int64Field(help_text="In wei.")


class InitiatedSerializer(serializers.ModelResponseSerializer):
    """A payment that waits for its signature."""

    payment_id = serializers.UUIDField(source="id")
    transaction = UnsignedTransactionSerializer(
        source="unsigned", help_text="The transaction that the wallet must sign."
    )

    class Meta:
        model = CryptoPayment
        fields = [
            "payment_id", "status", "network", "wallet_id", "to_address", "amount_usdc", "transaction", "expires_at",
            "simulated",
        ]  # fmt: skip


class ConfirmedSerializer(serializers.ModelResponseSerializer):
    """A payment whose signed transaction was accepted."""

    payment_id = serializers.UUIDField(source="id")

    class Meta:
        model = CryptoPayment
        fields = ["payment_id", "tx_hash", "status", "simulated"]
        extra_kwargs = {"tx_hash": {"allow_null": False}}


class TransactionStatusSerializer(serializers.ResponseSerializer):
    """Where a transaction is."""

    tx_hash = serializers.TextField()
    status = serializers.OneOfField(STATUSES, help_text="Where the network has it; `not_found` where it does not.")
    confirmations = serializers.Int64Field()
    simulated = serializers.FlagField()


class ReceiptSerializer(serializers.ResponseSerializer):
    """Whether the settlement chain holds a receipt."""

    tx_hash = serializers.TextField()
    verified = serializers.FlagField(help_text="Whether the network holds a receipt of success.")
    network = serializers.TextField(help_text="CAIP-2")


class ReceiptDetailsSerializer(ReceiptSerializer):
    """The receipt, as far as there is one."""

    block_number = serializers.Int64Field(
        allow_null=True, help_text="The network's block that holds it; null while none does."
    )
    to = serializers.TextField(allow_null=True, help_text="The payee; null while unknown.")
    amount_usdc = serializers.Int64Field(
        allow_null=True,
        help_text="In the smallest units of USDC: 1,000,000 are one dollar. Null while it is not known.",
    )
    confirmations = serializers.Int64Field()
    receipt = serializers.FreeField(allow_null=True, help_text="The node's own receipt.")

    def get_fields(self) -> dict[str, Any]:
        return {
            **super().get_fields(),
            "from": serializers.TextField(allow_null=True, help_text="The payer; null while unknown."),
        }

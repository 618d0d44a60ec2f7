from typing import Any

from config.api import serializers
from payments.chain.serializers import AddressField, NetworkField
from payments.crypto.models import CryptoPayment
from payments.crypto.queries import STATUSES

# The maximum number of characters. A signed transfer with an access list has a few hundred bytes.
SIGNED_TRANSACTION_MAX_LENGTH = 16_384


class InitiateRequestSerializer(serializers.RequestSerializer):
    """A crypto payment to initiate."""

    refuses_unknown = True
    user_id = serializers.IdField(help_text="The payer: your own user_id, as a string.")
    wallet_id = serializers.IdField(help_text="The paying wallet.")
    to_address = AddressField()
    amount_usdc = serializers.Int64Field(min_value=0)
    description = serializers.TextField(
        **serializers.NULLABLE, help_text="A description for your own use; null if there is none."
    )
    network = NetworkField(**serializers.NULLABLE)


class ConfirmRequestSerializer(serializers.RequestSerializer):
    """A signed transaction of an initiated payment."""

    refuses_unknown = True
    payment_id = serializers.IdField()
    signed_transaction = serializers.TextField(
        min_length=1, max_length=SIGNED_TRANSACTION_MAX_LENGTH, help_text="The signed transaction: 0x and hex digits."
    )
    network = NetworkField(
        **serializers.NULLABLE, help_text="The network of the initiated payment. Null means this network."
    )


class UnsignedTransactionSerializer(serializers.JsonPartSerializer):
    """A transaction for a wallet to sign. Amounts and fees are in wei."""

    to = serializers.TextField(
        help_text="The address of the USDC contract. The payee's address if the payment is simulated."
    )
    data = serializers.TextField(  # type: ignore[assignment]
        help_text="The call data of the transfer: 0x and hex digits. A placeholder if the payment is simulated."
    )
    value = serializers.Int64Field(help_text="The value in wei. Always 0.")
    chain_id = serializers.Int64Field(help_text="The network's number (EIP-155).")
    nonce = serializers.Int64Field(
        help_text="The number of the wallet's earlier transactions. 0 if the payment is simulated."
    )
    gas = serializers.Int64Field(help_text="The gas limit.")
    max_fee_per_gas = serializers.Int64Field(help_text="The maximum total fee per unit of gas, in wei.")
    max_priority_fee_per_gas = serializers.Int64Field(help_text="The maximum priority fee per unit of gas, in wei.")


class InitiatedSerializer(serializers.ModelResponseSerializer):
    """A payment whose transaction must be signed."""

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
        extra_kwargs = {
            "tx_hash": {"allow_null": False, "help_text": "The hash of the transaction: 0x and 64 hex digits."}
        }


class TransactionStatusSerializer(serializers.ResponseSerializer):
    """The status of a transaction."""

    tx_hash = serializers.TextField()
    status = serializers.OneOfField(
        STATUSES,
        help_text="The status on the network. `submitted` until the transaction has enough confirmations. `not_found` "
        "if the network does not know the transaction. Always `confirmed` if `simulated` is true.",
    )
    confirmations = serializers.Int64Field(
        help_text="The number of blocks since the transaction, including its own block. 0 while the transaction is in "
        "no block. If `simulated` is true, this is the number that a payment requires."
    )
    simulated = serializers.FlagField()


class ReceiptSerializer(serializers.ResponseSerializer):
    """Whether the settlement chain has a receipt of the transfer."""

    tx_hash = serializers.TextField()
    verified = serializers.FlagField(
        help_text="Whether the network has a receipt of a successful USDC transfer. For a payment of this platform, "
        "the transfer must match the payment."
    )
    network = serializers.TextField(help_text="The network, as a CAIP-2 id.")


class ReceiptDetailsSerializer(ReceiptSerializer):
    """The receipt of a transfer. Unknown fields are null."""

    block_number = serializers.Int64Field(
        allow_null=True, help_text="The block number of the transaction. Null while the transaction is in no block."
    )
    to = serializers.TextField(allow_null=True, help_text="The payee; null if `verified` is false.")
    amount_usdc = serializers.Int64Field(
        allow_null=True,
        help_text="The amount in the smallest units of USDC: 1,000,000 is one dollar. Null if `verified` is false, and "
        "if the amount exceeds 64 bits.",
    )
    confirmations = serializers.Int64Field()
    receipt = serializers.FreeField(
        allow_null=True,
        shape=serializers.OPEN_OBJECT,
        help_text="The common fields of the node's receipt; null while it is unknown.",
    )

    def get_fields(self) -> dict[str, Any]:
        return {
            **super().get_fields(),
            "from": serializers.TextField(allow_null=True, help_text="The payer; null if `verified` is false."),
        }

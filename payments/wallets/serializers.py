from typing import Any

from config.api import serializers
from payments.chain.addresses import parse_address, parse_network
from payments.wallets.models import CIRCLE, CONNECTED, DISCONNECTED, WALLETCONNECT


class AddressField(serializers.TextField):
    """An EVM address: 0x and 40 hex digits; in mixed case its EIP-55 checksum must fit. Kept in that spelling."""

    default_error_messages = {"address": "Must be an address: 0x and 40 hex digits, with the right checksum (EIP-55)."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 42, "max_length": 42, **options})

    def to_internal_value(self, data: Any) -> str:
        address = parse_address(super().to_internal_value(data))
        if address is None:
            self.fail("address")
        return str(address)


class NetworkField(serializers.TextField):
    """An EVM network, by its CAIP-2 id or an alias; kept as the id."""

    default_error_messages = {"network": "Must be an EVM network, such as eip155:8453 or base."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": 64, **options})

    def to_internal_value(self, data: Any) -> str:
        network = parse_network(super().to_internal_value(data))
        if network is None:
            self.fail("network")
        return str(network)


class CircleWalletBody(serializers.RequestSerializer):
    """A wallet to be held by the custody provider. `user_id`, when given, must be the caller's."""

    user_id = serializers.FreeField(allow_null=True, default=None, help_text="Your own user_id; null is the same.")
    network = NetworkField(allow_null=True, default=None)
    label = serializers.TextField(
        max_length=serializers.ID_MAX_LENGTH,
        allow_null=True,
        default=None,
        help_text="What you call it; null for nothing.",
    )  # type: ignore[assignment]


class ReferenceWalletBody(CircleWalletBody):
    """A wallet that the person controls."""

    address = AddressField()


class WalletAnswer(serializers.ResponseSerializer):
    """A wallet."""

    id = serializers.UUIDField(help_text="The wallet's id.")
    kind = serializers.OneOfField(
        (CIRCLE, WALLETCONNECT), help_text="`circle`: a provider holds the keys. `walletconnect`: the person does."
    )
    address = serializers.TextField()
    network = serializers.TextField(help_text="CAIP-2")
    account_id = serializers.TextField(help_text="CAIP-10")
    label = serializers.TextField(allow_null=True, help_text="What its owner calls it; null for nothing.")  # type: ignore[assignment]
    status = serializers.OneOfField((CONNECTED, DISCONNECTED))
    is_default = serializers.FlagField(help_text="Whether it is the person's default wallet.")
    connected_at = serializers.DateTimeField()


class WalletListAnswer(serializers.ResponseSerializer):
    """A person's connected wallets, oldest first."""

    wallets = WalletAnswer(many=True, help_text="The oldest first.")
    total = serializers.Int64Field()


class WalletConnectionAnswer(serializers.ResponseSerializer):
    """How a wallet stands."""

    wallet_id = serializers.TextField(source="pk")
    status = serializers.OneOfField((CONNECTED, DISCONNECTED))
    kind = serializers.OneOfField(
        (CIRCLE, WALLETCONNECT), help_text="`circle`: a provider holds the keys. `walletconnect`: the person does."
    )
    account_id = serializers.TextField(help_text="CAIP-10")
    is_default = serializers.FlagField(help_text="Whether it is the person's default wallet.")
    custodial = serializers.FlagField(
        source="is_custodial", help_text="Whether a provider holds the keys; such a wallet cannot sign crypto payments."
    )
    connected_at = serializers.DateTimeField()


class WalletBalanceAnswer(serializers.ResponseSerializer):
    """What a wallet holds of the settlement asset."""

    wallet_id = serializers.TextField()
    asset = serializers.TextField(help_text="What is counted, such as `USDC`.")
    amount = serializers.TextField(allow_null=True, help_text="Exact decimal text.")
    decimals = serializers.Int64Field(help_text="How many digits the asset has behind the point.")
    amount_usdc = serializers.Int64Field(allow_null=True, help_text="The same in smallest units.")
    as_of = serializers.DateTimeField(help_text="When it was looked up (UTC).")
    source = serializers.OneOfField(
        ("sandbox", "circle", "chain", "simulated", "unavailable"),
        help_text="Who says so; `unavailable` where nobody can now, and the amounts are null.",
    )  # type: ignore[assignment]

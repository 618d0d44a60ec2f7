"""Bodies and answers of wallets (decisions of this interface: the specification leaves their members open)."""

from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    ID_MAX_LENGTH,
    FlagField,
    FreeField,
    Int64Field,
    OneOfField,
    RequestSerializer,
    ResponseSerializer,
    TextField,
)
from payments.chain.addresses import parse_address, parse_network
from payments.wallets.models import CIRCLE, CONNECTED, DISCONNECTED, WALLETCONNECT


class AddressField(TextField):
    """An EVM address: 0x and 40 hex digits; in mixed case its EIP-55 checksum must fit. Kept in that spelling."""

    default_error_messages = {"address": "Must be an address: 0x and 40 hex digits, with the right checksum (EIP-55)."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 42, "max_length": 42, **options})

    def to_internal_value(self, data: Any) -> str:
        address = parse_address(super().to_internal_value(data))
        if address is None:
            self.fail("address")
        return str(address)


class NetworkField(TextField):
    """An EVM network, by its CAIP-2 id or an alias; kept as the id."""

    default_error_messages = {"network": "Must be an EVM network, such as eip155:8453 or base."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": 64, **options})

    def to_internal_value(self, data: Any) -> str:
        network = parse_network(super().to_internal_value(data))
        if network is None:
            self.fail("network")
        return str(network)


class CircleWalletBody(RequestSerializer):
    """A wallet to be held by the custody provider. `user_id`, when given, must be the caller's."""

    user_id = FreeField(allow_null=True, default=None)
    network = NetworkField(allow_null=True, default=None)
    label = TextField(max_length=ID_MAX_LENGTH, allow_null=True, default=None)  # type: ignore[assignment]


class ReferenceWalletBody(CircleWalletBody):
    """A wallet that the person controls."""

    address = AddressField()


class WalletAnswer(ResponseSerializer):
    """A wallet."""

    id = serializers.UUIDField()
    kind = OneOfField((CIRCLE, WALLETCONNECT))
    address = TextField()
    network = TextField(help_text="CAIP-2")
    account_id = TextField(help_text="CAIP-10")
    label = TextField(allow_null=True)  # type: ignore[assignment]
    status = OneOfField((CONNECTED, DISCONNECTED))
    is_default = FlagField()
    connected_at = serializers.DateTimeField()


class WalletListAnswer(ResponseSerializer):
    """A person's connected wallets, oldest first."""

    wallets = WalletAnswer(many=True)
    total = Int64Field()


class WalletStatusAnswer(ResponseSerializer):
    """How a wallet stands."""

    wallet_id = TextField(source="pk")
    status = OneOfField((CONNECTED, DISCONNECTED))
    kind = OneOfField((CIRCLE, WALLETCONNECT))
    account_id = TextField(help_text="CAIP-10")
    is_default = FlagField()
    custodial = FlagField(
        source="is_custodial", help_text="Whether a provider holds the keys; such a wallet cannot sign crypto payments."
    )
    connected_at = serializers.DateTimeField()


class WalletBalanceAnswer(ResponseSerializer):
    """What a wallet holds of the settlement asset."""

    wallet_id = TextField()
    asset = TextField()
    amount = TextField(allow_null=True, help_text="Exact decimal text.")
    decimals = Int64Field()
    amount_usdc = Int64Field(allow_null=True, help_text="The same in smallest units.")
    as_of = serializers.DateTimeField()
    source = OneOfField(("sandbox", "circle", "chain", "simulated", "unavailable"))  # type: ignore[assignment]

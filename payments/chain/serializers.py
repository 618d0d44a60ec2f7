from typing import Any

from config.api import serializers
from payments.chain.addresses import parse_address, parse_network


class AddressField(serializers.TextField):
    """An EVM address: 0x and 40 hex digits. In mixed case, the EIP-55 checksum must match.

    The value is stored in EIP-55 form.
    """

    default_error_messages = {"address": "Must be an address: 0x and 40 hex digits, with the right checksum (EIP-55)."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 42, "max_length": 42, **options})

    def to_internal_value(self, data: Any) -> str:
        address = parse_address(super().to_internal_value(data))
        if address is None:
            self.fail("address")
        return str(address)


class NetworkField(serializers.TextField):
    """An EVM network, by its CAIP-2 id or an alias. The value is stored as the CAIP-2 id."""

    default_error_messages = {"network": "Must be an EVM network, such as eip155:8453 or base."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": 64, **options})

    def to_internal_value(self, data: Any) -> str:
        network = parse_network(super().to_internal_value(data))
        if network is None:
            self.fail("network")
        return str(network)

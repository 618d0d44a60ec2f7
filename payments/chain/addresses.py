"""Addresses (EIP-55) and networks (CAIP-2) of EVM chains, each in the one spelling that is stored."""

import re

# Aliases of a network in addition to its CAIP-2 id.
NETWORK_ALIASES = {
    "ethereum": "eip155:1",
    "optimism": "eip155:10",
    "polygon": "eip155:137",
    "base": "eip155:8453",
    "arbitrum": "eip155:42161",
    "avalanche": "eip155:43114",
    "sepolia": "eip155:11155111",
    "base-sepolia": "eip155:84532",
}

_LAST_WITHOUT_OWNER = 0xFFFF
# The contracts of the OP Stack begin here. The others are the native asset (EIP-7528), the system (EIP-4788), the
# depositor of the OP Stack, and what explorers label as burn addresses.
_PREDEPLOYS = 0x4200000000000000000000000000000000000000
_OTHERS_WITHOUT_OWNER = frozenset(
    {
        0xEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFE,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF,
        0xDEADDEADDEADDEADDEADDEADDEADDEADDEAD0001,
        0xDEADDEADDEADDEADDEADDEADDEADDEADDEADDEAD,
        0xDEAD000000000000000042069420694206942069,
    }
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_EVM_NETWORK = re.compile(r"eip155:([1-9][0-9]{0,17})", re.ASCII)
_TRANSACTION_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


def is_address(text: str) -> bool:
    """Return whether `text` looks like an address, with any checksum."""
    return _ADDRESS.fullmatch(text) is not None


def parse_address(text: str) -> str | None:
    """Return the address in its EIP-55 spelling, None when `text` is not an address.

    In one case throughout an address carries no checksum and is taken as it is; in mixed case its checksum must fit.
    """
    if not is_address(text):
        return None
    checksummed = checksum_address(text)
    digits = text[2:]
    if digits not in {digits.lower(), digits.upper()} and text != checksummed:
        return None
    return checksummed


def has_no_owner(address: str) -> bool:
    """Return whether an address has no key: zero, those of contracts that a chain begins with, and burn addresses."""
    number = int(address, 16)
    return min(number, abs(number - _PREDEPLOYS)) <= _LAST_WITHOUT_OWNER or number in _OTHERS_WITHOUT_OWNER


def checksum_address(address: str | bytes) -> str:
    """Return the EIP-55 spelling of 20 bytes, or of 0x and 40 hex digits."""
    from eth_utils.address import to_checksum_address  # lazily: half a second that most processes never need

    return str(to_checksum_address(address))


def parse_network(text: str) -> str | None:
    """Return the CAIP-2 id of an EVM network named by it or by an alias; None for any other text."""
    network = NETWORK_ALIASES.get(text.lower(), text)
    return network if _EVM_NETWORK.fullmatch(network) else None


def chain_id_of(network: str) -> int:
    """Return the number that transactions carry for a CAIP-2 network of namespace `eip155`."""
    match = _EVM_NETWORK.fullmatch(network)
    if match is None:
        raise ValueError(f"{network} is not an EVM network")
    return int(match[1])


def parse_transaction_hash(text: str) -> str | None:
    return text.lower() if _TRANSACTION_HASH.fullmatch(text) else None

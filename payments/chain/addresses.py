"""Parse the addresses (EIP-55) and network IDs (CAIP-2) of EVM chains."""

import re

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
# The system contracts of the OP Stack start at this address. The next constant contains, in this order: the native
# asset (EIP-7528), the system address (EIP-4788), the OP Stack's depositor, burn addresses, and Ethereum's contracts
# for beacon roots (EIP-4788), history (EIP-2935), withdrawals (EIP-7002), consolidations (EIP-7251), and deposits
# (EIP-6110).
_PREDEPLOYS = 0x4200000000000000000000000000000000000000
_OTHERS_WITHOUT_OWNER = frozenset(
    {
        0xEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFE,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF,
        0xDEADDEADDEADDEADDEADDEADDEADDEADDEAD0001,
        0xDEADDEADDEADDEADDEADDEADDEADDEADDEADDEAD,
        0xDEAD000000000000000042069420694206942069,
        0x000F3DF6D732807EF1319FB7B8BB8522D0BEAC02,
        0x0000F90827F1C53A10CB7A02335B175320002935,
        0x00000961EF480EB55E80D19AD83579A64C007002,
        0x0000BBDDC7CE488642FB579F8B00F3A590007251,
        0x00000000219AB540356CBB839CBE05303D7705FA,
    }
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_EVM_NETWORK = re.compile(r"eip155:([1-9][0-9]{0,17})", re.ASCII)
_TRANSACTION_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


def is_address(text: str) -> bool:
    """Return whether `text` has the format of an address. The checksum is not verified."""
    return _ADDRESS.fullmatch(text) is not None


def parse_address(text: str) -> str | None:
    """Return the address in EIP-55 form, or None if `text` is not an address.

    A lower-case or upper-case address has no checksum. In a mixed-case address, the checksum must match.
    """
    if not is_address(text):
        return None
    checksummed = checksum_address(text)
    digits = text[2:]
    if digits not in {digits.lower(), digits.upper()} and text != checksummed:
        return None
    return checksummed


def has_no_owner(address: str) -> bool:
    """Return whether an address is the zero address, a built-in contract of the chain, or a burn address."""
    number = int(address, 16)
    return min(number, abs(number - _PREDEPLOYS)) <= _LAST_WITHOUT_OWNER or number in _OTHERS_WITHOUT_OWNER


def checksum_address(address: str | bytes) -> str:
    """Return an address in EIP-55 form. Accepts 20 bytes, or 0x and 40 hex digits."""
    from eth_utils.address import to_checksum_address  # imported here because the import takes 0.5 s

    return str(to_checksum_address(address))


def parse_network(text: str) -> str | None:
    """Return the CAIP-2 ID of an EVM network from an ID or an alias, or None for other strings."""
    network = NETWORK_ALIASES.get(text.lower(), text)
    return network if _EVM_NETWORK.fullmatch(network) else None


def chain_id_of(network: str) -> int:
    """Return the chain ID that transactions use for an `eip155` network."""
    match = _EVM_NETWORK.fullmatch(network)
    if match is None:
        raise ValueError(f"{network} is not an EVM network")
    return int(match[1])


def parse_transaction_hash(text: str) -> str | None:
    return text.lower() if _TRANSACTION_HASH.fullmatch(text) else None

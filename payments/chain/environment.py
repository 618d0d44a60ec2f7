"""Read the settings of the settlement chain. Invalid settings raise ImproperlyConfigured."""

from django.core.exceptions import ImproperlyConfigured

from config.env import text
from payments.chain.addresses import NETWORK_ALIASES, is_address, parse_address, parse_network


def contract_address(name: str) -> str:
    """Return a contract address from a setting, or an empty string. A mixed-case address must match its checksum."""
    value = text(name)
    if value and not is_address(value):
        raise ImproperlyConfigured(f"{name}={value!r} must be an address: 0x and 40 hex digits.")
    if value and parse_address(value) is None:
        raise ImproperlyConfigured(f"{name}={value!r} has a wrong EIP-55 checksum. Copy the address again.")
    return value


def network(name: str, default: str) -> str:
    identifier = parse_network(text(name, default))
    if identifier is None:
        raise ImproperlyConfigured(f"{name} must be eip155:<chain id> or one of {', '.join(NETWORK_ALIASES)}.")
    return identifier

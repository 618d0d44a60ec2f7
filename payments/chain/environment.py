"""The settings of the settlement chain. Errors are ImproperlyConfigured, with the setting to change."""

from django.core.exceptions import ImproperlyConfigured

from config.env import text
from payments.chain.addresses import NETWORK_ALIASES, is_address, parse_address, parse_network


def contract_address(name: str) -> str:
    """Return a contract's address (0x and 40 hex digits, EIP-55 if in mixed case), or an empty string."""
    value = text(name)
    if value and not is_address(value):
        raise ImproperlyConfigured(f"{name}={value!r} must be an address: 0x and 40 hex digits.")
    if value and parse_address(value) is None:
        raise ImproperlyConfigured(f"{name}={value!r} is mistyped: its EIP-55 checksum does not fit.")
    return value


def network(name: str, default: str) -> str:
    identifier = parse_network(text(name, default))
    if identifier is None:
        raise ImproperlyConfigured(f"{name} must be eip155:<chain id> or one of {', '.join(NETWORK_ALIASES)}.")
    return identifier

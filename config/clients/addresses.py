"""Validate the URLs of webhook receivers, and block IP addresses of internal networks.

A customer enters the receiver's URL. A request from the operator's network must not reach a host that the customer
could not reach directly. So only this module parses a URL. The host name is resolved once per connection, and every
address is checked. `pinned.py` connects to a checked address without resolving the name again.

The standard library's `is_global` is not sufficient. In Python 3.11, it is true for `64:ff9b::a9fe:a9fe`, which is a
metadata service behind a NAT64.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

from django.conf import settings

from config.core.outgoing import Address, Resolve, resolve_within

URL_MAX_LENGTH = 2048
_DEFAULT_PORTS = {"https": 443, "http": 80}
_PRODUCTION_PORTS = frozenset({443, 8443})
_DEVELOPMENT_PORTS = _PRODUCTION_PORTS | {80, 8080}

_URL_CHARACTERS = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)  # from RFC 3986
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
# Parsers interpret "0x7f.1" and "2130706433" differently, so only four decimal numbers are accepted as an IPv4 address.
_LOOKS_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.ASCII)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
# Receivers on the Internet can't have these names (RFC 6761, 6762, 7686, 8375, and ICANN's `internal`).
_SPECIAL_NAMES = frozenset({"localhost", "local", "internal", "onion", "alt", "home.arpa"})

_BLOCKED_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; 100.100.100.200 is a metadata service
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's platform service, which only Azure's virtual machines can reach
        "169.254.0.0/16",  # link-local, and most metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments; 192.0.0.192 is a metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# Only global unicast addresses are allowed. This excludes ::/8 (loopback, addresses that contain an IPv4 address,
# NAT64), and discard-only, local, and multicast addresses.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_BLOCKED_IPV6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, ORCHID, AMT
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: contains an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the former 6bone
        "3fff::/20",  # documentation
    )
)
# An ISATAP address (RFC 5214) consists of any prefix, these 32 bits, and an IPv4 address.
_ISATAP_MARKS = frozenset({0x00005EFE, 0x02005EFE})


class AddressRefused(Exception):
    """The URL is not an allowed receiver. `word` is the kind of error for logs. The URL's owner gets the message."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed URL. `host` is a lower-case name, or an IP address without brackets. `path` includes the query."""

    scheme: str
    host: str
    port: int
    path: str
    literal: Address | None
    allow_private: bool

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def read_url(url: str, *, allow_private: bool | None = None) -> Target:
    """Parse a receiver's URL. Raises AddressRefused for a blocked or ambiguous URL.

    Host names are not resolved. The settings restrict the scheme, the port, and IP addresses. For the operator's URLs,
    `allow_private` overrides WEBHOOK_ALLOW_PRIVATE.
    """
    if allow_private is None:
        allow_private = settings.WEBHOOK_ALLOW_PRIVATE
    if len(url) > URL_MAX_LENGTH:
        raise AddressRefused("invalid_url", f"Must have at most {URL_MAX_LENGTH} characters.")
    if not _URL_CHARACTERS.fullmatch(url):
        raise AddressRefused("invalid_url", "Must be an ASCII URL. Write other host names in their xn-- form.")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise AddressRefused("invalid_url", "Must be a URL such as https://receiver.example/hook.") from error
    schemes = ("https",) if settings.PRODUCTION else ("https", "http")
    if parts.scheme not in schemes:
        raise AddressRefused("invalid_url", f"Must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}.")
    if "@" in parts.netloc:
        raise AddressRefused("invalid_url", "Must not contain a user name or a password.")
    if parts.fragment or url.endswith("#"):
        raise AddressRefused("invalid_url", "Must not have a fragment.")
    host, literal, port_text = _split_authority(parts.netloc.lower(), allow_private=allow_private)
    port = _read_port(port_text, parts.scheme, allow_private=allow_private)
    if literal is not None:
        check_addresses([literal], allow_private=allow_private)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port, path, literal, allow_private)


def _split_authority(authority: str, *, allow_private: bool) -> tuple[str, Address | None, str | None]:
    if authority.startswith("["):
        inside, bracket, rest = authority[1:].partition("]")
        if not bracket or "%" in inside or (rest and not rest.startswith(":")):
            raise AddressRefused("invalid_url", "Must have a host, such as receiver.example.")
        try:
            literal: Address = IPv6Address(inside)
        except ValueError as error:
            raise AddressRefused("invalid_url", "The address in brackets must be an IPv6 address.") from error
        return str(literal), literal, rest[1:] if rest else None
    host, colon, port = authority.partition(":")
    host = host.removesuffix(".")
    if _LOOKS_NUMERIC.fullmatch(host):
        try:
            literal = IPv4Address(host)
        except ValueError as error:
            raise AddressRefused("invalid_url", "An IPv4 address must be four decimal numbers.") from error
        return host, literal, port if colon else None
    if not _NAME.fullmatch(host) or len(host) > 253:
        raise AddressRefused("invalid_url", "Must have a host, such as receiver.example.")
    if not allow_private:
        labels = host.split(".")
        if len(labels) == 1 or labels[-1] in _SPECIAL_NAMES or ".".join(labels[-2:]) in _SPECIAL_NAMES:
            raise AddressRefused("blocked_address", "Must be a public host name.")
    return host, None, port if colon else None


def _read_port(text: str | None, scheme: str, *, allow_private: bool) -> int:
    if text is None:
        port = _DEFAULT_PORTS[scheme]
    elif _PORT.fullmatch(text) and int(text) <= 65535:
        port = int(text)
    else:
        raise AddressRefused("invalid_url", "The port must be a number from 1 to 65535.")
    if allow_private:
        return port
    allowed = _PRODUCTION_PORTS if settings.PRODUCTION else _DEVELOPMENT_PORTS
    if port not in allowed:
        raise AddressRefused("blocked_port", f"The port must be one of {', '.join(map(str, sorted(allowed)))}.")
    return port


def is_blocked(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return any(address in network for network in _BLOCKED_IPV4)
    if address not in _GLOBAL_UNICAST or any(address in network for network in _BLOCKED_IPV6):
        return True
    return (int(address) >> 32) & 0xFFFFFFFF in _ISATAP_MARKS


def check_addresses(addresses: Sequence[Address], *, allow_private: bool) -> None:
    """Raise AddressRefused if any address is blocked.

    A mix of allowed and blocked addresses is treated as an attack.
    """
    if not allow_private and any(map(is_blocked, addresses)):
        raise AddressRefused("blocked_address", "Must not resolve to a private, local, or reserved address.")


def addresses_of(target: Target, *, resolve: Resolve, seconds: float) -> Sequence[Address]:
    if target.literal is not None:
        addresses: Sequence[Address] = [target.literal]
    else:
        addresses = resolve_within(resolve, target.host, seconds)
    if not addresses:
        raise AddressRefused("unresolvable", "The host name does not resolve.")
    check_addresses(addresses, allow_private=target.allow_private)
    return addresses

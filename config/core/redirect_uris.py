"""Validate the URIs to which the server redirects browsers."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

import idna

URI = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+", re.ASCII)  # RFC 3986, without a fragment
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"  # RFC 1123, and the underscore, which browsers accept
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*", re.ASCII)  # browsers parse a host that ends in a number as IPv4
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\](?::[0-9]*)?", re.ASCII)
_JOINERS = "\u200c\u200d"
_DOMAIN = re.compile(rf"(?=.{{1,254}}\Z){_LABEL}(?:\.{_LABEL})*\.?")


def can_be_opened(address: str) -> bool:
    """Check whether browsers can parse the host, the port, and the percent-encoding of a URI."""
    try:
        parts = urlsplit(address)
        return parts.port != 0 and not _BAD_ESCAPE.search(address) and _is_host(parts.netloc, parts.hostname or "")
    except ValueError:
        return False


def _is_host(netloc: str, host: str) -> bool:
    """Check for a domain name, or an IP address without a zone. Raises ValueError for an invalid IP address."""
    if "[" in netloc:
        return bool(_IN_BRACKETS.fullmatch(netloc) and "%" not in host and ip_address(host))
    if _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]):
        return bool(ip_address(host))
    labels = (label.removeprefix("xn--") for label in host.lower().split(".") if label.startswith("xn--"))
    return bool(_DOMAIN.fullmatch(host) and all(map(_is_punycode, labels)))


def _is_punycode(text: str) -> bool:
    """Check whether browsers accept the rest of an `xn--` label (UTS 46). Raises ValueError for invalid Punycode."""
    label = text.encode().decode("punycode")  # raises UnicodeError, a subclass of ValueError
    is_canonical = label.encode("punycode").decode() == text and not label.isascii()
    joins = all(idna.valid_contextj(label, at) for at, sign in enumerate(label) if sign in _JOINERS)
    is_mapped = idna.uts46_remap(label, std3_rules=False, transitional=False) != label
    return is_canonical and joins and not is_mapped and idna.check_bidi(label)

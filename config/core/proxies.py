from django.conf import settings
from django.http import HttpRequest

from config.env import address_of


def client_address(request: HttpRequest) -> str:
    """Return the caller's canonical IP address: the nearest address that is not a trusted proxy's.

    If a proxy forwards a text instead of an address, return the address of the last trusted proxy.
    """
    meta = request.META
    peer = _canonical(str(meta.get("REMOTE_ADDR", "")))
    if peer not in settings.TRUSTED_PROXIES:
        return peer
    nearest = peer
    for hop in reversed(meta.get("HTTP_X_FORWARDED_FOR", "").split(",")):
        address = _canonical(_without_port(hop.strip(' \t"')))
        if not address:
            continue
        if address not in settings.TRUSTED_PROXIES:
            return address if address_of(address) else nearest
        nearest = address
    return peer


def _without_port(hop: str) -> str:
    """Return the address of `192.0.2.1:51234`, `[2001:db8::1]:443`, or `[2001:db8::1]`. Return other text unchanged."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def _canonical(text: str) -> str:
    """Return an IP address in the form of RFC 5952, and IPv4-mapped addresses as IPv4. Return other text unchanged."""
    return str(address_of(text) or text)

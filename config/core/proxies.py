from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Return the caller's IP address: the nearest address that does not belong to a trusted proxy."""
    meta = request.META
    peer = str(meta.get("REMOTE_ADDR", ""))
    if peer in settings.TRUSTED_PROXIES:
        for hop in reversed([_without_port(hop.strip()) for hop in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]):
            if hop and hop not in settings.TRUSTED_PROXIES:
                return hop
    return peer


def _without_port(hop: str) -> str:
    """Return the address of `192.0.2.1:51234`, `[2001:db8::1]:443` or `[2001:db8::1]`; any other text unchanged."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop

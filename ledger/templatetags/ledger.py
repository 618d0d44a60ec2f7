"""How the explorer writes hashes and times."""

from django import template

register = template.Library()


@register.filter
def in_hex(digest: bytes) -> str:
    return digest.hex()


@register.filter
def brief(text: str) -> str:
    """The two ends of a long hex string; the page also has the whole one."""
    return f"{text[:8]}\u2026{text[-6:]}"


@register.filter
def readable(timestamp: str) -> str:
    """A timestamp of the log to the second, for people: `2026-01-31 12:00:00 UTC`."""
    return f"{timestamp[:10]} {timestamp[11:19]} UTC"

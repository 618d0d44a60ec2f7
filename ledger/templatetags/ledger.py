"""Template filters for hashes and times on the pages of the explorer."""

from django import template

register = template.Library()


@register.filter
def in_hex(digest: bytes) -> str:
    return digest.hex()


@register.filter
def brief(text: str) -> str:
    """Return the start and the end of a long hex string. The page also displays the complete string."""
    return f"{text[:8]}\u2026{text[-6:]}"


@register.filter
def readable(timestamp: str) -> str:
    """Format a timestamp of the log to the second: `2026-01-31 12:00:00 UTC`."""
    return f"{timestamp[:10]} {timestamp[11:19]} UTC"

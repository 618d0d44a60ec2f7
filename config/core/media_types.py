"""Evaluation of `Accept` headers."""

import re

_QUOTED = re.compile(r'"[^"]*"')
_QUALITY = re.compile(r";\s*q\s*=\s*([0-9]*\.?[0-9]*)\s*(?:;|$)", re.ASCII)


def quality_of(media_type: str, accept: str) -> float:
    """Return the quality of a media type in an `Accept` header, from 0 to 1 (RFC 9110, section 12.5.1).

    The most specific range applies. Parameters other than `q`, and invalid values of `q`, are ignored.
    """
    ranges = {"*": 0, "*/*": 0, f"{media_type.partition('/')[0]}/*": 1, media_type: 2}
    best = (-1, 0.0)
    for part in _QUOTED.sub('""', accept.lower()).split(","):
        name, separator, parameters = part.partition(";")
        specificity = ranges.get(name.strip())
        if specificity is not None:
            match = _QUALITY.search(separator + parameters)
            quality = min(float(match[1]), 1.0) if match and match[1].strip(".") else 1.0
            best = max(best, (specificity, quality))
    return best[1]


def prefers(media_type: str, accept: str) -> bool:
    """Check whether an `Accept` header lists a media type with at least the quality of JSON. `*/*` is not enough."""
    names = {part.partition(";")[0].strip() for part in _QUOTED.sub('""', accept.lower()).split(",")}
    quality = quality_of(media_type, accept) if media_type in names else 0.0
    return quality > 0 and quality >= quality_of("application/json", accept)

"""The hash of each fact that a score used, with a nonce of its own, so that each can be opened alone.

The nonces are HMAC-SHA256 of the facts' common nonce. Erasing that one erases them all.
"""

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Any

from config.core.json_text import canonical_json
from credit.models.scoring import Score


def facts_in_record(score: Score) -> list[dict[str, Any]] | None:
    """Return name, source, day and hash of each fact that a score used; None if they are erased or from before 1.1."""
    opened = openings(score)
    if opened is None:
        return None
    return [{**source, "sha256": _hash(opened[source["name"]])} for source in score.sources]


def openings(score: Score) -> dict[str, dict[str, Any]] | None:
    """Return value and nonce (base64) of each fact that a score used, by name."""
    kept = score.facts_if_kept
    if kept is None or score.sources is None:
        return None
    values, common = kept.values(), b64decode(kept.nonce)
    return {
        name: {"value": values.get(name), "nonce": b64encode(hmac.digest(common, name.encode(), "sha256")).decode()}
        for name in (source["name"] for source in score.sources)
    }


def _hash(opening: dict[str, Any]) -> str:
    return sha256(b64decode(opening["nonce"]) + canonical_json(opening["value"])).hexdigest()

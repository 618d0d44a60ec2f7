"""The hash of each fact that a score used, and of a result that only the lender may read.

Each has a nonce of its own, so that it can be opened alone.

The nonces are HMAC-SHA256 of the facts' common nonce. Erasing that one erases them all.
"""

import hmac
import secrets
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Any

from config.core.json_text import canonical_json
from credit.models.scoring import Score, ScoreFacts


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
    values = kept.values()
    return {
        name: {"value": values.get(name), "nonce": _nonce_of(kept, name)}
        for name in (source["name"] for source in score.sources)
    }


def result_in_record(score: Score) -> dict[str, Any]:
    """Return the result of a score as its record has it: a hash in its place if only the lender may read it.

    Without its facts nothing can open the hash.
    """
    result = {"total": score.total, "outcome": score.outcome, "score_reasons": score.reasons}
    if not score.is_withheld:
        return result
    opening = result_opening(score) or {"value": result, "nonce": b64encode(secrets.token_bytes(32)).decode()}
    return {**dict.fromkeys(result), "score_sha256": _hash(opening)}


def result_opening(score: Score) -> dict[str, Any] | None:
    """Return value and nonce (base64) of a result that the record hashes; None without one, and once it is erased."""
    kept = score.facts_if_kept
    if kept is None or not score.is_withheld:
        return None
    result = {"total": score.total, "outcome": score.outcome, "score_reasons": score.reasons}
    return {"value": result, "nonce": _nonce_of(kept, "score")}


def _nonce_of(kept: ScoreFacts, name: str) -> str:
    return b64encode(hmac.digest(b64decode(kept.nonce), name.encode(), "sha256")).decode()


def _hash(opening: dict[str, Any]) -> str:
    return sha256(b64decode(opening["nonce"]) + canonical_json(opening["value"])).hexdigest()

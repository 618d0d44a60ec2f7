"""Salted hashes in decision records: facts, reason texts, IDs, and the score's result.

The nonces of the hashes can be erased. Each value has a separate nonce. So each value can be disclosed separately, and
no value can be guessed from its hash. The nonces of facts are HMAC-SHA256 values of a common nonce, so erasing the
common nonce erases the nonces of all facts. All other nonces are stored with the record, in `openings`.
"""

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from config.core.json_text import canonical_json
from credit.core.facts import PERSON
from credit.models.scoring import Score, ScoreFacts

_NONCE_BYTES = 32
# Openings map a name to its value and nonce (base64).
Openings = dict[str, dict[str, Any]]


def facts_in_record(score: Score) -> list[dict[str, Any]] | None:
    """Return name, source, day, and hash of each fact that a score used, or None if the facts are not stored."""
    opened = openings(score)
    if opened is None:
        return None
    return [{**source, "sha256": _hash(opened[source["name"]])} for source in score.sources]


def openings(score: Score) -> Openings | None:
    """Return the value and the nonce of each fact that a score used, by name, or None if the facts are not stored."""
    kept = score.facts_if_kept
    if kept is None or score.sources is None:
        return None
    values = kept.values()
    return {
        name: {"value": values.get(name), "nonce": _nonce_of(kept, name)}
        for name in (source["name"] for source in score.sources)
    }


def result_of(score: Score) -> dict[str, Any]:
    """Return the score's result under the name that the result has in a record.

    If only the lender can read the result, the name has the prefix `person.`.
    """
    name = f"{PERSON}score" if score.is_withheld else "score"
    return {name: {"total": score.total, "outcome": score.outcome, "score_reasons": score.reasons}}


def close(values: Mapping[str, Any]) -> tuple[dict[str, str], Openings]:
    """Hash each value with a random nonce. Return the hashes, and the values and nonces that open the hashes."""
    opened = {
        name: {"value": value, "nonce": b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()}
        for name, value in values.items()
    }
    return {name: _hash(opening) for name, opening in opened.items()}, opened


def without_person(opened: Openings) -> Openings:
    """Remove the values that only the lender can read.

    These are facts about other applications, and results that reveal such facts.
    """
    return {name: opening for name, opening in opened.items() if not name.startswith(PERSON)}


def _nonce_of(kept: ScoreFacts, name: str) -> str:
    return b64encode(hmac.digest(b64decode(kept.nonce), name.encode(), "sha256")).decode()


def _hash(opening: dict[str, Any]) -> str:
    return sha256(b64decode(opening["nonce"]) + canonical_json(opening["value"])).hexdigest()

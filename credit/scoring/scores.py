"""Computing scores of people and keeping them."""

import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from config.core.json_text import canonical_json
from credit.scoring.card import SCORED_ON
from credit.scoring.evaluator import Evaluation, evaluate
from credit.scoring.facts import gather
from credit.scoring.machine import CHAMPION, PUBLISHED
from credit.scoring.models import ModelVersion, Score, ScoreFacts

_NONCE_BYTES = 32


def live_versions(model_id: int, provider_id: str) -> Sequence[ModelVersion]:
    """Return the published versions of a provider's model, its champion first; none without a champion.

    An offer may name any number: another provider's model never counts for it.
    """
    found = ModelVersion.objects.filter(model=model_id, model__provider=provider_id, status=PUBLISHED).order_by(
        "role", "number"
    )
    versions = sorted(found, key=lambda version: version.role != CHAMPION)
    return versions if versions and versions[0].role == CHAMPION else []


def keep(
    version: ModelVersion,
    facts: Mapping[str, Any],
    found: Evaluation,
    *,
    purpose: str,
    user_id: int,
    application_id: Any = None,
    now: datetime,
) -> Score:
    """Write a score, and beside it the facts that it was computed from."""
    nonce, text = secrets.token_bytes(_NONCE_BYTES), canonical_json(facts)
    figures: dict[str, Any] = {
        "points": [list(one) for one in found.points],
        "reasons": list(found.reasons),
        "missing": list(found.missing),
    }
    score = Score(
        version=version,
        application_id=application_id,
        user_id=user_id,
        purpose=purpose,
        facts_sha256=sha256(nonce + text).hexdigest(),
        total=found.total,
        outcome=found.outcome,
        segment=found.segment or "",
        created_at=now,
        **figures,
    )
    score.save(force_insert=True)
    ScoreFacts(score=score, facts=text.decode(), nonce=b64encode(nonce).decode()).save(force_insert=True)
    return score


def score_submitted(application: Any, offer: Mapping[str, Any], *, now: datetime) -> None:
    """Score an application that is being submitted with every published version of the offer's model.

    `offer` are its pinned terms. The champion's score decides or proposes, the others' are for comparison.
    """
    model_id = offer.get("blockscore_model_id")
    if model_id is None:
        return
    versions = live_versions(model_id, offer["provider_id"])
    if not versions:
        return
    names = frozenset[str]().union(*(version.card.facts for version in versions))
    known = gather(names, user_id=application.consumer_id, application_data=application.application_data, now=now)
    for version in versions:
        facts = {name: value for name, value in known.items() if name in version.card.facts or name == SCORED_ON}
        purpose = Score.DECISION if version.role == CHAMPION else Score.SHADOW
        keep(
            version,
            facts,
            evaluate(version.card, facts),
            purpose=purpose,
            user_id=application.consumer_id,
            application_id=application.pk,
            now=now,
        )


def erase_facts(user_id: int) -> int:
    """Delete what a person's scores were computed from, and the nonces; return how many. The hashes stay."""
    deleted, _ = ScoreFacts.objects.filter(score__user_id=user_id).delete()
    return deleted

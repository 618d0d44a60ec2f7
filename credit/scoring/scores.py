"""Computing scores of people and keeping them."""

import logging
import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import Error
from django.db.models import QuerySet

from config.core.json_text import canonical_json
from credit.reasons import text_of
from credit.scoring.card import SCORED_ON
from credit.scoring.changes import changes
from credit.scoring.evaluator import Evaluation, evaluate
from credit.scoring.facts import gather
from credit.scoring.machine import CHAMPION, PUBLISHED
from credit.scoring.models import ModelVersion, Score, ScoreFacts

logger = logging.getLogger("platform.scoring")

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


def keep(version: ModelVersion, facts: Mapping[str, Any], found: Evaluation, **about: Any) -> Score:
    """Write a score, and beside it the facts that it was computed from; `about` is what `_rows_of` takes."""
    score, kept = _rows_of(version, facts, found, **about)
    score.save(force_insert=True)
    kept.save(force_insert=True)
    return score


def _rows_of(
    version: ModelVersion,
    facts: Mapping[str, Any],
    found: Evaluation,
    *,
    purpose: str,
    user_id: int,
    application_id: Any = None,
    now: datetime,
) -> tuple[Score, ScoreFacts]:
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
    return score, ScoreFacts(score=score, facts=text.decode(), nonce=b64encode(nonce).decode())


def score_submitted(application: Any, offer: Mapping[str, Any], *, now: datetime) -> None:
    """Score an application that is being submitted with every published version of the offer's model.

    `offer` are its pinned terms. The champion's score decides or proposes, the others' are for comparison. Costs three
    statements and those of the facts; none where the offer names no model. A fault in a card or a fact is logged, and
    the application goes to people without a score; what the database refuses is raised.
    """
    model_id = offer.get("blockscore_model_id")
    if model_id is None:
        return
    versions = live_versions(model_id, offer["provider_id"])
    if not versions:
        return
    try:
        rows = _compute(application, versions, now)
    except Error:
        raise  # the transaction is broken, and the submission with it
    except Exception:
        logger.exception("application %s was submitted without a score by model %s", application.pk, model_id)
        return
    Score.objects.bulk_create([score for score, _ in rows])
    ScoreFacts.objects.bulk_create([kept for _, kept in rows])


def _compute(application: Any, versions: Sequence[ModelVersion], now: datetime) -> list[tuple[Score, ScoreFacts]]:
    names = frozenset[str]().union(*(version.card.facts for version in versions))
    known = gather(names, user_id=application.consumer_id, application_data=application.application_data, now=now)
    rows = []
    for version in versions:
        facts = {name: value for name, value in known.items() if name in version.card.facts or name == SCORED_ON}
        purpose = Score.DECISION if version.role == CHAMPION else Score.SHADOW
        about = {"purpose": purpose, "user_id": application.consumer_id, "application_id": application.pk, "now": now}
        rows.append(_rows_of(version, facts, evaluate(version.card, facts), **about))
    return rows


def decision_scores(application_id: Any) -> QuerySet[Score]:
    """Select the score that decides or proposes about an application: one, with its version, or none."""
    return Score.objects.filter(application=application_id, purpose=Score.DECISION).select_related("version")


def facts_of(score: Score) -> ScoreFacts | None:
    """Return what a score was computed from, None once that is erased."""
    try:
        return score.kept_facts
    except ScoreFacts.DoesNotExist:
        return None


def describe(score: Score) -> dict[str, Any]:
    """Return what a person reads of a score; `changes` are None where the facts are erased."""
    card, kept = score.version.card, facts_of(score)
    return {
        "score": score.total,
        "range": list(card.attainable),
        "scored_at": score.created_at,
        "model_id": score.version.model_id,
        "version": score.version.number,
        "outcome": score.outcome,
        "reasons": in_full(score.reasons),
        "changes": None if kept is None else changes(card, evaluate(card, kept.values())),
    }


def in_full(reasons: Sequence[Any]) -> list[dict[str, str]]:
    """Return reasons with their codes and texts."""
    return [{"code": one if isinstance(one, str) else one["code"], "text": text_of(one)} for one in reasons]


def erase_facts(user_id: int) -> int:
    """Delete what a person's scores were computed from, and the nonces; return how many. The hashes stay."""
    deleted, _ = ScoreFacts.objects.filter(score__user_id=user_id).delete()
    return deleted

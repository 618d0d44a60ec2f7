"""Scores of people who only ask what fits them: no application, no decision."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef

from config.core.credentials import Credential
from credit.core.facts import covered_by
from credit.core.version_machine import CHAMPION, PUBLISHED
from credit.models.scoring import LastScore, ModelVersion
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import facts_for, last_score, remember

Scores = dict[tuple[int, str], LastScore]  # by model and its provider


def scores_for_match(
    models: Collection[tuple[int, str]], said: Mapping[str, Any], *, credential: Credential, now: datetime
) -> Scores:
    """Return what these models, each with its provider's id, make of the person who asks.

    `said` are facts below `application_data`; of all others those are read that the credential covers. A model without
    a champion has its last score, for credentials that may see scores. Champions' results are stored for the account
    itself alone: an app's invented data must neither hide an offer from the person nor show one.
    """
    champions = ModelVersion.objects.filter(
        model__in={model_id for model_id, _ in models}, status=PUBLISHED, role=CHAMPION
    ).select_related("model")
    versions = [version for version in champions if (version.model_id, version.model.provider_id) in models]
    may_read, user_id = covered_by(credential), credential.user_id
    asked = facts_for(versions, user_id=user_id, application_data=None, may_read=may_read, now=now)
    found: Scores = {}
    for version, read in asked:
        facts = {name: said.get(name, value) for name, value in read.items()}
        computed = evaluate(version.card, facts)
        key = (version.model_id, version.model.provider_id)
        found[key] = last_score(version.model_id, version.card, computed, user_id=user_id, now=now)
    if not credential.carries("score:read"):
        return found
    before = _last_scores(models, user_id)
    new = [score for key, score in found.items() if not score.tells_the_same_as(before.get(key))]
    if new and credential.is_first_party:
        remember(new)
    return before | found


def _last_scores(models: Collection[tuple[int, str]], user_id: int) -> Scores:
    published = ModelVersion.objects.filter(model=OuterRef("model"), status=PUBLISHED)
    rows = LastScore.objects.filter(Exists(published), user=user_id, model__in={model_id for model_id, _ in models})
    kept = {(row.model_id, row.model.provider_id): row for row in rows.select_related("model")}
    return {key: row for key, row in kept.items() if key in models}

"""Scores of people who only ask what fits them: no application, no decision."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from config.core.json_text import canonical_json
from credit.scoring.evaluator import evaluate
from credit.scoring.last_scores import newest_of_each
from credit.scoring.machine import CHAMPION, PUBLISHED
from credit.scoring.models import ModelVersion, Score, ScoreFacts
from credit.scoring.scores import facts_for, keep


def score_for_match(
    models: Collection[tuple[Any, str]], said: Mapping[str, Any], *, user_id: int, now: datetime
) -> None:
    """Keep what the champions of these models, each with its provider's id, make of a person.

    `said` are facts below `application_data`; all others are read. Facts that were the last ones for a version are not
    scored again.
    """
    champions = ModelVersion.objects.filter(
        model__in={model_id for model_id, _ in models}, status=PUBLISHED, role=CHAMPION
    ).select_related("model")
    versions = [version for version in champions if (version.model_id, version.model.provider_id) in models]
    if not versions:
        return
    last = _last_facts(versions, user_id)
    for version, read in facts_for(versions, user_id=user_id, application_data=None, now=now):
        facts = {name: said.get(name, value) for name, value in read.items()}
        if last.get(version.pk) != canonical_json(facts).decode():
            keep(version, facts, evaluate(version.card, facts), purpose=Score.MATCH, user_id=user_id, now=now)


def _last_facts(versions: Sequence[ModelVersion], user_id: int) -> dict[int, str]:
    """Return the canonical JSON of the facts that each version scored last of a person."""
    kept = ScoreFacts.objects.filter(score__user=user_id, score__version__in=versions, score__purpose__in=Score.KNOWN)
    newest = newest_of_each(kept, group="score__version", order="score_id")
    return dict(newest.values_list("score__version", "facts"))

"""Scores of people who only ask what fits them (no application, no decision), and the last ones that people have."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet, Window
from django.db.models.functions import RowNumber

from config.core.json_text import canonical_json
from credit.scoring.evaluator import evaluate
from credit.scoring.machine import CHAMPION, PUBLISHED
from credit.scoring.models import ModelVersion, Score, ScoreFacts
from credit.scoring.scores import facts_for, keep


def newest_of_each(rows: QuerySet[Any], *, group: str, order: str) -> QuerySet[Any]:
    """Select of each group of rows the one that comes last in this order."""
    place = Window(RowNumber(), partition_by=F(group), order_by=F(order).desc())
    newest: QuerySet[Any] = rows.annotate(position=place).filter(position=1).order_by()
    return newest


class LastScore(NamedTuple):
    outcome: str
    segment: str | None
    reasons: Sequence[Any]  # principal reasons, the most important first


class LastScores:
    """A person's last score by each model that has a published version; nothing is read before one is asked for.

    Scores of decisions and matches count: what challengers make of a person is for comparison alone.
    """

    def __init__(self, user_id: int | str) -> None:
        self.user_id = user_id

    def of(self, model_id: int | None, provider_id: str) -> LastScore | None:
        """Return the last score by a model of this provider; None for another's model, or one unknown here."""
        return None if model_id is None else self._by_model.get((model_id, provider_id))

    @cached_property
    def _by_model(self) -> dict[tuple[int, str], LastScore]:
        published = ModelVersion.objects.filter(model=OuterRef("version__model"), status=PUBLISHED)
        scores = Score.objects.filter(Exists(published), user_id=self.user_id, purpose__in=Score.KNOWN)
        newest = newest_of_each(scores, group="version__model", order="id")
        values = newest.values_list("version__model", "version__model__provider", "outcome", "segment", "reasons")
        return {
            (model_id, provider_id): LastScore(outcome, segment or None, reasons)
            for model_id, provider_id, outcome, segment, reasons in values
        }


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

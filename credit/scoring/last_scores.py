"""The scores that a person was given last: what the catalogue knows of them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet, Window
from django.db.models.functions import RowNumber

from credit.scoring.machine import PUBLISHED
from credit.scoring.models import ModelVersion, Score


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

"""Scores as staff read them: points against baselines as bars, reasons and changes in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef

from config.backoffice.charts import Scale
from credit.admin.places import version_link
from credit.machine import DECIDED
from credit.models import PROPOSALS, Application, ApplicationRevision
from credit.reasons import text_of
from credit.scoring import words
from credit.scoring.card import Card
from credit.scoring.models import ModelVersion, Score, ScoreFacts


@dataclass(frozen=True)
class PointRow:
    """What one characteristic gave; `against` is the difference to its baseline, with its sign."""

    name: str
    bin: str
    points: int
    baseline: int
    bar: Mapping[str, str]
    value: str = ""

    @property
    def against(self) -> str:
        return f"{self.points - self.baseline:+d}"


def point_rows(
    definition: Mapping[str, Any], points: Iterable[Sequence[Any]], values: Mapping[str, str] | None = None
) -> list[PointRow]:
    """Return the rows of a score's points (`[characteristic, bin, points, baseline]` each), all on one scale."""
    found = list(points)
    named = {one["name"]: words.bins_in_words(one["bins"]) for one in definition["characteristics"]}
    scale = Scale.of(number for _, _, *numbers in found for number in numbers)
    return [
        PointRow(name, named[name][position], given, baseline, scale.bar(given, baseline), (values or {}).get(name, ""))
        for name, position, given, baseline in found
    ]


def shown_score_of(application: Any) -> Score | None:
    """Return the score that decides or proposes, read once for a page; costs nothing where the offer names no model."""
    if "shown_score" not in application.__dict__:
        terms = application.offer_snapshot or {}
        application.shown_score = None if terms.get("blockscore_model_id") is None else _newest(application)
    score: Score | None = application.shown_score
    return score


def _newest(application: Application) -> Score | None:
    kept = ScoreFacts.objects.filter(score=OuterRef("pk"))
    decisions = Score.objects.filter(application=application, purpose=Score.DECISION).order_by("-id")
    return decisions.select_related("version__model").annotate(has_facts=Exists(kept)).first()


def overrides(score: Score | None, to: str) -> bool:
    """Say whether a decision goes against what a score proposes."""
    return score is not None and to in DECIDED and PROPOSALS.get(score.outcome) not in {None, to}


def score_panel(application: Any, *, revisions: Iterable[ApplicationRevision]) -> dict[str, Any] | None:
    """Return what the page of an application says of its score; without total, points or reasons where data is masked.

    `revisions` are the changes of its data.
    """
    score: Any = shown_score_of(application)
    if score is None:
        return None
    version: ModelVersion = score.version
    panel = {
        "model": version_link(version),
        "at": score.created_at,
        "is_masked": getattr(application, "is_masked", False),
        "is_erased": not score.has_facts,
        "is_outdated": any(one.changed_at > score.created_at for one in revisions),
    }
    if panel["is_masked"]:
        return panel
    return {
        **panel,
        "total": score.total,
        "outcome": score.outcome,
        "band": band_of(version.card, score.total, score.outcome),
        "limits": version.card.limits,
        "segment": score.segment,
        "proposal": words.PROPOSALS[score.outcome],
        "reasons": [text_of(reason) for reason in score.reasons],
        "missing": score.missing,
        "rows": point_rows(version.definition, score.points),
    }


def band_of(card: Card, total: int, outcome: str) -> str:
    """Return which totals have an outcome, or that it has another ground than the total."""
    by_total = card.outcome_of(total)
    band = f"{by_total} is {dict(words.outcomes_in_words(card))[by_total]}"
    return band if outcome == by_total else f"{band}, but a knockout or something missing sets the outcome"

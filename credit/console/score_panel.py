"""Display scores to reviewers: bars that compare points with baselines, and reasons and changes as text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Exists, OuterRef

from config.backoffice.consoles import console_of
from config.backoffice.html import record_link
from credit.console import score_words as words
from credit.core.card import Card
from credit.core.reasons import text_of
from credit.models import ApplicationRevision
from credit.models.scoring import ModelVersion, Score, ScoreFacts
from credit.scoring.evaluator import Evaluation


class Scale(NamedTuple):
    """The range of points that all bars of a table share. It includes zero."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, points: Iterable[float]) -> "Scale":
        known = [0, *points]
        return cls(min(known), max(known))

    def place(self, points: float) -> float:
        """Return the horizontal position of points, in percent of the width."""
        return 100 * (points - self.lowest) / ((self.highest - self.lowest) or 1)

    def bar(self, points: float, baseline: float) -> dict[str, str]:
        """Return the context of `backoffice/bar.html`, with a bar from zero to `points` and a line at `baseline`."""
        zero, end = self.place(0), self.place(points)
        return {
            "tone": "good" if points >= baseline else "ask",
            "x": f"{min(zero, end):.2f}",
            "width": f"{abs(end - zero):.2f}",
            "mark": f"{self.place(baseline):.2f}",
        }


class PointRow(NamedTuple):
    """The points of a characteristic. `against` is the signed difference from the baseline."""

    name: str
    bin: str
    points: int
    baseline: int
    bar: Mapping[str, str]
    value: str = ""

    @property
    def against(self) -> str:
        return f"{self.points - self.baseline:+d}" if self.points != self.baseline else "0"


def point_rows(
    definition: Mapping[str, Any],
    points: Iterable[Sequence[Any]],
    writers: Mapping[str, words.Writer],
    values: Mapping[str, str] | None = None,
) -> list[PointRow]:
    """Convert a score's points (`[characteristic, bin, points, baseline]`) to rows with a common scale."""
    rows = list(points)
    named = words.bins_by_characteristic(definition, writers)
    scale = Scale.of(number for _, _, *numbers in rows for number in numbers)
    return [
        PointRow(name, named[name][at], number, baseline, scale.bar(number, baseline), (values or {}).get(name, ""))
        for name, at, number, baseline in rows
    ]


def score_panel(application: Any, *, revisions: Iterable[ApplicationRevision], viewer: Any) -> dict[str, Any] | None:
    """Return the score's context for an application's page. A masked score has no total, points, or reasons.

    `revisions` are the changes of the application's data. A lender's members see only scores of their own models.
    """
    if not application.names_scoring_model:
        return None
    kept = ScoreFacts.objects.filter(score=OuterRef("pk"))
    scores: Any = Score.deciding(application.pk).select_related("version__model").annotate(has_facts=Exists(kept))
    score = scores.first()
    if score is None:
        return {"waits": True} if application.score_waits else None
    version: ModelVersion = score.version
    console = console_of(viewer)
    if console is not None and version.model.provider_id not in console.providers:
        return None
    panel = {
        "model": record_link("credit_modelversion", version.pk, version.title),
        "at": score.created_at,
        "is_masked": getattr(application, "is_masked", False),
        "is_erased": not score.has_facts,
        "is_outdated": any(revision.changed_at > score.created_at for revision in revisions),
    }
    if panel["is_masked"]:
        return panel
    writers = words.writers_of(version.definition, application.shown_currency, has_currency=True)
    return {
        **panel,
        **result_of(version.card, score),
        "proposal": None if settings.DECISIONING == "off" else words.PROPOSALS.get(score.outcome, score.outcome),
        "rows": point_rows(version.definition, score.points, writers),
    }


def result_of(card: Card, result: Score | Evaluation) -> dict[str, Any]:
    """Describe a scorecard's result.

    Add the outcome that follows from the total, with its range of totals. If a knockout or a missing value sets another
    outcome, add a note.
    """
    by_total = card.outcome_of(result.total)
    band = f"{words.verdict_of(by_total)} is {dict(words.bands_in_words(card.outcomes))[by_total]}"
    if result.outcome != by_total:
        band += ", but a knockout or a missing value sets the outcome"
    return {
        "found": result,
        "verdict": words.verdict_of(result.outcome),
        "band": band,
        "limits": card.limits,
        "reasons": [text_of(reason) for reason in result.reasons],
    }

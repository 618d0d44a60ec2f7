"""Export the decisions about a lender's applications as a file."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import FileResponse
from django.utils import timezone

from config.core.casework import DataAccess
from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor
from config.core.table_files import CHUNK_ROWS, ROWS_MAX, csv_lines, file_answer, json_lines, spooled
from credit.core.machine import APPROVED, DECIDED
from credit.core.reasons import reasons_of
from credit.models import ApplicationHistory, Provider, Score
from credit.models.decision_rules import PROPOSALS
from credit.offers.providers import sent_to

COLUMNS = ["id", "submitted", "decided", "outcome", "terms", "reasons", "automated", "score", "override", "days"]
_LARGE = tuple(f"application__{name}" for name in ("application_data", "applicants", "offer_snapshot", "notes"))
# The first media type is the default.
KINDS = {
    "text/csv": ("csv", csv_lines),
    "application/jsonl": ("jsonl", json_lines),
    "application/x-ndjson": ("jsonl", json_lines),
}


def export_decisions(provider: Provider, actor: Actor, *, media_type: str, **times: datetime | None) -> FileResponse:
    """Return a file with the decisions between `from` and `to`, oldest first. The export is logged."""
    decisions = _decisions(provider, earliest=times.get("from"), latest=times.get("to"))
    number = decisions.order_by()[: ROWS_MAX + 1].count()
    if number > ROWS_MAX:
        raise ValidationFailed.of_member(
            "from", f"The period has more than {ROWS_MAX:,} decisions. Send a shorter period."
        )
    kind, lines = KINDS[media_type]
    file, digest = spooled(lines(COLUMNS, _rows(decisions)))
    period = {name: at and at.isoformat() for name, at in times.items()}
    DataAccess.note(
        DataAccess.EXPORT,
        viewer=actor.user,
        kind=ApplicationHistory._meta.label_lower,
        provider="" if actor.user.is_staff else str(provider.pk),
        details={**period, "provider_id": str(provider.pk), "rows": number, "format": kind, "sha256": digest.hex()},
        now=timezone.now(),
    )
    content_type = "text/csv; charset=utf-8" if kind == "csv" else media_type
    return file_answer(file, digest, "decisions", kind, content_type)


def _decisions(
    provider: Provider, *, earliest: datetime | None, latest: datetime | None
) -> QuerySet[ApplicationHistory]:
    sent = sent_to(provider.pk, provider.created_at, to_application="application__")
    decisions = ApplicationHistory.objects.filter(sent, status__in=DECIDED)
    if earliest is not None:
        decisions = decisions.filter(changed_at__gte=earliest)
    if latest is not None:
        decisions = decisions.filter(changed_at__lte=latest)
    scores = Score.objects.filter(application=OuterRef("application"), purpose=Score.DECISION)
    score = scores.filter(created_at__lte=OuterRef("changed_at")).order_by("-number")
    totals, proposed = Subquery(score.values("total")[:1]), Subquery(score.values("outcome")[:1])
    # The sandbox clock moves the times of an application but not of its history, so positions identify the newest row.
    later = ApplicationHistory.objects.filter(
        application=OuterRef("application"), status__in=DECIDED, position__gt=OuterRef("position")
    )
    rows = decisions.annotate(score=totals, proposed=proposed, is_newest=~Exists(later))
    rows = rows.select_related("application__loan_terms")
    return rows.defer(*_LARGE).order_by("changed_at", "id")


def _rows(decisions: QuerySet[ApplicationHistory]) -> Iterator[Iterable[Any]]:
    for row in decisions.iterator(chunk_size=CHUNK_ROWS):
        entry: Any = row
        application, is_automated = entry.application, row.credential.startswith("model:")
        terms = application.loan_terms if entry.is_newest else None
        proposed = PROPOSALS.get(entry.proposed or "") if settings.DECISIONING != "off" else None
        yield (
            str(entry.application_id),
            application.submitted_at,
            row.changed_at,
            row.status,
            terms.to_dict() if terms is not None and row.status == APPROVED else None,
            reasons_of(row.metadata),
            is_automated,
            entry.score,
            proposed not in {None, row.status},
            round((row.changed_at - application.submitted_at).total_seconds() / 86_400, 2),
        )

import logging
import secrets
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db import Error

from config.core.json_text import canonical_json, day_of
from config.core.prepared import PreparedSelect, insert
from credit.core.card import Card, is_claimed, number_of, text_of
from credit.core.due import Due
from credit.core.errors import RequirementsDue
from credit.core.facts import (
    CONFIRMED,
    REPORT,
    Known,
    catalogue,
    has_person,
    path_of,
    pointer_of,
    read_facts,
    shared,
    source_of,
    values_of,
)
from credit.core.reasons import in_full
from credit.models.scoring import CHAMPION, PUBLISHED, LastScore, ModelVersion, Score, ScoreFacts
from credit.reports.services import request_for_score
from credit.scoring.changes import changes
from credit.scoring.evaluator import Evaluation, evaluate

logger = logging.getLogger("platform.scoring")

_NONCE_BYTES = 32


class LiveVersion(NamedTuple):
    """A published version. Each process caches the version's scorecard, because a version never changes."""

    id: int
    role: str
    definition_sha256: str

    @property
    def card(self) -> Card:
        return _card(self.id, self.definition_sha256)


@lru_cache(maxsize=256)
def _card(version_id: int, _definition_sha256: str) -> Card:
    definition: Any = ModelVersion.objects.values_list("definition", flat=True).get(pk=version_id)
    return Card.of(definition)


_find_live = PreparedSelect(
    lambda model_id, provider_id: ModelVersion.objects.filter(
        model=model_id, model__provider=provider_id, status=PUBLISHED
    ).order_by("number"),
    ("id", "role", "definition_sha256"),
).rows


Version = TypeVar("Version", ModelVersion, LiveVersion)


def live_versions(model_id: int, provider_id: str) -> Sequence[LiveVersion]:
    """Return the published versions of a lender's model, champion first. Without a champion, the list is empty.

    An offer can have any number as model ID, so the model must belong to the offer's lender.
    """
    published = [LiveVersion(*row) for row in _find_live(model_id=model_id, provider_id=provider_id)]
    versions = sorted(published, key=lambda version: version.role != CHAMPION)
    return versions if versions and versions[0].role == CHAMPION else []


def champion_of(model_id: int | None, provider_id: str) -> LiveVersion | None:
    """Return the champion of a lender's model, or None."""
    versions = [] if model_id is None else live_versions(model_id, provider_id)
    return versions[0] if versions else None


def store_score(
    version: ModelVersion | LiveVersion,
    facts: Mapping[str, Any],
    evaluation: Evaluation,
    sources: Any = None,
    *,
    purpose: str,
    user_id: int,
    application_id: Any = None,
    number: int = 1,
    now: datetime,
) -> Score:
    """Store a score with the facts from which it was computed. `sources` is the result of `sources_of`."""
    nonce, text = secrets.token_bytes(_NONCE_BYTES), canonical_json(facts)
    points = [list(points) for points in evaluation.points]
    lists: dict[str, Any] = {"reasons": list(evaluation.reasons), "missing": list(evaluation.missing), "points": points}
    score = Score(
        version_id=version.id,
        application_id=application_id,
        user_id=user_id,
        purpose=purpose,
        facts_sha256=sha256(nonce + text).hexdigest(),
        total=evaluation.total,
        outcome=evaluation.outcome,
        segment=evaluation.segment or "",
        sources=sources,
        number=number,
        created_at=now,
        **lists,
    )
    insert(score)
    insert(ScoreFacts(score_id=score.pk, facts=text.decode(), nonce=b64encode(nonce).decode()))
    return score


def last_score(model_id: int, card: Card, evaluation: Evaluation, *, user_id: int, now: datetime) -> LastScore:
    """Create an unsaved LastScore from an evaluation, for the catalog."""
    segment = (evaluation.segment or "") if card.segments else None
    columns = {"outcome": evaluation.outcome, "segment": segment, "reasons": list(evaluation.reasons), "scored_at": now}
    return LastScore(user_id=user_id, model_id=model_id, **columns)


def remember_result(score: Score, model_id: int, card: Card, evaluation: Evaluation) -> None:
    """Store the result of an application's score for the catalog. Skip results that only the lender can read."""
    if not score.is_withheld:
        store_last_scores([last_score(model_id, card, evaluation, user_id=score.user_id, now=score.created_at)])


def store_last_scores(scores: Iterable[LastScore]) -> None:
    """Store an account's last scores in a single query.

    Each score replaces the previous last score of the same model.
    """
    LastScore.objects.bulk_create(
        # A fixed order prevents deadlocks between requests.
        sorted(scores, key=lambda score: score.model_id),
        update_conflicts=True,
        unique_fields=["user", "model"],
        update_fields=["outcome", "segment", "reasons", "scored_at"],
    )


class Computed(NamedTuple):
    """The result of a version for an application, before it is stored."""

    version: LiveVersion
    facts: dict[str, Any]
    evaluation: Evaluation
    sources: list[dict[str, Any]]


def score_submission(application: Any, now: datetime) -> None:
    """Score an application at its submission with every published version of the pinned offer's model.

    The champion's score decides or proposes a decision. Challengers' scores are only for comparison. Facts of SHAREABLE
    areas are read only if the applicant shares them. If the score waits for reports that the offer requests, no score
    is stored yet.

    Does nothing if `DECISIONING` is off, or without a pinned offer. Without a scoring model, the function costs no
    query. Otherwise, it costs two queries, the queries of the facts, and two queries per version. Raises
    RequirementsDue if the champion can't read the type of a value in the application's data.
    """
    if not (versions := versions_for(application)):
        return
    waits = _requests_reports(application, versions[0].card, now=now)
    computed = compute(
        versions,
        application=application,
        user_id=application.consumer_id,
        application_data=application.application_data,
        may_read=shared(application.share),
        currency=application.currency,
        now=now,
    )
    if computed and (due := list(_unreadable(computed[0].version.card, computed[0].evaluation))):
        raise RequirementsDue.of_each(due)
    if not waits:
        store_scores(application, computed, now=now)


def versions_for(application: Any) -> Sequence[LiveVersion]:
    """Return the published versions of the pinned offer's model, champion first, or none if `DECISIONING` is off."""
    offer = application.offer_snapshot
    if settings.DECISIONING == "off" or offer is None or (model_id := offer.get("blockscore_model_id")) is None:
        return []
    return live_versions(model_id, offer["provider_id"])


def _requests_reports(application: Any, card: Card, *, now: datetime) -> bool:
    """Request the offer's reports if the scorecard reads facts of reports.

    Return whether the score waits for a report.
    """
    kinds = application.offer_snapshot.get("reports")
    if not kinds or not any(source_of(name) == REPORT for name in card.facts):
        return False
    return request_for_score(application, kinds, now=now)


def compute(versions: Sequence[LiveVersion], *, application: Any, now: datetime, **about: Any) -> list[Computed]:
    """Compute the score of each version. `about` are the arguments of `facts_for`.

    If a scorecard or a fact raises an error, logs it and returns an empty list, so that reviewers decide without a
    score. Raises database errors.
    """
    try:
        return [
            Computed(version, facts, evaluate(version.card, facts), sources_of(version.card, facts, known))
            for version, facts, known in facts_for(versions, now=now, application=application, **about)
        ]
    except Error:
        # After a database error, the transaction accepts no more statements, so the caller must roll back.
        raise
    except Exception:
        model_id = application.offer_snapshot["blockscore_model_id"]
        logger.exception("application %s has no score by model %s", application.pk, model_id)
        return []


def store_scores(application: Any, computed: Sequence[Computed], *, now: datetime) -> None:
    """Store the scores of an application, and store the champion's score also as the last score."""
    for version, facts, evaluation, sources in computed:
        purpose = Score.DECISION if version.role == CHAMPION else Score.SHADOW
        about = {"purpose": purpose, "user_id": application.consumer_id, "application_id": application.pk, "now": now}
        score = store_score(version, facts, evaluation, sources, **about)
        if version.role == CHAMPION:
            remember_result(score, application.offer_snapshot["blockscore_model_id"], version.card, evaluation)


_WANTED = {
    number_of: ("number", "Must be a number."),
    text_of: ("string", "Must be a string."),
    day_of: ("string", "Must be a date such as 2026-01-31."),
}


def _unreadable(card: Card, evaluation: Evaluation) -> Iterator[Due]:
    """Yield the values that the applicant must correct, because their type is not the type that the scorecard reads."""
    for name in evaluation.unreadable:
        read_fact = next(source.read_fact for source in card.inputs if name in source.facts)
        kind, why = _WANTED.get(read_fact, ("boolean", "Must be true or false."))
        if is_claimed(name) and (path := path_of(name)):
            yield Due(pointer_of(("application_data", *path)), path[-1], kind, why)


def facts_for(
    versions: Sequence[Version], *, now: datetime, corrected: Mapping[str, Known] | None = None, **about: Any
) -> list[tuple[Version, dict[str, Any], dict[str, Known]]]:
    """Return the values and the sources of each version's facts. Each fact is read once for all versions.

    `corrected` are the facts that reviewers corrected. `about` are the arguments of `read_facts`.
    """
    names = frozenset[str]().union(*(version.card.facts for version in versions))
    known = with_corrections(read_facts(names, now=now, **about), corrected or {})
    own = [{name: fact for name, fact in known.items() if name in version.card.facts} for version in versions]
    return [(version, values_of(facts, now=now), facts) for version, facts in zip(versions, own, strict=True)]


def with_corrections(known: Mapping[str, Known], corrected: Mapping[str, Known]) -> dict[str, Known]:
    """Replace facts with their corrections. If a fact's value is newer than the correction, the fact is unchanged.

    A correction of a claim, or of a fact without a date, always applies.
    """
    return {
        name: fact if name not in corrected or _is_newer(name, fact, corrected[name]) else corrected[name]
        for name, fact in known.items()
    }


def _is_newer(name: str, fact: Known, correction: Known) -> bool:
    declared = catalogue().get(name)
    is_dated = fact.source == CONFIRMED or (declared is not None and declared.dated is not None)
    days = fact.as_of, correction.as_of
    return is_dated and fact.value is not None and None not in days and days[0] > days[1]  # type: ignore[operator]


def sources_of(card: Card, facts: Mapping[str, Any], known: Mapping[str, Known]) -> list[dict[str, Any]]:
    """Return name, source, and day of each fact that an input of the scorecard reads, sorted by name.

    If an input reads facts about other applications, the list contains all facts of the input. A shorter list would
    reveal which facts are missing.
    """
    used = {
        name for source in card.inputs for name in (source.facts if has_person(source.facts) else source.used(facts))
    }
    return [{"name": name, "source": known[name].source, "as_of": known[name].as_of_text} for name in sorted(used)]


COMPUTED, WAITING = "computed", "waiting"


def describe_waiting(model_id: int) -> dict[str, Any]:
    """Describe a score that waits for reports."""
    unknown = dict.fromkeys(("score", "range", "scored_at", "version", "outcome", "changes", "facts"))
    return {**unknown, "status": WAITING, "model_id": model_id, "reasons": []}


def describe(score: Score, *, for_applicant: bool = False) -> dict[str, Any]:
    """Describe a computed score. `changes` is None if the facts are erased.

    `facts` is None for scores from before version 1.1 of the platform.

    If the scorecard reads facts that only the lender can read, the applicant's description omits them and the result.
    """
    card, kept = score.version.card, score.facts_if_kept
    is_hidden = for_applicant and score.is_withheld
    return {
        "status": COMPUTED,
        "score": None if is_hidden else score.total,
        "range": list(card.limits),
        "scored_at": score.created_at,
        "model_id": score.version.model_id,
        "version": score.version.number,
        "outcome": None if is_hidden else score.outcome,
        "reasons": [] if is_hidden else in_full(score.reasons),
        "changes": None if kept is None or is_hidden else changes(card, evaluate(card, kept.values())),
        "facts": score.sources_for_applicant if is_hidden else score.sources,
    }

"""List the facts of an application, compare them with the applicant's claims, and compute new scores."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from config.core.lifecycle import Actor, RecordNotEditable
from config.ops.failed_items import FailedItems
from credit.core.card import is_claimed, number_of, text_of
from credit.core.errors import ReportPending, ScoreNotFound
from credit.core.facts import (
    CONFIRMED,
    REPORT,
    SHAREABLE,
    Known,
    catalogue,
    claim_of,
    confirmed_name,
    name_of,
    part_of,
    path_of,
    read_facts,
    shared,
)
from credit.core.machine import FROZEN
from credit.core.profile import X_FACT
from credit.core.report_summary import LATEST
from credit.models import Application, Confirmation, Correction, Report, Score
from credit.models.reports import REQUESTED
from credit.review.confirmations import load_for_facts
from credit.review.services import pending_decision
from credit.scoring import scores
from credit.scoring.evaluator import evaluate
from credit.terms.counteroffers import open_of

_TENTH = Decimal("0.1")  # a greater difference from the claim is reported


def about_application(application: Application) -> dict[str, Any]:
    """Return the arguments of `read_facts` for an application, with a single query."""
    return {
        "user_id": application.consumer_id,
        "application_data": application.application_data,
        "may_read": shared(application.share),
        "confirmed": Confirmation.known_of(application.pk),
        "application": application,
        "currency": application.currency,
    }


def facts_of(application: Application, *, now: datetime) -> list[dict[str, Any]]:
    """Return each shared, reported, confirmed, or corrected fact with name, value, source, and day, sorted by name.

    A corrected fact has the corrected value if the correction applies (`with_corrections`). `differs_from_claim`
    compares the value with a claim: the claim that the scorecard reads as an alternative to the fact, or the claim at
    the same path. `differs_from_claim` is None if no such claim exists, or if either value is missing.
    """
    about, corrected = about_application(application), Correction.known_of(application.pk)
    confirmed, may_read = about["confirmed"], about["may_read"]
    claims = {confirmed_name(pointer): claim_of(confirmed_name(pointer)) for pointer in confirmed}
    claims |= {fact: claim for claim, fact in _marked(application)}
    champion = champion_of(application)
    if champion is not None:
        claims |= {name: read.claim for read in champion.card.inputs if read.claim is not None for name in read.facts}
    reported = {name for name, fact in catalogue().items() if fact.source == REPORT}
    own = {name for name, fact in catalogue().items() if name.partition(".")[0] in SHAREABLE and may_read(fact)}
    claims |= {name: name for name in corrected if is_claimed(name)}
    names = own | reported | {confirmed_name(pointer) for pointer in confirmed} | corrected.keys()
    claimed = read_facts(names | set(claims.values()), now=now, **about)
    known = scores.with_corrections(claimed, corrected)
    return [
        _described(name, known[name], claimed[claims[name]].value if name in claims else None)
        for name in sorted(names)
        if name not in reported or known[name].value is not None
    ]


def facts_about(application: Application, applicant: int, *, now: datetime) -> list[dict[str, Any]]:
    """Return the facts from the reports about an applicant, by name.

    Facts from other sources exist only for the first applicant.
    """
    figures = Report.figures_of(application, now, applicant)
    reported = {name: fact for name, fact in catalogue().items() if fact.source == REPORT}
    known = {name: part_of(fact, figures, now=now) for name, fact in reported.items()}
    return [_described(name, fact, None) for name, fact in known.items() if fact.value is not None]


def _described(name: str, known: Known, claim: Any) -> dict[str, Any]:
    return {
        "name": name,
        "value": known.value,
        "source": known.source,
        "as_of": None if known.value is None else known.as_of_text,
        "differs_from_claim": _differs_from(claim, known.value),
    }


class Comparison(NamedTuple):
    """A claim below `application_data`, and the values from other sources. Missing values are None.

    If a corrected fact has no claim, `path` is the name of the fact.
    """

    path: Sequence[str]
    claimed: Known | None
    sourced: Known | None
    confirmed: Known | None
    corrected: Known | None

    @property
    def differs(self) -> bool:
        if self.claimed is None:
            return False
        others = (self.sourced, self.confirmed, self.corrected)
        return any(_differs_from(self.claimed.value, other.value) for other in others if other is not None)


def comparisons(application: Application, *, now: datetime) -> list[Comparison]:
    """Return the corrected facts, and the claims that have another source.

    The source is a fact that the scorecard or the offer's schema assigns to the claim, or a confirmation.
    """
    about, corrected = about_application(application), Correction.known_of(application.pk)
    confirmed = about["confirmed"]
    facts = {claim_of(confirmed_name(pointer)): [confirmed_name(pointer)] for pointer in confirmed}
    for claim, fact in _marked(application):
        facts.setdefault(claim, []).append(fact)
    champion = champion_of(application)
    for read in champion.card.inputs if champion is not None else ():
        if read.claim is not None:
            facts.setdefault(read.claim, []).extend(name for name in read.facts if not is_claimed(name))
    for name in corrected:
        facts.setdefault(name, [] if is_claimed(name) else [name])
    known = read_facts({*facts, *chain.from_iterable(facts.values())}, now=now, **about)
    rows = []
    for claim in sorted(facts):
        others = [known[name] for name in facts[claim] if known[name].value is not None]
        sourced = next((other for other in others if other.source != CONFIRMED), None)
        word = next((other for other in others if other.source == CONFIRMED), None)
        path, claimed = (path_of(claim), known[claim]) if is_claimed(claim) else ([claim], None)
        rows.append(Comparison(path, claimed, sourced, word, corrected.get(claim)))
    return rows


def _marked(application: Application) -> list[tuple[str, str]]:
    """Return pairs of a claim and the fact that the offer's schema assigns to the claim (`x-fact`)."""
    members = ((application.offer_snapshot or {}).get("application_schema") or {}).get("properties", {})
    return [(name_of(name), member[X_FACT]) for name, member in members.items() if X_FACT in member]


def _differs_from(claimed: Any, value: Any) -> bool | None:
    if value is None or claimed is None:
        return None
    number, claimed_number = number_of(value), number_of(claimed)
    if number is not None and claimed_number is not None:
        return abs(number - claimed_number) > _TENTH * abs(claimed_number)
    return bool(text_of(value) != text_of(claimed) if isinstance(value, str) else value != claimed)


def champion_of(application: Application) -> scores.LiveVersion | None:
    model_id = (application.offer_snapshot or {}).get("blockscore_model_id")
    return scores.champion_of(model_id, str(application.provider_id))


def refuse_new_score(application: Application) -> None:
    """Raise an error if the application can't get a new score now.

    Raises ReportPending while the score waits for reports. Raises RecordNotEditable while a proposed decision waits for
    a second reviewer, or while a counteroffer is open.
    """
    if application.score_waits:
        raise ReportPending("The score waits up to 24 hours for the reports that the offer requests.")
    if pending_decision(application) is not None:
        raise RecordNotEditable("A proposed decision waits for a second reviewer. Confirm or decline it first.")
    if open_of(application) is not None:
        raise RecordNotEditable("The application has an open counteroffer. Withdraw it first.")


def score_again(application_id: str, *, actor: Actor, now: datetime) -> Score:
    """Score an application again with the model's champion and the current facts. The newest score applies.

    If the scorecard can't read the data, the outcome is `refer`. Raises the errors of `load_for_facts` and
    `refuse_new_score`, and ScoreNotFound if the offer has no model with a champion.
    """
    application = load_for_facts(application_id, actor)
    refuse_new_score(application)
    champion = None if settings.DECISIONING == "off" else champion_of(application)
    if champion is None:
        raise ScoreNotFound("The application's offer has no scoring model with a champion.")
    return assess(application, champion, now=now)


def assess(application: Application, champion: scores.LiveVersion, *, now: datetime) -> Score:
    """Score an application with the current and corrected facts. The newest score applies."""
    corrected, about = Correction.known_of(application.pk), about_application(application)
    [(_, facts, known)] = scores.facts_for([champion], corrected=corrected, now=now, **about)
    evaluation = evaluate(champion.card, facts)
    before = Score.deciding(application.pk).values_list("number", flat=True).first()
    score = scores.store_score(
        champion,
        facts,
        evaluation,
        scores.sources_of(champion.card, facts, known),
        purpose=Score.DECISION,
        user_id=application.consumer_id,
        application_id=application.pk,
        number=(before or 0) + 1,
        now=now,
    )
    scores.remember_result(score, application.offer_snapshot["blockscore_model_id"], champion.card, evaluation)
    return score


_LEASE = timedelta(minutes=1)


def score_waiting(*, now: datetime) -> tuple[int, int]:
    """Score applications whose reports arrived, or were requested 24 hours ago. Return (scored, failed).

    If the scorecard can't read the data, the outcome is `refer`. Applications that were decided or ended in the
    meantime get no score.
    """
    waited = Report.objects.filter(score_waits=True)
    missing = waited.filter(application=OuterRef("pk"), status=REQUESTED, requested_at__gte=now - LATEST)
    queue = Application.objects.filter(~Exists(missing), pk__in=waited.values("application"))
    scored = 0

    def score(application: Application) -> None:
        nonlocal scored
        scored += _score(application.pk, now)

    failed = FailedItems("waiting_score", queue.order_by("pk"), lease=_LEASE).process(score, now=now)
    return scored, failed


def _score(pk: UUID, now: datetime) -> bool:
    """Score an application. Return False if the application gets no score, or if another process scored it first."""
    with transaction.atomic():
        locked = Application.objects.select_for_update().get(pk=pk)
        if not locked.reports.filter(score_waits=True).update(score_waits=False) or locked.status in FROZEN:
            return False
        corrected, about = Correction.known_of(locked.pk), about_application(locked)
        computed = scores.compute(scores.versions_for(locked), corrected=corrected, now=now, **about)
        scores.store_scores(locked, computed, now=now)
        return bool(computed)

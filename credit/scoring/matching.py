"""Which offers fit a person: the rules of the catalogue, and what the offers' scoring models make of the person now."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import BooleanField, Case, Exists, OuterRef, Value, When

from config.core.credentials import Credential
from credit.core.card import DECLINE
from credit.core.facts import covered_by
from credit.core.reasons import text_of
from credit.models import LastScore, ModelVersion, Offer
from credit.models.scoring import CHAMPION, PUBLISHED
from credit.offers.catalogue import CatalogueFilter
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import facts_for, last_score, remember

Scores = dict[tuple[int, str], LastScore]  # by model and its provider


def scores_for_match(
    models: Collection[tuple[int, str]], stated: Mapping[str, Any], *, credential: Credential, now: datetime
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
    gathered = facts_for(versions, user_id=user_id, application_data=None, may_read=may_read, now=now)
    scores: Scores = {}
    for version, read, _ in gathered:
        facts = {name: stated.get(name, value) for name, value in read.items()}
        computed = evaluate(version.card, facts)
        key = (version.model_id, version.model.provider_id)
        scores[key] = last_score(version.model_id, version.card, computed, user_id=user_id, now=now)
    if not credential.carries("score:read"):
        return scores
    before = _last_scores(models, user_id)
    new = [score for key, score in scores.items() if not score.has_same_result_as(before.get(key))]
    if new and credential.is_first_party:
        remember(new)
    return before | scores


def _last_scores(models: Collection[tuple[int, str]], user_id: int) -> Scores:
    published = ModelVersion.objects.filter(model=OuterRef("model"), status=PUBLISHED)
    rows = LastScore.objects.filter(Exists(published), user=user_id, model__in={model_id for model_id, _ in models})
    kept = {(row.model_id, row.model.provider_id): row for row in rows.select_related("model")}
    return {key: row for key, row in kept.items() if key in models}


_WORDS = {
    "state": "The offer is not available in this state.",
    "currency": "The offer is in another currency.",
    "amount": "The offer does not lend this amount.",
}
_SEGMENT = "The offer is for other customers."
# A model may decline without a loss against any of its baselines.
_NO_REASON = "The known facts are not enough for this offer."


class Matches(NamedTuple):
    """A page of offers, each with the reasons why it does not fit, and the number of all offers."""

    offers: list[tuple[Offer, list[str]]]
    total: int
    has_more: bool


def match_offers(
    *,
    credential: Credential,
    state: str | None,
    amount_cents: int | None,
    currency: str | None = None,
    facts: Mapping[str, Any],
    limit: int,
    offset: int,
    now: datetime,
) -> Matches:
    """Return a page of the active offers, newest first, each with why it does not fit, in words: none when it does.

    `facts` are what an application would say. The champions of the models on the page score the person with them, and
    with what the credential may see. A variant that the person never sees is not on any page.
    """
    filters = CatalogueFilter.of(credential, state=state, amount_cents=amount_cents, currency=currency)
    seen = filters.ever_seen()
    total, page = seen.count(), list(seen.annotate(**_unmet(filters))[offset : offset + limit])
    models = {(offer.blockscore_model_id, offer.provider_id) for offer in page if offer.blockscore_model_id is not None}
    scores = scores_for_match(models, facts, credential=credential, now=now) if models else {}
    matches = [(offer, _why_not(offer, scores)) for offer in page]
    return Matches(matches, total, has_more=offset + len(page) < total)


def _unmet(filters: CatalogueFilter) -> dict[str, Any]:
    flag: dict[str, Any] = {"default": Value(value=True), "output_field": BooleanField()}
    return {
        f"unmet_{name}": Case(When(filters.rules[name], then=Value(value=False)), **flag)
        for name in _WORDS
        if name in filters.rules
    }


def _why_not(offer: Offer, scores: Mapping[tuple[int, str], LastScore]) -> list[str]:
    words = [text for name, text in _WORDS.items() if getattr(offer, f"unmet_{name}", False)]
    score = scores.get((offer.blockscore_model_id or 0, offer.provider_id))
    if score is None:
        return words
    if score.outcome == DECLINE:
        words += [text_of(reason) for reason in score.reasons] or [_NO_REASON]
    if score.segment is not None and offer.customer_segment not in {None, score.segment}:
        words.append(_SEGMENT)
    return words

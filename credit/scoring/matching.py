"""Match offers with an applicant, by the offers' rules and by the results of their scoring models."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Case, Exists, OuterRef, Value, When

from config.core.credentials import Credential
from credit.core.card import DECLINE
from credit.core.facts import covered_by
from credit.core.reasons import text_of
from credit.models import LastScore, ModelVersion, Offer
from credit.models.scoring import CHAMPION, PUBLISHED
from credit.offers.catalogue import CatalogueFilter
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import facts_for, last_score, store_last_scores

# A wanted score has a model, a lender, and the currency of an offer.
Wanted = tuple[int, str, str]
Scores = dict[Wanted, LastScore]


def scores_for_match(
    models: Collection[Wanted], stated: Mapping[str, Any], *, credential: Credential, now: datetime
) -> Scores:
    """Return the results of the scoring models in `models` for the caller.

    `stated` are facts below `application_data`. Other facts are read if the credential covers them. Bank facts are in
    the offer's currency. For a model without a champion, the last score is used if the credential can read scores.
    Results of champions are stored only if the account itself calls, because invented data of an app must not change
    the account's offers.
    """
    champions = list(
        ModelVersion.objects.filter(
            model__in={model_id for model_id, _, _ in models}, status=PUBLISHED, role=CHAMPION
        ).select_related("model")
    )
    user_id, scores = credential.user_id, Scores()
    about: dict[str, Any] = {"user_id": user_id, "application_data": None, "may_read": covered_by(credential)}
    for currency in sorted({currency for _, _, currency in models}):
        versions = [row for row in champions if (row.model_id, row.model.provider_id, currency) in models]
        for version, read, _ in facts_for(versions, currency=currency, now=now, **about):
            facts = {name: stated.get(name, value) for name, value in read.items()}
            computed = evaluate(version.card, facts)
            key = (version.model_id, version.model.provider_id, currency)
            scores[key] = last_score(version.model_id, version.card, computed, user_id=user_id, now=now)
    if not credential.carries("score:read"):
        return scores
    before = _last_scores(models, user_id)
    new = {score.model_id: score for key, score in scores.items() if not score.has_same_result_as(before.get(key))}
    if new and credential.is_first_party:
        store_last_scores(new.values())
    return before | scores


def _last_scores(models: Collection[Wanted], user_id: int) -> Scores:
    published = ModelVersion.objects.filter(model=OuterRef("model"), status=PUBLISHED)
    rows = LastScore.objects.filter(Exists(published), user=user_id, model__in={model_id for model_id, _, _ in models})
    kept = {(row.model_id, row.model.provider_id): row for row in rows.select_related("model")}
    return {wanted: kept[wanted[:2]] for wanted in models if wanted[:2] in kept}


_WORDS = {
    "state": "The offer is not available in this state.",
    "currency": "The offer is in another currency.",
    "amount": "The offer does not lend this amount.",
}
_SEGMENT = "The offer is for other customers."
# A model can decline although no characteristic is below its baseline.
_NO_REASON = "The known facts are not enough for this offer."


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
) -> dict[str, Any]:
    """Return a page of active offers, newest first. Each offer has a list of the reasons why it does not match.

    `facts` are the stated facts. The champions of the page's models compute scores with the stated facts and with the
    facts that the credential covers. The pages exclude A/B variants of other test groups.
    """
    filters = CatalogueFilter.of(credential, state=state, amount_cents=amount_cents, currency=currency)
    seen = filters.visible()
    total = seen.count()
    page: list[Any] = list(seen.annotate(**_unmet(filters))[offset : offset + limit])
    models = {wanted for offer in page if (wanted := _wanted(offer)) is not None}
    scores = scores_for_match(models, facts, credential=credential, now=now) if models else {}
    for offer in page:
        offer.why_not = _why_not(offer, scores)
        offer.matched = not offer.why_not
    return {"offers": page, "total": total, "has_more": offset + len(page) < total}


def _unmet(filters: CatalogueFilter) -> dict[str, Any]:
    flag: dict[str, Any] = {"default": Value(value=True), "output_field": BooleanField()}
    return {
        f"unmet_{name}": Case(When(filters.rules[name], then=Value(value=False)), **flag)
        for name in _WORDS
        if name in filters.rules
    }


def _wanted(offer: Offer) -> Wanted | None:
    """Return an offer's scoring model in the format of `scores_for_match`, or None if the offer has no model."""
    if offer.blockscore_model_id is None:
        return None
    return offer.blockscore_model_id, offer.provider_id, offer.conventions.currency


def _why_not(offer: Offer, scores: Mapping[Wanted, LastScore]) -> list[str]:
    words = [text for name, text in _WORDS.items() if getattr(offer, f"unmet_{name}", False)]
    score = scores.get(wanted) if (wanted := _wanted(offer)) is not None else None
    if score is None:
        return words
    if score.outcome == DECLINE:
        words += [text_of(reason) for reason in score.reasons] or [_NO_REASON]
    if score.segment is not None and offer.customer_segment not in {None, score.segment}:
        words.append(_SEGMENT)
    return words

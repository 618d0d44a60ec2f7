"""Which offers fit a person: the rules of the catalogue, and what the offers' scoring models make of the person now."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction

from credit.catalogue import CatalogueFilter
from credit.models import Offer
from credit.reasons import text_of
from credit.scoring.matches import score_for_match

_WORDS = {
    "state": "The offer is not made in this state.",
    "amount": "The offer does not lend this amount.",
    "segment": "The offer is for other customers.",
}
# A model may decline without a loss against any of its baselines.
_NO_REASON = "What is known is not enough for this offer."


class Match(NamedTuple):
    """An offer, and why it does not fit, in words; no words when it does."""

    offer: Offer
    why_not: list[str]


def match_offers(
    *,
    user_id: int,
    state: str | None,
    amount_cents: int | None,
    facts: Mapping[str, Any],
    limit: int,
    offset: int,
    now: datetime,
) -> dict[str, Any]:
    """Return a page of the active offers, newest first, with those that do not fit and why.

    `facts` are what an application would say. The champions of the models on the page score the person with them, and
    those scores are kept; a variant that the person never sees is not on any page.
    """
    asked = CatalogueFilter(user_id=str(user_id), state=state, amount_cents=amount_cents)
    page, total = _page(asked, limit, offset)
    if models := {(one.blockscore_model_id, one.provider_id) for one in page if one.blockscore_model_id is not None}:
        with transaction.atomic():
            score_for_match(models, facts, user_id=user_id, now=now)
    matches = [Match(offer, _why_not(asked, offer)) for offer in page]
    return {"offers": matches, "total": total, "has_more": offset + len(page) < total}


def _page(asked: CatalogueFilter, limit: int, offset: int) -> tuple[list[Offer], int]:
    """Return a page of what the person ever sees, and how much there is in all."""
    page, total = [], 0
    for offer in Offer.objects.filter(is_active=True).order_by("-id").iterator(chunk_size=500):
        if asked.sees_variant(offer):
            if offset <= total < offset + limit:
                page.append(offer)
            total += 1
    return page, total


def _why_not(asked: CatalogueFilter, offer: Offer) -> list[str]:
    words: list[str] = []
    for rule in asked.rules_against(offer):
        words += _reasons(asked, offer) if rule == "score" else [_WORDS[rule]]
    return words


def _reasons(asked: CatalogueFilter, offer: Offer) -> Sequence[str]:
    score = asked.scores.of(offer.blockscore_model_id, offer.provider_id)
    return [text_of(reason) for reason in score.reasons] if score and score.reasons else [_NO_REASON]

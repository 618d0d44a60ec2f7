"""What a marketplace reads: active offers that fit the caller's filters and scores, one variant per person."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from credit.models import Offer
from credit.scoring.card import DECLINE
from credit.scoring.matches import LastScore, LastScores


def ab_bucket(user_id: str, offer_id: int, variant: str) -> int:
    """Return 0 to 99: the same person always falls into the same bucket of the same test."""
    digest = sha256(f"{user_id}|{offer_id}|{variant}".encode()).hexdigest()
    return int(digest[:8], 16) % 100


@dataclass
class CatalogueFilter:
    """What the caller asks for, and how models have scored them; None asks for nothing."""

    user_id: str
    product_type: str | None = None
    state: str | None = None
    amount_cents: int | None = None
    segment: str | None = None

    @cached_property
    def scores(self) -> LastScores:
        return LastScores(self.user_id)

    def rule_against(self, offer: Offer) -> str | None:
        return next(self.rules_against(offer), None)

    def rules_against(self, offer: Offer) -> Iterator[str]:
        if self.product_type is not None and offer.product_type != self.product_type:
            yield "product_type"
        if self.state is not None and not _serves(offer, self.state):
            yield "state"
        if self.amount_cents is not None and not _lends(offer, self.amount_cents):
            yield "amount"
        score = self.scores.of(offer.blockscore_model_id, offer.provider_id)
        if score is not None and score.outcome == DECLINE:
            yield "score"
        if not self._fits_segment(offer, score):
            yield "segment"
        if not self.sees_variant(offer):
            yield "inactive_variant"

    def _fits_segment(self, offer: Offer, score: LastScore | None) -> bool:
        """Say whether the person is whom the offer is for: by the model's score, else by what the caller says."""
        segment = self.segment if score is None or score.segment is None else score.segment
        return segment is None or offer.customer_segment in {None, segment}

    def sees_variant(self, offer: Offer) -> bool:
        if offer.ab_test_variant is None or offer.ab_test_allocation is None:
            return True
        return ab_bucket(self.user_id, offer.pk, offer.ab_test_variant) < offer.ab_test_allocation


def _serves(offer: Offer, state: str) -> bool:
    if state in (offer.excluded_states or ()):
        return False
    return bool(offer.nationwide) or not offer.included_states or state in offer.included_states


def _lends(offer: Offer, amount_cents: int) -> bool:
    low, high = offer.loan_amount_min_cents, offer.loan_amount_max_cents
    return (low is None or amount_cents >= low) and (high is None or amount_cents <= high)


def catalogue_page(asked: CatalogueFilter, *, limit: int, offset: int, explain: bool) -> dict[str, Any]:
    """Return a page of the catalogue, newest offer first; with `explain`, also what was left out and why."""
    shown: list[Offer] = []
    hidden: list[dict[str, Any]] = []
    for offer in Offer.objects.filter(is_active=True).order_by("-id").iterator(chunk_size=500):
        rule = asked.rule_against(offer)
        if rule is None:
            shown.append(offer)
        elif explain:
            hidden.append({"offer_id": offer.pk, "rule": rule})
    page = shown[offset : offset + limit]
    result = {"items": page, "total": len(shown), "has_more": offset + len(page) < len(shown)}
    return {**result, "hidden": hidden} if explain else result

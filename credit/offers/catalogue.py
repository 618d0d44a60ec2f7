"""The catalog for marketplaces: the active offers that match the caller's filters, scores, and A/B variants.

The database applies the rules and counts the offers, so a request reads only the rows of a page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from django.db.models import Case, CharField, Exists, Func, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Concat, StrIndex, Substr

from config.core.credentials import Credential
from credit.core.card import DECLINE
from credit.core.jurisdictions import DEFAULT_CURRENCY, EU, US
from credit.models import LastScore, ModelVersion, Offer
from credit.models.scoring import PUBLISHED

HIDDEN_MAX = 1_000
ALLOCATION_ALL = 100  # a variant with this percentage is for every account
_HEX = "0123456789abcdef"


class Sha256(Func):
    """The hexadecimal SHA-256 of a string. Django's own function requires a PostgreSQL extension."""

    function = "SHA256"
    output_field = CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "ENCODE(SHA256(CONVERT_TO(%(expressions)s, 'UTF8')), 'hex')"
        return self.as_sql(compiler, connection, template=template, **context)


def ab_bucket(user_id: str) -> Any:
    """Return an SQL expression for an account's bucket (0 to 99) in the A/B test of an offer.

    An account's bucket never changes. The expression computes, digit by digit,
    `int(sha256(f"{user_id}|{offer_id}|{variant}").hexdigest()[:8], 16) % 100`.
    """
    digest = Sha256(Concat(Value(f"{user_id}|"), Cast("pk", CharField()), Value("|"), "ab_test_variant"))
    digits = [StrIndex(Value(_HEX), Substr(digest, place, 1)) - 1 for place in range(1, 9)]
    return sum(digit * (16 ** (8 - place) % 100) for place, digit in enumerate(digits, start=1)) % 100


@dataclass
class CatalogueFilter:
    """The caller's filters (None for no filter), and whether the caller's scores exclude offers.

    `user_id` is None for a visitor, who sees only the variants of A/B tests that every account sees.

    The absence of an offer would reveal the score that excludes it. So credentials without access to scores get the
    catalog of an account that was never scored.
    """

    user_id: str | None
    sees_scores: bool
    product_type: str | None = None
    state: str | None = None
    amount_cents: int | None = None
    currency: str | None = None
    segment: str | None = None

    @classmethod
    def of(cls, credential: Credential, **filters: Any) -> Self:
        return cls(user_id=str(credential.user_id), sees_scores=credential.carries("score:read"), **filters)

    @cached_property
    def rules(self) -> dict[str, Q]:
        """The conditions for offers, by name. The catalog contains the offers that meet all conditions."""
        # Amounts in different currencies can't be compared.
        currency = self.currency or (DEFAULT_CURRENCY[US] if self.amount_cents is not None else None)
        rules: dict[str, Any] = {
            "product_type": Q() if self.product_type is None else Q(product_type=self.product_type),
            "state": Q() if self.state is None else _serves(self.state),
            "currency": Q() if currency is None else _is_in(currency),
            "amount": Q() if self.amount_cents is None else _lends(self.amount_cents),
            "score": Q(~Exists(self._last_scores.filter(outcome=DECLINE))) if self.sees_scores else Q(),
            "segment": self._fits_segment(),
            "inactive_variant": self._sees_variant(),
        }
        return {name: rule for name, rule in rules.items() if rule}

    @cached_property
    def _last_scores(self) -> QuerySet[LastScore]:
        """Return the account's newest score of each offer's model. The model must belong to the offer's lender."""
        published = ModelVersion.objects.filter(model=OuterRef("model"), status=PUBLISHED)
        return LastScore.objects.filter(
            Exists(published),
            user_id=int(self.user_id or 0),
            model=OuterRef("blockscore_model_id"),
            model__provider=OuterRef("provider_id"),
        )

    def _fits_segment(self) -> Q:
        """Return the condition for the segment.

        If the scorecard declares segments, the score determines the segment. Otherwise, the caller's filter determines
        it.
        """
        requested = Q() if self.segment is None else Q(customer_segment=self.segment)
        if not self.sees_scores:
            return requested and (Q(customer_segment=None) | requested)
        scored = self._last_scores.filter(segment__isnull=False)
        belongs = Exists(scored.filter(segment=OuterRef("customer_segment")))
        return Q(customer_segment=None) | Q(belongs) | (Q(~Exists(scored)) & requested)

    def _sees_variant(self) -> Q:
        outside = Q(ab_test_variant=None) | Q(ab_test_allocation=None)
        if self.user_id is None:
            return outside | Q(ab_test_allocation=ALLOCATION_ALL)
        return outside | Q(ab_test_allocation__gt=ab_bucket(self.user_id))

    def matching(self) -> QuerySet[Offer]:
        return active_offers().filter(*self.rules.values())

    def visible(self) -> QuerySet[Offer]:
        """Return the offers that the caller can see without filters. Other variants of A/B tests are excluded."""
        return active_offers().filter(self.rules["inactive_variant"])

    def excluded(self) -> list[dict[str, Any]]:
        """Return the latest HIDDEN_MAX excluded offers. Each entry contains the first unmet rule."""
        excluded = active_offers().annotate(rule=_first_unmet(self.rules)).exclude(rule="")
        return [{"offer_id": pk, "rule": rule} for pk, rule in excluded.values_list("pk", "rule")[:HIDDEN_MAX]]


def active_offers() -> QuerySet[Offer]:
    return Offer.objects.filter(is_active=True).order_by("-id")


def _serves(state: str) -> Q:
    """Return the condition for offers that are available in a US state. The columns contain state codes in quotes."""
    quoted = f'"{state}"'
    everywhere = Q(nationwide=True) | Q(included_states=None) | Q(included_states=[])
    served = everywhere | Q(included_states__contains=quoted)
    is_us = Q(jurisdiction=None) | ~Q(jurisdiction=EU)
    return is_us & served & (Q(excluded_states=None) | ~Q(excluded_states__contains=quoted))


def _is_in(currency: str) -> Q:
    """Return the condition for offers in a currency. Offers without a stored currency are in dollars."""
    stored = Q(currency=currency)
    return stored | Q(currency=None) if currency == DEFAULT_CURRENCY[US] else stored


def _lends(amount_cents: int) -> Q:
    low = Q(loan_amount_min_cents=None) | Q(loan_amount_min_cents__lte=amount_cents)
    return low & (Q(loan_amount_max_cents=None) | Q(loan_amount_max_cents__gte=amount_cents))


def _first_unmet(rules: Mapping[str, Q]) -> Any:
    """Return an SQL expression for the name of an offer's first unmet rule, or "" if the offer meets all rules."""
    unmet: Any = Value("", output_field=CharField())
    for name, rule in reversed(list(rules.items())):
        unmet = Case(When(rule, then=unmet), default=Value(name))
    return unmet


def catalogue_page(filters: CatalogueFilter, *, limit: int, offset: int, explain: bool) -> dict[str, Any]:
    """Return a page of the catalog, newest offer first. With `explain`, add the excluded offers and the unmet rules."""
    matching = filters.matching()
    total, page = matching.count(), list(matching[offset : offset + limit])
    hidden = filters.excluded() if explain else None
    return {"items": page, "total": total, "has_more": offset + len(page) < total, "hidden": hidden}

"""Finding offers: by words, categories and amounts, page by page, and by id."""

import heapq
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from django.db.models import Q, QuerySet

from config.core.errors import ValidationFailed
from config.core.ids import parse_positive_int64
from credit.catalogue import CatalogueFilter
from credit.commerce.products import CURRENCY, describe, selected_options, term_label, terms_of
from credit.commerce.refusals import RequestTooLarge
from credit.models import Offer
from credit.states import US_STATES

PAGE_MAX = 50
IDS_MAX = 100
_WORD_MIN_LENGTH = 3
_WORD = re.compile(r"\w+")
_POSITION = re.compile(r"([0-9]{1,6})\.([1-9][0-9]{0,18})", re.ASCII)


class Position(NamedTuple):
    """Where an offer stands in what was found: how many of the words it has, then its id; the highest comes first."""

    rank: int
    offer_id: int

    @classmethod
    def read(cls, cursor: str) -> Self:
        """Return the place after which a page begins; raises ValidationFailed for a cursor that is none of ours."""
        try:
            found = _POSITION.fullmatch(urlsafe_b64decode(cursor.encode()).decode())
        except ValueError:
            found = None
        if found is None:
            raise ValidationFailed.of_member("pagination.cursor", "Must be a cursor of an earlier answer.")
        return cls(int(found[1]), int(found[2]))

    def cursor(self) -> str:
        return urlsafe_b64encode(f"{self.rank}.{self.offer_id}".encode()).decode()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a caller asks for; empty members ask for nothing."""

    visitor: CatalogueFilter
    words: frozenset[str] = frozenset()
    no_word_fits: bool = False
    categories: tuple[str, ...] = ()
    low_cents: int | None = None
    high_cents: int | None = None
    ignored_currency: str = ""

    @classmethod
    def of(cls, body: dict[str, Any], *, user_id: str) -> Self:
        """Read a validated request.

        A price of another currency is left aside, as the protocol lets us: nothing here converts.
        """
        context, filters, query = body.get("context", {}), body.get("filters", {}), body.get("query", "")
        price, currency = filters.get("price", {}), context.get("currency", "") or CURRENCY
        is_foreign = bool(price) and currency.upper() != CURRENCY
        words = _words(query)
        return cls(
            visitor=CatalogueFilter(user_id=user_id, state=_state(context)),
            words=words,
            no_word_fits=bool(query.strip()) and not words,
            categories=tuple(filters.get("categories", ())),
            low_cents=None if is_foreign else price.get("min"),
            high_cents=None if is_foreign else price.get("max"),
            ignored_currency=currency if is_foreign else "",
        )

    def offers(self) -> QuerySet[Offer]:
        """Select active offers, newest first, by what SQL checks: category, and some amount between the two."""
        condition = Q(product_type__in=self.categories) if self.categories else Q()
        if self.low_cents is not None:
            condition &= Q(loan_amount_max_cents=None) | Q(loan_amount_max_cents__gte=self.low_cents)
        if self.high_cents is not None:
            condition &= Q(loan_amount_min_cents=None) | Q(loan_amount_min_cents__lte=self.high_cents)
        return Offer.objects.filter(condition, is_active=True).order_by("-id")

    def rank(self, offer: Offer) -> int | None:
        """Return how many of the words an offer has; None leaves it out, because it has none or is not shown."""
        if self.no_word_fits or self.visitor.rule_against(offer) is not None:
            return None
        if not self.words:
            return 0
        text = f"{offer.name} {offer.description} {offer.product_type.replace('_', ' ')} {offer.provider_id}"
        return len(self.words & _words(text)) or None


def _words(text: str) -> frozenset[str]:
    """Return the words of a text; short ones count only where it has no others."""
    words = _WORD.findall(text.casefold())
    return frozenset(word for word in words if len(word) >= _WORD_MIN_LENGTH) or frozenset(words)


def _state(context: dict[str, Any]) -> str | None:
    """Return the US state that a context names, in one of its spellings (`CA`, `US-CA`)."""
    country, region = (context.get("address_country") or "US").upper(), context.get("address_region", "").upper()
    state = region.removeprefix("US-")
    return state if country in {"US", "USA"} and state in US_STATES else None


def search(asked: Asked, *, limit: int, cursor: str | None) -> tuple[list[dict[str, Any]], int, str | None]:
    """Find offers: those that have most of the words first, then the newest; one statement, whatever is found.

    Return a page of products, how many there are, and the cursor of the next page, None on the last one. Raises
    ValidationFailed for a bad cursor.
    """
    after, total = Position.read(cursor) if cursor is not None else None, 0

    def found() -> Iterator[tuple[Position, Offer]]:
        nonlocal total
        for offer in asked.offers().iterator(chunk_size=500):
            rank = asked.rank(offer)
            if rank is not None:
                total += 1
                position = Position(rank, offer.pk)
                if after is None or position < after:
                    yield position, offer

    best = heapq.nlargest(limit + 1, found(), key=lambda hit: hit[0])
    page = best[:limit]
    products = [describe(offer, terms_of(offer)) for _, offer in page]
    return products, total, (page[-1][0].cursor() if len(best) > limit else None)


def _spelled(text: str) -> tuple[int, str | None]:
    """Return the offer that an id spells (`12`), 0 for none, and the term where it is a variant's (`12-36`)."""
    number, dash, term = text.partition("-")
    return 0 if dash and not term else parse_positive_int64(number) or 0, term or None


def _found(asked: Asked, ids: Iterable[str]) -> dict[str, tuple[Offer, str | None]]:
    """Return what ids spell, of offers that the caller may see and has not filtered out; one statement."""
    spelled = {text: _spelled(text) for text in ids}
    rows = asked.offers().filter(pk__in={pk for pk, _ in spelled.values() if pk})
    shown = {offer.pk: offer for offer in rows if asked.visitor.rule_against(offer) is None}
    return {
        text: (shown[pk], term)
        for text, (pk, term) in spelled.items()
        if pk in shown and term in {None, *terms_of(shown[pk])}
    }


def lookup(asked: Asked, ids: list[str]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Find products and variants by id, each product once, its first term standing for the product itself.

    Return the products, and the ids that led nowhere with their places in the request. Raises RequestTooLarge for more
    ids than IDS_MAX.
    """
    if len(ids) > IDS_MAX:
        raise RequestTooLarge.of_member("ids", f"At most {IDS_MAX} ids.")
    found = _found(asked, ids)
    inputs: dict[Offer, dict[str, list[dict[str, str]]]] = {}
    for text, (offer, term) in found.items():
        match = "featured" if term is None else "exact"
        inputs.setdefault(offer, {}).setdefault(term or terms_of(offer)[0], []).append({"id": text, "match": match})
    missing = {text: ids.index(text) for text in ids if text not in found}
    return [describe(offer, by_term, by_term) for offer, by_term in inputs.items()], missing


def get_product(asked: Asked, text: str, selected: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return one product with the terms that were selected; None when there is none with this id.

    A variant's id decides for itself. A selection that no term fits is dropped, which leaves every term.
    """
    found = _found(asked, [text])
    if not found:
        return None
    offer, term = found[text]
    terms = terms_of(offer)
    chosen = terms[:1] if term is None else [term]
    if term is None and selected:
        chosen = [one for one in terms if _fits(one, selected)]
    product = describe(offer, chosen or terms)
    for option in product.get("options", ()):
        option["values"] = [{**value, "available": True, "exists": True} for value in option["values"]]
    return {**product, "selected": selected_options(chosen[0]) if chosen else []}


def _fits(term: str, selected: list[dict[str, Any]]) -> bool:
    """Say whether a term is what was selected: by its id where one is given, else by its label."""
    own = selected_options(term)
    return len(own) == len(selected) and all(
        wish["name"] == own[0]["name"]
        and (wish["id"] == term if wish.get("id") is not None else wish["label"] == term_label(term))
        for wish in selected
    )

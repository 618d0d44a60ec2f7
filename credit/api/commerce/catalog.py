"""Search offers by words, categories, and amounts, with pages. Look up offers by id."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Self

from django.db.models import Case, Q, QuerySet, Value, When

from config.core.credentials import Credential
from config.core.errors import ValidationFailed
from config.core.ids import parse_positive_int64
from config.core.search_words import as_column, words_of
from credit.api.commerce.products import CURRENCY, describe, is_possible, selected_options, term_label, terms_of
from credit.api.commerce.refusals import RequestTooLarge
from credit.models import Offer
from credit.offers.catalogue import CatalogueFilter

PAGE_MAX = 50
IDS_MAX = 100
WORDS_MAX = 20
_WORD_LETTERS_MIN = 3  # shorter words have an effect only in a query without longer words
_PART_LETTERS_MIN = 4  # words of at least this length also match parts of words
_POSITION = re.compile(r"([0-9]{1,6})\.([1-9][0-9]{0,18})", re.ASCII)


class Position(NamedTuple):
    """The sort key of a search result, in descending order: rank, then offer id.

    The rank is 2 for each search word that matches a word, plus 1 for each search word that matches only a part of a
    word.
    """

    rank: int
    offer_id: int

    @classmethod
    def read(cls, cursor: str) -> Self:
        """Return the position at which a page starts. Raises ValidationFailed for an invalid cursor."""
        try:
            match = _POSITION.fullmatch(urlsafe_b64decode(cursor.encode()).decode())
        except ValueError:
            match = None
        if match is None:
            raise ValidationFailed.of_member("pagination.cursor", "Must be the cursor of an earlier response.")
        return cls(int(match[1]), int(match[2]))

    def cursor(self) -> str:
        return urlsafe_b64encode(f"{self.rank}.{self.offer_id}".encode()).decode()


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """The filters of a search. An empty filter matches all offers."""

    visitor: CatalogueFilter
    words: tuple[str, ...] = ()
    no_word_fits: bool = False
    categories: tuple[str, ...] = ()
    low_cents: int | None = None
    high_cents: int | None = None
    ignored_currency: str = ""

    @classmethod
    def of(cls, body: dict[str, Any], *, credential: Credential) -> Self:
        """Read a validated request.

        A price filter in another currency is ignored, as the protocol allows, because the API converts no currencies.
        """
        context, filters, query = body.get("context", {}), body.get("filters", {}), body.get("query", "")
        price, currency = filters.get("price", {}), context.get("currency", "") or CURRENCY
        is_foreign = bool(price) and currency.upper() != CURRENCY
        words = words_of(query)
        words = [word for word in words if len(word) >= _WORD_LETTERS_MIN] or words
        return cls(
            visitor=CatalogueFilter.of(credential, state=context.get("state")),
            words=tuple(words[:WORDS_MAX]),
            no_word_fits=bool(query.strip()) and not words,
            categories=tuple(filters.get("categories", ())),
            low_cents=None if is_foreign else price.get("min"),
            high_cents=None if is_foreign else price.get("max"),
            ignored_currency=currency if is_foreign else "",
        )

    def offers(self) -> QuerySet[Offer]:
        """Select the offers that the caller may see and that match the filters. Ignore the search words.

        An offer matches if its category is in the filter, and if the lender lends an amount in the price range.
        """
        condition = Q(product_type__in=self.categories) if self.categories else Q()
        if self.low_cents is not None or self.high_cents is not None:
            condition &= Q(currency=None) | Q(currency=CURRENCY)
        if self.low_cents is not None:
            condition &= Q(loan_amount_max_cents=None) | Q(loan_amount_max_cents__gte=self.low_cents)
        if self.high_cents is not None:
            condition &= Q(loan_amount_min_cents=None) | Q(loan_amount_min_cents__lte=self.high_cents)
        return self.visitor.matching().filter(condition)

    def matches(self) -> QuerySet[Any]:
        """Select the offers that match any search word. Add the `rank` of each offer."""
        if self.no_word_fits:
            return Offer.objects.none().annotate(rank=Value(0))
        if not self.words:
            return self.offers().annotate(rank=Value(0))
        rank = reduce(add, map(_rank_of, self.words))
        ranked: QuerySet[Any] = self.offers().annotate(rank=rank)
        return ranked.filter(rank__gt=0)


def _rank_of(word: str) -> Case:
    whole = When(search_words__contains=as_column([word]), then=Value(2))
    # Scripts without spaces between words, such as Chinese, have short words.
    matches_parts = len(word) >= _PART_LETTERS_MIN or not word.isascii()
    within = [When(search_words__contains=word, then=Value(1))] if matches_parts else []
    return Case(whole, *within, default=Value(0))


def search(filters: SearchFilters, *, limit: int, cursor: str | None) -> tuple[list[dict[str, Any]], int, str | None]:
    """Search offers, sorted by the number of matching words, then newest first. Costs two queries.

    Returns a page of products, the total number, and the cursor of the next page (None on the last page). Raises
    ValidationFailed for an invalid cursor.
    """
    offers = filters.matches()
    following = offers.order_by("-rank", "-id") if filters.words else offers
    if cursor is not None:
        after = Position.read(cursor)
        following = following.filter(Q(rank__lt=after.rank) | Q(rank=after.rank, id__lt=after.offer_id))
    total, best = offers.count(), list(following[: limit + 1])
    page = best[:limit]
    products = [describe(offer, terms_of(offer)) for offer in page]
    return products, total, (Position(page[-1].rank, page[-1].pk).cursor() if len(best) > limit else None)


def _parse_id(text: str) -> tuple[int, str | None]:
    """Parse an offer id (`12`), or a variant id with the term (`12-36`). For an invalid id, the offer id is 0."""
    number, dash, term = text.partition("-")
    return 0 if dash and not term else parse_positive_int64(number) or 0, term or None


def _select(filters: SearchFilters, ids: Iterable[str]) -> dict[str, tuple[Offer, str | None]]:
    """Return the offer and the term of each id. Offers that the caller can't see or that don't match are omitted."""
    parsed = {text: _parse_id(text) for text in ids}
    rows = filters.offers().filter(pk__in={pk for pk, _ in parsed.values() if pk})
    offers = {offer.pk: offer for offer in rows}
    return {
        text: (offers[pk], term)
        for text, (pk, term) in parsed.items()
        if pk in offers and term in {None, *terms_of(offers[pk])}
    }


def lookup(filters: SearchFilters, ids: list[str]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Look up products and variants by id. The id of a product selects the variant with the offer's first term.

    Returns each product once. Also returns the ids without a result, with their positions in the request. Raises
    RequestTooLarge for more than IDS_MAX ids.
    """
    if len(ids) > IDS_MAX:
        raise RequestTooLarge.of_member("ids", f"At most {IDS_MAX} ids.")
    offers = _select(filters, ids)
    inputs: dict[Offer, dict[str, list[dict[str, str]]]] = {}
    for text, (offer, term) in offers.items():
        match = "featured" if term is None else "exact"
        inputs.setdefault(offer, {}).setdefault(term or terms_of(offer)[0], []).append({"id": text, "match": match})
    missing = {text: ids.index(text) for text in ids if text not in offers}
    return [describe(offer, by_term, by_term) for offer, by_term in inputs.items()], missing


def get_product(filters: SearchFilters, text: str, selected: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return one product with the selected terms, or None for an unknown id.

    The id of a variant takes precedence over `selected`. If no term matches the selection, all terms are returned.
    """
    offers = _select(filters, [text])
    if not offers:
        return None
    offer, term = offers[text]
    terms = terms_of(offer)
    chosen = terms[:1] if term is None else [term]
    if term is None and selected:
        chosen = [name for name in terms if _fits(name, selected)]
    product = describe(offer, chosen or terms)
    for option in product.get("options", ()):
        option["values"] = [{**value, "available": is_possible(offer), "exists": True} for value in option["values"]]
    return {**product, "selected": selected_options(chosen[0]) if chosen else []}


def _fits(term: str, selected: list[dict[str, Any]]) -> bool:
    """Return whether the selection matches a term by the id, or by the label if the selection has no id."""
    own = selected_options(term)
    return len(own) == len(selected) and all(
        wish["name"] == own[0]["name"]
        and (wish["id"] == term if wish.get("id") is not None else wish["label"] == term_label(term))
        for wish in selected
    )

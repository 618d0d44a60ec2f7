"""The protocol's requests and answers, and the discovery document.

What the protocol leaves to be ignored (members of `context` that say nothing about credit, unknown ones) is ignored.
"""

import re
from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    FreeField,
    IdField,
    Int64Field,
    NumberField,
    OneOfField,
    QuerySerializer,
    RequestSerializer,
    ResponseSerializer,
    StrictListField,
    TextField,
)
from credit.commerce.products import AMOUNT_MAX

QUERY_MAX_LENGTH = 1_000
LIST_MAX = 50
# A part never has a dot, so the end of each is found without going back.
REVERSE_DOMAIN = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+", re.ASCII)
_OPTIONAL: dict[str, Any] = {"required": False, "max_length": 255}


class AmountField(Int64Field):
    """Cents that every JSON reader keeps exactly."""

    lowest, highest = 0, AMOUNT_MAX


def _check_reverse_domain(name: str) -> None:
    if not REVERSE_DOMAIN.fullmatch(name):
        raise serializers.ValidationError("Must be a name such as com.example.gold.")


def _check_signals(signals: dict[str, Any]) -> None:
    for name in signals:
        _check_reverse_domain(name)


class VersionQuery(QuerySerializer):
    """Which version of the protocol is spoken."""

    version = IdField(required=False, help_text="Another version than the one served is refused with 422.")


class PriceFilterBody(RequestSerializer):
    """Amounts financed, in cents: an offer fits that lends some amount between the two."""

    min = AmountField(required=False)
    max = AmountField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("min", 0) > attrs.get("max", AMOUNT_MAX):
            raise serializers.ValidationError({"min": ["Must not be greater than max."]})
        return attrs


class SearchFiltersBody(RequestSerializer):
    """What narrows the products; all of it must fit."""

    categories: Any = StrictListField(
        child=TextField(max_length=255), max_length=LIST_MAX, required=False, help_text="Any of these fits."
    )
    price = PriceFilterBody(required=False)


class PreferredPaymentBody(RequestSerializer):
    """A way to pay that the buyer prefers; none is offered here."""

    handler = TextField(max_length=255, validators=[_check_reverse_domain])
    types: Any = StrictListField(child=TextField(max_length=255), max_length=LIST_MAX, required=False)


class BuyerContextBody(RequestSerializer):
    """What is known of the buyer. Offers that do not lend in the buyer's state are left out."""

    address_country = TextField(**_OPTIONAL)
    address_region = TextField(**_OPTIONAL, help_text="A US state: CA or US-CA.")
    postal_code = TextField(**_OPTIONAL)
    currency = TextField(**_OPTIONAL, help_text="A price filter in another currency than USD is left aside.")
    language = TextField(**_OPTIONAL)
    location = TextField(**_OPTIONAL)
    intent = TextField(required=False)
    eligibility: Any = StrictListField(
        child=TextField(max_length=255, validators=[_check_reverse_domain]), max_length=LIST_MAX, required=False
    )
    payment: Any = PreferredPaymentBody(many=True, required=False)

    def validate_eligibility(self, claims: list[str]) -> list[str]:
        if len(set(claims)) < len(claims):
            raise serializers.ValidationError("Each claim at most once.")
        return claims


class SelectedOptionBody(RequestSerializer):
    """An option that the buyer has chosen."""

    name = TextField(max_length=255)
    id = TextField(**_OPTIONAL)
    label: Any = TextField(max_length=255)


class PaginationBody(RequestSerializer):
    """Which page."""

    cursor = TextField(**_OPTIONAL)
    limit = Int64Field(min_value=1, default=10, help_text="A page has at most 50 products, however many are asked for.")


class _CatalogBody(RequestSerializer):
    """What every operation of the catalogue takes."""

    context: Any = BuyerContextBody(required=False)
    signals: Any = serializers.DictField(child=FreeField(), required=False, validators=[_check_signals])
    attribution: Any = serializers.DictField(child=TextField(), required=False)
    filters = SearchFiltersBody(required=False)


class CatalogSearchBody(_CatalogBody):
    """A search; without words and filters it finds every offer."""

    query = TextField(required=False, max_length=QUERY_MAX_LENGTH)
    pagination = PaginationBody(required=False)


class CatalogLookupBody(_CatalogBody):
    """Ids of products (`12`) and variants (`12-36`)."""

    ids: Any = StrictListField(child=TextField(max_length=255), min_length=1, help_text="At most 100.")


class CatalogProductBody(_CatalogBody):
    """One product, and what was chosen of its options."""

    id = TextField(max_length=255)
    selected: Any = SelectedOptionBody(many=True, required=False)
    preferences: Any = StrictListField(child=TextField(max_length=255), max_length=LIST_MAX, required=False)

    def validate_selected(self, selected: list[dict[str, Any]]) -> list[dict[str, Any]]:
        names = [option["name"] for option in selected]
        if len(names) > LIST_MAX or len(set(names)) < len(names):
            raise serializers.ValidationError(f"Each option at most once, and at most {LIST_MAX}.")
        return selected


class UcpAnswer(ResponseSerializer):
    """The protocol's own member of an answer."""

    version = TextField()
    status = OneOfField(("success", "error"))
    capabilities = FreeField(required=False, help_text="The capability that answered, and its version.")


class PriceAnswer(ResponseSerializer):
    """An amount financed: what is borrowed, not what it costs."""

    amount = AmountField(help_text="Cents.")
    currency = TextField()


class PriceRangeAnswer(ResponseSerializer):
    """The smallest and the largest amount financed."""

    min = PriceAnswer()
    max = PriceAnswer()


class DescriptionAnswer(ResponseSerializer):
    """A text."""

    plain = TextField()


class CategoryAnswer(ResponseSerializer):
    """What kind of credit it is."""

    value = TextField(help_text="The offer's `product_type`.")
    taxonomy = TextField()


class SelectedOptionAnswer(ResponseSerializer):
    """The choice that a variant is."""

    name = TextField()
    id = TextField()
    label: Any = TextField()


class OptionValueAnswer(ResponseSerializer):
    """A term that can be chosen."""

    id = TextField()
    label: Any = TextField()
    available = FlagField(required=False)
    exists = FlagField(required=False)


class ProductOptionAnswer(ResponseSerializer):
    """What there is to choose: the term."""

    name = TextField()
    values = OptionValueAnswer(many=True)


class AvailabilityAnswer(ResponseSerializer):
    """Whether it can be applied for."""

    available = FlagField()


class InputAnswer(ResponseSerializer):
    """Which id of the request led here, and how."""

    id = TextField()
    match = OneOfField(("exact", "featured"))


class LoanFiguresAnswer(ResponseSerializer):
    """What a price does not say of a loan; null where the provider names nothing."""

    price_means = OneOfField(("amount_financed",))
    amount_min_cents = Int64Field(allow_null=True)
    amount_max_cents = Int64Field(allow_null=True)
    apr_min_percent = NumberField(allow_null=True)
    apr_max_percent = NumberField(allow_null=True)


class VariantMetadataAnswer(LoanFiguresAnswer):
    """What a term of an offer means."""

    term_months = Int64Field(allow_null=True)


class ProductMetadataAnswer(LoanFiguresAnswer):
    """What an offer means."""

    term_options_months: Any = StrictListField(child=Int64Field(), allow_null=True)
    product_type = TextField()
    provider_id = TextField()
    offer_version = Int64Field()


class VariantAnswer(ResponseSerializer):
    """A term of an offer."""

    id = TextField()
    title = TextField()
    description = DescriptionAnswer()
    price = PriceAnswer(help_text="The smallest amount financed.")
    availability = AvailabilityAnswer()
    options = SelectedOptionAnswer(many=True)
    metadata = VariantMetadataAnswer()
    inputs = InputAnswer(many=True, required=False, help_text="Only of a lookup.")


class ProductAnswer(ResponseSerializer):
    """An offer."""

    id = TextField(help_text="The id of the offer at /v1/provider-offers.")
    title = TextField()
    description = DescriptionAnswer()
    categories = CategoryAnswer(many=True)
    price_range = PriceRangeAnswer()
    options = ProductOptionAnswer(many=True, required=False)
    variants = VariantAnswer(many=True)
    metadata = ProductMetadataAnswer()
    selected = SelectedOptionAnswer(many=True, required=False, help_text="Only of a single product.")


class MessageAnswer(ResponseSerializer):
    """What else there is to say."""

    type = OneOfField(("error", "warning", "info"))
    code = TextField()
    content = TextField()
    severity = TextField(required=False)
    path = TextField(required=False, help_text="JSONPath of the member that it is about.")


class PaginationAnswer(ResponseSerializer):
    """Whether there is more."""

    has_next_page = FlagField()
    total_count = Int64Field()
    cursor = TextField(required=False)


class CatalogSearchAnswer(ResponseSerializer):
    """A page of products."""

    ucp = UcpAnswer()
    products = ProductAnswer(many=True)
    pagination = PaginationAnswer()
    messages = MessageAnswer(many=True, required=False)


class CatalogLookupAnswer(ResponseSerializer):
    """The products that were found; of the other ids there is a message."""

    ucp = UcpAnswer()
    products = ProductAnswer(many=True)
    messages = MessageAnswer(many=True, required=False)


class CatalogProductAnswer(ResponseSerializer):
    """One product, or `status` `error` with a message."""

    ucp = UcpAnswer()
    product = ProductAnswer(required=False)
    messages = MessageAnswer(many=True, required=False)


class ProtocolRefusalAnswer(ResponseSerializer):
    """A version of the protocol that is not served."""

    code = OneOfField(("version_unsupported",))
    content = TextField()
    error = TextField()
    message = TextField()
    request_id = TextField(allow_null=True)
    ucp = UcpAnswer()
    messages = MessageAnswer(many=True)


class LinksAnswer(ResponseSerializer):
    """Where the rest is."""

    openapi = TextField()
    jwks = TextField()
    oauth_metadata = TextField()
    catalog = TextField()
    ledger = TextField()


class BusinessProfileAnswer(ResponseSerializer):
    """The profile of the Universal Commerce Protocol."""

    version = TextField()
    services = FreeField()
    capabilities = FreeField()
    payment_handlers = FreeField()


class PublicKeyAnswer(ResponseSerializer):
    """A public key, as a JSON Web Key."""

    kty = TextField()
    crv = TextField()
    x = TextField()
    y = TextField()
    kid = TextField()
    use = TextField()
    alg = TextField()


class DiscoveryAnswer(ResponseSerializer):
    """The provider metadata that a marketplace reads, and a UCP business profile."""

    base_url = TextField()
    capabilities: Any = StrictListField(child=TextField(), help_text="What is switched on here.")
    name = TextField()
    provider_id = TextField()
    supported_versions: Any = StrictListField(child=TextField())
    version = TextField()
    links = LinksAnswer()
    ucp = BusinessProfileAnswer()
    keys = PublicKeyAnswer(many=True)

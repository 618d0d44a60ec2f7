"""The protocol's requests and answers, and the discovery document.

Members that the protocol ignores (members of `context` unrelated to credit, unknown ones) are ignored.
"""

import re
from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FlagField,
    FreeField,
    IdField,
    Int64Field,
    ListField,
    NumberField,
    OneOfField,
    QuerySerializer,
    RequestSerializer,
    ResponseSerializer,
    TextField,
)
from credit.api.commerce.products import AMOUNT_MAX
from credit.core.countries import US_STATES

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


def _texts(**options: Any) -> Any:
    return ListField(child=TextField(max_length=255), max_length=LIST_MAX, required=False, **options)


class VersionQuery(QuerySerializer):
    """Which version of the protocol is spoken."""

    version = IdField(required=False, help_text="Another version than the one served is refused with 422.")


class PriceFilterRequestSerializer(RequestSerializer):
    """Amounts financed, in cents: an offer fits that lends some amount between the two."""

    min = AmountField(required=False, help_text="The smallest amount, in cents.")
    max = AmountField(required=False, help_text="The largest amount, in cents.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("min", 0) > attrs.get("max", AMOUNT_MAX):
            raise serializers.ValidationError({"min": ["Must not be greater than max."]})
        return attrs


class SearchFiltersRequestSerializer(RequestSerializer):
    """Filters of products; an offer must match all of them."""

    categories = _texts(help_text="Any of these fits.")
    price = PriceFilterRequestSerializer(required=False, help_text="Between which amounts financed.")


class PreferredPaymentRequestSerializer(RequestSerializer):
    """A way to pay that the buyer prefers; none is offered here."""

    handler = TextField(
        max_length=255, validators=[_check_reverse_domain], help_text="The name of the payment handler."
    )
    types = _texts(help_text="The kinds of payment.")


class BuyerContextRequestSerializer(RequestSerializer):
    """Known attributes of the buyer. Offers that do not lend in the buyer's state are left out."""

    address_country = TextField(**_OPTIONAL, help_text="A country's two letters; the region counts only within the US.")
    address_region = TextField(
        **_OPTIONAL, help_text="For the US a state, in capitals: CA or US-CA. Otherwise not used."
    )
    postal_code = TextField(**_OPTIONAL, help_text="Not used.")
    currency = TextField(**_OPTIONAL, help_text="A price filter in another currency than USD is left aside.")
    language = TextField(**_OPTIONAL, help_text="Not used: the texts are English.")
    location = TextField(**_OPTIONAL, help_text="Not used.")
    intent = TextField(required=False, help_text="The buyer's intent, in words; not used.")
    eligibility = ListField(
        child=TextField(max_length=255, validators=[_check_reverse_domain]),
        max_length=LIST_MAX,
        required=False,
        help_text="Claims about the buyer; not used.",
    )
    payment = PreferredPaymentRequestSerializer(
        many=True, required=False, help_text="How the buyer prefers to pay; not used."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Add the US state that is named, as `state`; empty texts name nothing."""
        country, region = attrs.get("address_country") or "US", attrs.get("address_region")
        if not region or country.upper() not in {"US", "USA"}:
            return attrs
        state = region.removeprefix("US-")
        if state not in US_STATES:
            raise serializers.ValidationError({"address_region": ["Must be a US state in capitals: CA or US-CA."]})
        return {**attrs, "state": state}

    def validate_eligibility(self, claims: list[str]) -> list[str]:
        if len(set(claims)) < len(claims):
            raise serializers.ValidationError("Each claim at most once.")
        return claims


class SelectedOptionRequestSerializer(RequestSerializer):
    """An option that the buyer has chosen."""

    name = TextField(max_length=255, help_text="The option's name.")
    id = TextField(**_OPTIONAL, help_text="The value's id: the term in months.")
    label: Any = TextField(max_length=255, help_text="The value, as in `values`; used if there is no id.")


class PaginationRequestSerializer(RequestSerializer):
    """Which page."""

    cursor = TextField(**_OPTIONAL, help_text="From the answer before; without it, the first page.")
    limit = Int64Field(min_value=1, default=10, help_text="The requested number of products; a page has at most 50.")


class _CatalogRequestSerializer(RequestSerializer):
    """Parameters of every operation of the catalog."""

    context: Any = BuyerContextRequestSerializer(required=False)
    signals = serializers.DictField(child=FreeField(), required=False, validators=[_check_signals])
    attribution = serializers.DictField(child=TextField(), required=False)
    filters = SearchFiltersRequestSerializer(required=False)


class CatalogSearchRequestSerializer(_CatalogRequestSerializer):
    """A search; without words and filters it finds every offer."""

    query = TextField(
        required=False, max_length=1_000, help_text="Words; an offer with any of them is found, most words first."
    )
    pagination = PaginationRequestSerializer(required=False)


class CatalogLookupRequestSerializer(_CatalogRequestSerializer):
    """Ids of products (`12`) and variants (`12-36`)."""

    ids = ListField(child=TextField(max_length=255), min_length=1, help_text="At most 100.")


class CatalogProductRequestSerializer(_CatalogRequestSerializer):
    """One product, and what was chosen of its options."""

    id = TextField(max_length=255, help_text="The id of a product (`12`) or of one of its variants (`12-36`).")
    selected = SelectedOptionRequestSerializer(many=True, required=False, help_text="The options chosen so far.")
    preferences = _texts(help_text="Which options matter most; not used.")

    def validate_selected(self, selected: list[dict[str, Any]]) -> list[dict[str, Any]]:
        names = [option["name"] for option in selected]
        if len(names) > LIST_MAX or len(set(names)) < len(names):
            raise serializers.ValidationError(f"Each option at most once, and at most {LIST_MAX}.")
        return selected


class UcpSerializer(ResponseSerializer):
    """The protocol's own member of an answer."""

    version = TextField(help_text="The version of the protocol.")
    status = OneOfField(("success", "error"), help_text="`error` if the request failed; `messages` have the reason.")
    capabilities = FreeField(required=False, help_text="The capability that answered, and its version.")


class PriceSerializer(ResponseSerializer):
    """An amount financed: what is borrowed, not what it costs."""

    amount = AmountField(help_text="Cents.")
    currency = TextField(help_text="Three letters, as ISO 4217 has them.")


class PriceRangeSerializer(ResponseSerializer):
    """The smallest and the largest amount financed."""

    min = PriceSerializer(help_text="The smallest amount financed.")
    max = PriceSerializer(help_text="The largest amount financed.")


class DescriptionSerializer(ResponseSerializer):
    """A text."""

    plain = TextField(help_text="Plain text.")


class CategorySerializer(ResponseSerializer):
    """The kind of credit."""

    value = TextField(help_text="The offer's `product_type`.")
    taxonomy = TextField(help_text="The owner of the taxonomy: `merchant`.")


class SelectedOptionSerializer(ResponseSerializer):
    """The choice that a variant is."""

    name = TextField(help_text="The option's name.")
    id = TextField(help_text="The value's id: the term in months.")
    label: Any = TextField()


class OptionValueSerializer(ResponseSerializer):
    """A term that can be chosen."""

    id = TextField(help_text="The term in months, as text.")
    label: Any = TextField()
    available = FlagField(required=False, help_text="Whether it can be applied for with what was selected.")
    exists = FlagField(required=False, help_text="Whether there is a variant of it with what was selected.")


class ProductOptionSerializer(ResponseSerializer):
    """The options of a product: the term."""

    name = TextField(help_text="The option's name.")
    values = OptionValueSerializer(many=True, help_text="The possible values.")


class AvailabilitySerializer(ResponseSerializer):
    """Whether it can be applied for."""

    available = FlagField(help_text="Whether it can be applied for.")


class InputSerializer(ResponseSerializer):
    """Which id of the request led here, and how."""

    id = TextField(help_text="An id of the request.")
    match = OneOfField(
        ("exact", "featured"),
        help_text="`exact` for a variant's id; `featured` where a product's id led to this variant.",
    )


class LoanFiguresSerializer(ResponseSerializer):
    """Costs of a loan that a price does not contain; null where the provider sets nothing."""

    price_means = OneOfField(("amount_financed",))
    amount_min_cents = Int64Field(allow_null=True)
    amount_max_cents = Int64Field(allow_null=True)
    apr_min_percent = NumberField(allow_null=True)
    apr_max_percent = NumberField(allow_null=True)


class VariantMetadataSerializer(LoanFiguresSerializer):
    """Metadata of a variant."""

    term_months = Int64Field(
        allow_null=True, help_text="How long the loan runs, in months; null where the provider names nothing."
    )


class ProductMetadataSerializer(LoanFiguresSerializer):
    """Metadata of a product."""

    term_options_months = ListField(child=Int64Field(), allow_null=True)
    product_type = TextField()
    provider_id = TextField()
    offer_version = Int64Field(help_text="Counts from 1; every change of the offer makes the next.")


class VariantSerializer(ResponseSerializer):
    """A term of an offer."""

    id = TextField(help_text="The product's id and the term in months: `12-36`.")
    title = TextField()
    description = DescriptionSerializer(help_text="The description, for people to read.")
    price = PriceSerializer(help_text="The smallest amount financed.")
    availability = AvailabilitySerializer(help_text="Whether it can be applied for.")
    options = SelectedOptionSerializer(many=True, help_text="The choice that it is.")
    metadata = VariantMetadataSerializer(help_text="The loan's own figures.")
    inputs = InputSerializer(many=True, required=False, help_text="Only of a lookup.")


class ProductSerializer(ResponseSerializer):
    """An offer."""

    id = TextField(help_text="The id of the offer at /v1/provider-offers.")
    title = TextField()
    description = DescriptionSerializer(help_text="The description, for people to read.")
    categories = CategorySerializer(many=True, help_text="The kind of credit.")
    price_range = PriceRangeSerializer(help_text="Which amounts are financed.")
    options = ProductOptionSerializer(many=True, required=False)
    variants = VariantSerializer(many=True, help_text="The terms of the offer, each a variant.")
    metadata = ProductMetadataSerializer(help_text="The loan's own figures.")
    selected = SelectedOptionSerializer(many=True, required=False, help_text="Only of a single product.")


class MessageSerializer(ResponseSerializer):
    """Further information."""

    type = OneOfField(("error", "warning", "info"), help_text="How grave it is.")
    code = TextField(help_text="The code, for programs.")
    content = TextField(help_text="The message, for people.")
    severity = TextField(required=False, help_text="The remedy for an error, in the protocol's words.")
    path = TextField(required=False, help_text="JSONPath of the member that it is about.")


class PaginationSerializer(ResponseSerializer):
    """Whether there is more."""

    has_next_page = FlagField(help_text="Whether there is more.")
    total_count = Int64Field(help_text="How many were found in all.")
    cursor = TextField(required=False, help_text="Asks for the next page; absent behind the last.")


class CatalogSearchSerializer(ResponseSerializer):
    """A page of products."""

    ucp = UcpSerializer()
    products = ProductSerializer(many=True, help_text="The best fit first.")
    pagination = PaginationSerializer()
    messages = MessageSerializer(many=True, required=False)


class CatalogLookupSerializer(ResponseSerializer):
    """The products that were found; of the other ids there is a message."""

    ucp = UcpSerializer()
    products = ProductSerializer(many=True)
    messages = MessageSerializer(many=True, required=False)


class CatalogProductSerializer(ResponseSerializer):
    """One product, or `status` `error` with a message."""

    ucp = UcpSerializer()
    product = ProductSerializer(required=False, help_text="Absent where there is none of this id.")
    messages = MessageSerializer(many=True, required=False)


class AgentRefusalSerializer(ResponseSerializer):
    """Why a request that came with `UCP-Agent` was not served."""

    ucp = UcpSerializer()
    messages = MessageSerializer(many=True)


class ProtocolRefusalSerializer(ResponseSerializer):
    """A version of the protocol that is not served."""

    code = OneOfField(("version_unsupported",), help_text="The error in the protocol's form.")
    content = TextField(help_text="The message, for people.")
    error = TextField(required=False, help_text="The kind of error, as a slug; not where `UCP-Agent` was sent.")
    message = TextField(required=False)
    request_id = TextField(
        allow_null=True, required=False, help_text="The id of the request, to quote when you write to us."
    )
    doc_url = TextField(required=False, help_text="The page about the code.")
    ucp = UcpSerializer()
    messages = MessageSerializer(many=True)


class LinksSerializer(ResponseSerializer):
    """Where the rest is."""

    openapi = TextField(help_text="The OpenAPI document of this interface.")
    jwks = TextField(help_text="The public keys that sign what we send (RFC 7517).")
    oauth_metadata = TextField(help_text="Where apps find how to log in (RFC 8414).")
    catalog = TextField(help_text="The offers.")
    ledger = TextField(help_text="The ledger that decisions are anchored in.")


class BusinessProfileSerializer(ResponseSerializer):
    """The profile of the Universal Commerce Protocol."""

    version = TextField(help_text="The version of the protocol.")
    services = FreeField(help_text="Where each service of the protocol is, by its name.")
    capabilities = FreeField(help_text="The capabilities by name, with specification and schema.")
    payment_handlers = FreeField(help_text="None: nothing is paid through the protocol.")


class PublicKeySerializer(ResponseSerializer):
    """A public key, as a JSON Web Key."""

    kty = TextField(help_text="The kind of key: `EC`.")
    crv = TextField(help_text="The curve: `P-256`.")
    x = TextField(help_text="The point's x, in base64url.")
    y = TextField(help_text="The point's y, in base64url.")
    kid = TextField(help_text="Names the key in signatures.")
    use = TextField(help_text="`sig`: it signs.")
    alg = TextField(help_text="The algorithm: `ES256`.")


class DiscoverySerializer(ResponseSerializer):
    """The provider metadata that a marketplace reads, and a UCP business profile."""

    base_url = TextField(help_text="The base URL of the API.")
    capabilities = ListField(child=TextField(), help_text="The services that are switched on.")
    name = TextField(help_text="The provider's name.")
    provider_id = TextField(help_text="The provider's id.")
    supported_versions = ListField(child=TextField(), help_text="Served versions of the API.")
    version = TextField(help_text="The version of the API.")
    links = LinksSerializer(help_text="Where the rest is.")
    ucp = BusinessProfileSerializer(help_text="A business profile of the Universal Commerce Protocol.")
    keys = PublicKeySerializer(many=True, help_text="The public keys that sign what we send.")

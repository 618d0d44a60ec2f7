"""The protocol's requests and responses, and the discovery document.

As in the protocol, the serializers ignore unknown fields, and fields of `context` that are unrelated to credit.
"""

import re
from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    OPEN_OBJECT,
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
# A part never contains a dot, so matching needs no backtracking.
REVERSE_DOMAIN = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+", re.ASCII)
_LISTS_BY_NAME = {"type": "object", "additionalProperties": {"type": "array", "items": OPEN_OBJECT}}
_OPTIONAL: dict[str, Any] = {"required": False, "max_length": 255}


class AmountField(Int64Field):
    """Cents that every JSON parser represents exactly."""

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
    """The requested version of the protocol."""

    version = IdField(
        required=False, help_text="The version of the protocol. For an unsupported version, the API returns 422."
    )


class PriceFilterRequestSerializer(RequestSerializer):
    """A range of amounts financed, in US cents.

    An offer in USD matches if a loan amount of the offer is in the range.
    """

    min = AmountField(required=False, help_text="The smallest amount, in US cents.")
    max = AmountField(required=False, help_text="The largest amount, in US cents.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("min", 0) > attrs.get("max", AMOUNT_MAX):
            raise serializers.ValidationError({"min": ["Must not be greater than max."]})
        return attrs


class SearchFiltersRequestSerializer(RequestSerializer):
    """The filters of products. An offer must match all filters."""

    categories = _texts(help_text="The kinds of credit (`product_type`). An offer must have one of these kinds.")
    price = PriceFilterRequestSerializer(required=False, help_text="The range of amounts financed.")


class PreferredPaymentRequestSerializer(RequestSerializer):
    """A preferred payment method of the buyer, which the API ignores."""

    handler = TextField(
        max_length=255, validators=[_check_reverse_domain], help_text="The name of the payment handler."
    )
    types = _texts(help_text="The kinds of payment.")


class BuyerContextRequestSerializer(RequestSerializer):
    """Known attributes of the buyer. The response excludes offers that are not available in the buyer's state."""

    address_country = TextField(
        **_OPTIONAL, help_text="The two-letter country code. `address_region` has an effect only for `US`, the default."
    )
    address_region = TextField(
        **_OPTIONAL, help_text="The US state in capitals: CA or US-CA. Ignored for other countries."
    )
    postal_code = TextField(**_OPTIONAL, help_text="The buyer's postal code. Ignored.")
    currency = TextField(
        **_OPTIONAL,
        help_text="The currency of the price filter. Default: USD. The API ignores a price filter in another currency.",
    )
    language = TextField(**_OPTIONAL, help_text="The buyer's language. Ignored: the API's own texts are in English.")
    location = TextField(**_OPTIONAL, help_text="The buyer's location. Ignored.")
    intent = TextField(required=False, help_text="The buyer's intent. Ignored.")
    eligibility = ListField(
        child=TextField(max_length=255, validators=[_check_reverse_domain]),
        max_length=LIST_MAX,
        required=False,
        help_text="Claims about the buyer. Ignored.",
    )
    payment = PreferredPaymentRequestSerializer(
        many=True, required=False, help_text="The buyer's preferred payment methods. Ignored."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Add the US state of the request as `state`. Empty strings count as missing values."""
        country, region = attrs.get("address_country") or "US", attrs.get("address_region")
        if not region or country.upper() not in {"US", "USA"}:
            return attrs
        state = region.removeprefix("US-")
        if state not in US_STATES:
            raise serializers.ValidationError({"address_region": ["Must be a US state in capitals: CA or US-CA."]})
        return {**attrs, "state": state}

    def validate_eligibility(self, claims: list[str]) -> list[str]:
        if len(set(claims)) < len(claims):
            raise serializers.ValidationError("Must have each claim at most once.")
        return claims


class SelectedOptionRequestSerializer(RequestSerializer):
    """An option that the buyer has chosen."""

    name = TextField(max_length=255, help_text="The option's name.")
    id = TextField(**_OPTIONAL, help_text="The id of the value: the term in months.")
    label: Any = TextField(
        max_length=255, help_text="The label of the value, as in `values`. The API uses the label if there is no `id`."
    )


class PaginationRequestSerializer(RequestSerializer):
    """The position of the page."""

    cursor = TextField(
        **_OPTIONAL, help_text="The `cursor` of the previous page. Without it, the API returns the first page."
    )
    limit = Int64Field(min_value=1, default=10, help_text="The requested number of products. A page has at most 50.")


class _CatalogRequestSerializer(RequestSerializer):
    """Parameters of every operation of the catalog."""

    context: Any = BuyerContextRequestSerializer(required=False)
    signals = serializers.DictField(child=FreeField(), required=False, validators=[_check_signals])
    attribution = serializers.DictField(child=TextField(), required=False)
    filters = SearchFiltersRequestSerializer(required=False)


class CatalogSearchRequestSerializer(_CatalogRequestSerializer):
    """A search. If the request has no `query`, no filters, and no state, the response has all active offers that the
    caller can get."""

    query = TextField(
        required=False,
        max_length=1_000,
        help_text="The words to search for. An offer must match one of these words. The API ignores all words after "
        "the first 20. If the query contains a word of three or more letters, the API ignores words of one or two "
        "letters.",
    )
    pagination = PaginationRequestSerializer(required=False)


class CatalogLookupRequestSerializer(_CatalogRequestSerializer):
    """Ids of products (`12`) and variants (`12-36`)."""

    ids = ListField(
        child=TextField(max_length=255), min_length=1, help_text="The ids of products and variants, at most 100."
    )


class CatalogProductRequestSerializer(_CatalogRequestSerializer):
    """The id of a product, and its selected options."""

    id = TextField(max_length=255, help_text="The id of a product (`12`) or of one of its variants (`12-36`).")
    selected = SelectedOptionRequestSerializer(
        many=True, required=False, help_text="The selected options. Ignored if `id` is the id of a variant."
    )
    preferences = _texts(help_text="The most important options. Ignored.")

    def validate_selected(self, selected: list[dict[str, Any]]) -> list[dict[str, Any]]:
        names = [option["name"] for option in selected]
        if len(names) > LIST_MAX or len(set(names)) < len(names):
            raise serializers.ValidationError(f"Must have each option at most once, and at most {LIST_MAX} options.")
        return selected


class UcpSerializer(ResponseSerializer):
    """The metadata of the protocol in a response."""

    version = TextField(help_text="The version of the protocol.")
    status = OneOfField(
        ("success", "error"),
        help_text="The status of the request: `success`, or `error` if the request failed. For an error, `messages` "
        "has the reason.",
    )
    capabilities = FreeField(
        required=False, shape=_LISTS_BY_NAME, help_text="The capability of the response, and its version."
    )


class PriceSerializer(ResponseSerializer):
    """An amount financed: the loan, not its cost."""

    amount = AmountField(help_text="The amount, in the currency's minor unit.")
    currency = TextField(help_text="The ISO 4217 code of the currency.")


class PriceRangeSerializer(ResponseSerializer):
    """The smallest and the largest amount financed."""

    min = PriceSerializer(
        help_text="The smallest amount financed. If the offer has no minimum, this is one minor unit."
    )
    max = PriceSerializer(
        help_text="The largest amount financed. If the offer has no maximum, this is the platform's largest amount."
    )


class DescriptionSerializer(ResponseSerializer):
    """A description."""

    plain = TextField(help_text="The description as plain text.")


class CategorySerializer(ResponseSerializer):
    """The kind of credit."""

    value = TextField(help_text="The offer's `product_type`.")
    taxonomy = TextField(help_text="Always `merchant`: the lender defines the kinds of credit.")


class SelectedOptionSerializer(ResponseSerializer):
    """An option of a variant, with its value."""

    name = TextField(help_text="The option's name.")
    id = TextField(help_text="The id of the value: the term in months.")
    label: Any = TextField()


class OptionValueSerializer(ResponseSerializer):
    """A term that an applicant can choose."""

    id = TextField(help_text="The term in months, as a string.")
    label: Any = TextField()
    available = FlagField(
        required=False,
        help_text="Whether an application is possible with the selected options. Only the response for a single "
        "product has this field.",
    )
    exists = FlagField(
        required=False,
        help_text="Whether a variant exists with the selected options. Only the response for a single product has "
        "this field.",
    )


class ProductOptionSerializer(ResponseSerializer):
    """The options of a product: the term."""

    name = TextField(help_text="The option's name.")
    values = OptionValueSerializer(many=True, help_text="The possible values.")


class AvailabilitySerializer(ResponseSerializer):
    """Whether an application is possible."""

    available = FlagField(help_text="Whether an application is possible.")


class InputSerializer(ResponseSerializer):
    """The requested id that matched, and how it matched."""

    id = TextField(help_text="An id of the request.")
    match = OneOfField(
        ("exact", "featured"),
        help_text="The kind of the match: `exact` for the id of a variant, or `featured` for the id of its product.",
    )


class LoanFiguresSerializer(ResponseSerializer):
    """The figures of an offer, in addition to its price."""

    price_means = OneOfField(("amount_financed",))
    amount_min_cents = Int64Field(allow_null=True)
    amount_max_cents = Int64Field(allow_null=True)
    apr_min_percent = NumberField(
        allow_null=True,
        help_text="The lowest annual percentage rate: 7.5 is 7.5 %. Null if it is not set, and for an EU offer.",
    )
    apr_max_percent = NumberField(
        allow_null=True,
        help_text="The highest annual percentage rate: 24.99 is 24.99 %. Null if it is not set, and for an EU offer.",
    )


class VariantMetadataSerializer(LoanFiguresSerializer):
    """Metadata of a variant."""

    term_months = Int64Field(
        allow_null=True, help_text="The term of the loan, in months. Null for an offer without terms."
    )


class ProductMetadataSerializer(LoanFiguresSerializer):
    """Metadata of a product."""

    term_options_months = ListField(child=Int64Field(), allow_null=True)
    product_type = TextField()
    provider_id = TextField()
    offer_version = Int64Field(help_text="The version of the offer's terms, from 1.")


class VariantSerializer(ResponseSerializer):
    """A variant of a product: an offer with one of its numbers of months, or an offer without terms."""

    id = TextField(
        help_text="The id of the product and the term in months, such as `12-36`, or `12-any` for an offer without "
        "terms."
    )
    title = TextField()
    description = DescriptionSerializer(help_text="The human-readable description.")
    price = PriceSerializer(help_text="The smallest amount financed.")
    availability = AvailabilitySerializer(help_text="Whether an application is possible.")
    options = SelectedOptionSerializer(
        many=True, help_text="The term of the variant. Empty for an offer without terms."
    )
    metadata = VariantMetadataSerializer(help_text="The figures of the loan.")
    inputs = InputSerializer(
        many=True,
        required=False,
        help_text="The ids of the request that match the variant. Only responses to a lookup have this field.",
    )


class ProductSerializer(ResponseSerializer):
    """An offer."""

    id = TextField(help_text="The id of the offer at /v1/provider-offers.")
    title = TextField()
    description = DescriptionSerializer(help_text="The human-readable description.")
    categories = CategorySerializer(many=True, help_text="The kind of credit.")
    price_range = PriceRangeSerializer(help_text="The range of amounts financed.")
    options = ProductOptionSerializer(many=True, required=False)
    variants = VariantSerializer(
        many=True,
        help_text="The variants, one per term. A search returns all terms. A lookup returns the requested terms. For "
        "the id of a product, a lookup returns the first term. `POST /v1/ucp/catalog/product` describes the variants "
        "of a single product.",
    )
    metadata = ProductMetadataSerializer(help_text="The figures of the loan.")
    selected = SelectedOptionSerializer(
        many=True,
        required=False,
        help_text="The selected options. Only the response for a single product has this field.",
    )


class MessageSerializer(ResponseSerializer):
    """Further information."""

    type = OneOfField(("error", "warning", "info"), help_text="The type of the message: `error`, `warning`, or `info`.")
    code = TextField(help_text="The machine-readable code.")
    content = TextField(help_text="The human-readable message.")
    severity = TextField(required=False, help_text="The remedy for an error, as a code of the protocol.")
    path = TextField(required=False, help_text="The JSONPath of the field that the message is about.")


class PaginationSerializer(ResponseSerializer):
    """The number of matches, and the position of the next page."""

    has_next_page = FlagField(help_text="Whether another page follows.")
    total_count = Int64Field(help_text="The total number of matches on all pages.")
    cursor = TextField(required=False, help_text="The cursor of the next page. Absent on the last page.")


class CatalogSearchSerializer(ResponseSerializer):
    """A page of products."""

    ucp = UcpSerializer()
    products = ProductSerializer(many=True, help_text="The products, best match first, then newest first.")
    pagination = PaginationSerializer(help_text="The number of matches, and the position of the next page.")
    messages = MessageSerializer(
        many=True,
        required=False,
        help_text="A message about a price filter that was ignored because of its currency. Absent if there is none.",
    )


class CatalogLookupSerializer(ResponseSerializer):
    """The products, and a message for each id that matches no product."""

    ucp = UcpSerializer()
    products = ProductSerializer(many=True, help_text="The products that match the requested ids, without duplicates.")
    messages = MessageSerializer(many=True, required=False)


class CatalogProductSerializer(ResponseSerializer):
    """A product. If `ucp.status` is `error`, the response has a message instead of the product."""

    ucp = UcpSerializer()
    product = ProductSerializer(required=False, help_text="The product. Absent if `ucp.status` is `error`.")
    messages = MessageSerializer(many=True, required=False)


class AgentRefusalSerializer(ResponseSerializer):
    """The reason why a request with `UCP-Agent` failed."""

    ucp = UcpSerializer()
    messages = MessageSerializer(many=True, help_text="The errors, at least one.")


class ProtocolRefusalSerializer(ResponseSerializer):
    """The error for an unsupported version of the protocol."""

    code = OneOfField(
        ("version_unsupported",), help_text="The code of the error. `version_unsupported` is a code of the protocol."
    )
    content = TextField(help_text="The human-readable message.")
    error = TextField(required=False, help_text="The kind of error, as a slug. Absent if the request has `UCP-Agent`.")
    message = TextField(required=False, help_text="The human-readable message. Absent if the request has `UCP-Agent`.")
    request_id = TextField(
        allow_null=True, required=False, help_text="The id of the request. Quote it when you contact support."
    )
    doc_url = TextField(required=False, help_text="The page about the error code.")
    ucp = UcpSerializer()
    messages = MessageSerializer(many=True, help_text="The errors, at least one.")


class LinksSerializer(ResponseSerializer):
    """The URLs of other documents."""

    openapi = TextField(help_text="The URL of the API's OpenAPI document.")
    jwks = TextField(help_text="The URL of the public keys that verify access tokens (RFC 7517).")
    oauth_metadata = TextField(help_text="The URL of the authorization server's metadata (RFC 8414).")
    catalog = TextField(help_text="The URL of the catalog of offers.")
    ledger = TextField(help_text="The base URL of the ledger (service B).")


class BusinessProfileSerializer(ResponseSerializer):
    """The profile of the Universal Commerce Protocol."""

    version = TextField(help_text="The version of the protocol.")
    services = FreeField(
        shape=_LISTS_BY_NAME,
        help_text="The services of the protocol by name. Each service has its bindings, and each binding has its "
        "endpoint.",
    )
    capabilities = FreeField(shape=_LISTS_BY_NAME, help_text="The capabilities by name, with specification and schema.")
    payment_handlers = FreeField(shape=OPEN_OBJECT, help_text="The payment handlers. Always empty.")


class PublicKeySerializer(ResponseSerializer):
    """A public key, as a JSON Web Key."""

    kty = TextField(help_text="The key type: `EC`.")
    crv = TextField(help_text="The curve: `P-256`.")
    x = TextField(help_text="The x coordinate of the point, in base64url.")
    y = TextField(help_text="The y coordinate of the point, in base64url.")
    kid = TextField(help_text="The id of the key in signatures.")
    use = TextField(help_text="Always `sig`: the key verifies signatures.")
    alg = TextField(help_text="The algorithm: `ES256`.")


class DiscoverySerializer(ResponseSerializer):
    """The platform's metadata for marketplaces, and a UCP business profile."""

    base_url = TextField(help_text="The base URL of the API.")
    capabilities = ListField(child=TextField(), help_text="The names of the enabled services, in alphabetical order.")
    name = TextField(help_text="The platform's name.")
    provider_id = TextField(help_text="The platform's id.")
    supported_versions = ListField(
        child=TextField(), help_text="The supported versions of the discovery protocol, such as `ucp/1.0`."
    )
    version = TextField(help_text="The version of the API, such as `1.0.0`.")
    links = LinksSerializer(help_text="The URLs of other documents.")
    ucp = BusinessProfileSerializer(help_text="A business profile of the Universal Commerce Protocol.")
    keys = PublicKeySerializer(many=True, help_text="The public keys that verify access tokens.")

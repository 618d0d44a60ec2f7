from functools import partial
from hashlib import sha256
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.response import Response

from config.api.openapi import EndpointSchema
from config.api.views import ApiRequest, ApiViewSet, also_answers, endpoint
from config.core.credentials import PUBLIC
from config.core.json_text import render_json
from credit.api.commerce import catalog, refusals, serializers
from credit.api.commerce.agent import check_agent
from credit.api.commerce.discovery import LOOKUP, SEARCH, discovery_document, envelope
from credit.api.commerce.products import CURRENCY

DISCOVERY_MAX_AGE_SECONDS = 300
_ERROR = {"$ref": "#/components/schemas/Error"}


class CommerceSchema(EndpointSchema):
    def get_override_parameters(self) -> list[Any]:
        text = 'The caller\'s profile, such as `profile="https://…"`. The API never fetches the URL.'
        agent = OpenApiParameter("UCP-Agent", OpenApiTypes.STR, OpenApiParameter.HEADER, description=text)
        return [*super().get_override_parameters(), agent]

    def get_response_serializers(self) -> Any:
        """Add the format of errors for agents, and the error for an unsupported version."""
        to_agents = self.resolve_serializer(serializers.AgentRefusalSerializer(), "response").ref
        responses = super().get_response_serializers()
        text = "The error for an unsupported version of the protocol."
        responses[422, "application/json"] = OpenApiResponse(serializers.ProtocolRefusalSerializer, description=text)
        for (_, media_type), response in responses.items():
            if response.response == _ERROR and media_type == "application/json":
                response.response = {"anyOf": [_ERROR, to_agents]}
        return responses


_operation = partial(endpoint, access="offers:read", limit="read", query=serializers.VersionQuery)


class CommerceViewSet(ApiViewSet):
    """The REST binding of `dev.ucp.shopping.catalog`."""

    tag = "ucp"
    schema = CommerceSchema()

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        """Check the version before the body, whose format depends on the version."""
        super().initial(request, *args, **kwargs)
        if request.method.lower() in self.action_map:  # otherwise REST framework returns 405 next
            check_agent(request.META.get("HTTP_UCP_AGENT"), request.query_params.getlist("version"))

    def get_exception_handler(self) -> Any:
        return refusals.render_refusal

    @_operation(body=serializers.CatalogSearchRequestSerializer, answer=serializers.CatalogSearchSerializer)
    def search(self, request: ApiRequest, body: dict[str, Any], query: dict[str, Any]) -> Response:  # noqa: ARG002
        """Search offers as products.

        The products have the form of the Universal Commerce Protocol.

        A product is an offer, and a variant is one of its terms. The price is the amount financed: the loan, not its
        cost. The offers that match most words of `query` are first. A word of the query with four or more letters, or
        in a non-Latin script, also matches a part of a word. A match with a part of a word counts half. Among equal
        matches, the newest offer is first.
        """
        filters = catalog.SearchFilters.of(body, credential=request.auth)
        page = body.get("pagination", {})
        limit = min(page.get("limit", 10), catalog.PAGE_MAX)
        products, total, cursor = catalog.search(filters, limit=limit, cursor=page.get("cursor"))
        pagination: dict[str, Any] = {"has_next_page": cursor is not None, "total_count": total}
        if cursor is not None:
            pagination["cursor"] = cursor
        answer = {"ucp": envelope(SEARCH), "products": products, "pagination": pagination}
        return _with_messages(answer, _notes(filters))

    @_operation(body=serializers.CatalogLookupRequestSerializer, answer=serializers.CatalogLookupSerializer)
    def lookup(self, request: ApiRequest, body: dict[str, Any], query: dict[str, Any]) -> Response:  # noqa: ARG002
        """Get products and variants by id.

        For an id that is unknown, not available to you, or filtered out, the response has a message.
        """
        filters = catalog.SearchFilters.of(body, credential=request.auth)
        products, missing = catalog.lookup(filters, body["ids"])
        unknown = [
            refusals.message("info", "not_found", f'No product has the id "{text}".', path=f"$.ids[{place}]")
            for text, place in missing.items()
        ]
        return _with_messages({"ucp": envelope(LOOKUP), "products": products}, [*_notes(filters), *unknown])

    @_operation(body=serializers.CatalogProductRequestSerializer, answer=serializers.CatalogProductSerializer)
    def product(self, request: ApiRequest, body: dict[str, Any], query: dict[str, Any]) -> Response:  # noqa: ARG002
        """Get a product.

        For the id of a variant, the response has only this variant. For the id of a product, the response has the
        variants that match the selected options. If no variant matches, the response has all variants. Without a
        selection, the response has the variant of the first term.

        If the id is unknown, not available to you, or filtered out, the API returns 200 with `ucp.status` `error` and a
        message.
        """
        filters = catalog.SearchFilters.of(body, credential=request.auth)
        product = catalog.get_product(filters, body["id"], body.get("selected", []))
        if product is None:
            text = f'No product has the id "{body["id"]}".'
            missing = refusals.message("error", "not_found", text, path="$.id", severity="unrecoverable")
            return _with_messages({"ucp": envelope(LOOKUP, status="error")}, [*_notes(filters), missing])
        return _with_messages({"ucp": envelope(LOOKUP), "product": product}, _notes(filters))


def _notes(filters: catalog.SearchFilters) -> list[dict[str, str]]:
    """Return messages about ignored parts of the request."""
    if not filters.ignored_currency:
        return []
    text = f"The API ignored the price filter: amounts are in {CURRENCY}, and the API converts no currencies."
    return [refusals.message("info", "price_filter_ignored", text, path="$.filters.price")]


def _with_messages(answer: dict[str, Any], messages: list[dict[str, str]]) -> Response:
    return Response({**answer, "messages": messages} if messages else answer)


class DiscoveryViewSet(ApiViewSet):
    tag = "ucp"

    @also_answers(304, None, "Not modified.")
    @endpoint(access=PUBLIC, answer=serializers.DiscoverySerializer)
    def document(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Get the discovery document.

        The document has the base URL, the capabilities, and the supported protocol versions.

        The document is also a business profile of the Universal Commerce Protocol. `capabilities` lists the services
        that this installation enables.
        """
        content = render_json(discovery_document(timezone.now()))
        etag = f'"{sha256(content).hexdigest()[:32]}"'
        headers = {"Cache-Control": f"public, max-age={DISCOVERY_MAX_AGE_SECONDS}", "ETag": etag}
        return HttpResponse(content, content_type="application/json", headers=headers)

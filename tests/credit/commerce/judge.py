"""Validators of Universal Commerce Protocol documents: the protocol's own models and JSON Schemas.

The models of `ucp-sdk` are always used, the schemas only if they are in `../shared/ucp`.
"""

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator
from pydantic import ValidationError
from referencing import Registry, Resource
from ucp_sdk.models.schemas import profile
from ucp_sdk.models.schemas.common.types.error_response import ErrorResponse
from ucp_sdk.models.schemas.shopping import catalog_lookup, catalog_search

SCHEMAS = Path(__file__).resolve().parents[3].parent / "shared" / "ucp"
ABSENT = "needs ../shared/ucp, the protocol's JSON Schemas"
PROFILE = ("profile.json#/$defs/business_schema", profile.BusinessSchema)
SEARCH = ("shopping/catalog_search.json#/$defs/search_response", catalog_search.SearchResponse)
LOOKUP = ("shopping/catalog_lookup.json#/$defs/lookup_response", catalog_lookup.LookupResponse)
PRODUCT = ("shopping/catalog_lookup.json#/$defs/get_product_response", catalog_lookup.GetProductResponse)
REQUESTS = {
    "search": "shopping/catalog_search.json#/$defs/search_request",
    "lookup": "shopping/catalog_lookup.json#/$defs/lookup_request",
    "product": "shopping/catalog_lookup.json#/$defs/get_product_request",
}


def has_schemas():
    """Return whether the JSON Schemas are available."""
    return SCHEMAS.is_dir()


@cache
def _registry():
    documents = [json.loads(file.read_text()) for file in sorted(SCHEMAS.glob("*.json"))]
    return Registry().with_resources([(document["$id"], Resource.from_contents(document)) for document in documents])


@cache
def _validator(pointer):
    return Draft202012Validator(
        {"$ref": f"https://ucp.dev/schemas/{pointer}"},
        registry=_registry(),
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


def by_schema(pointer, document):
    """Return the errors that the schemas report."""
    return [f"{error.json_path}: {error.message}" for error in _validator(pointer).iter_errors(document)]


def by_models(model, document):
    """Return the errors that the protocol's models report."""
    try:
        model.model_validate(document)
    except ValidationError as refusal:
        return [f"{error['loc']}: {error['msg']}" for error in refusal.errors()]
    return []


def complaints(kind, document):
    """Return the errors of every available validator."""
    pointer, model = kind
    return by_models(model, document) + (by_schema(pointer, document) if has_schemas() else [])


def of_failure(document):
    """Return the errors that the models report in a response that has only messages."""
    return by_models(ErrorResponse, document)

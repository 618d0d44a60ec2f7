"""The judges of what is said in the Universal Commerce Protocol: its own models, and its own JSON Schemas.

`ucp-sdk` judges always, the schemas where they lie beside the clone.
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
    """Say whether the second judge is here."""
    return SCHEMAS.is_dir()


@cache
def _registry():
    documents = [json.loads(file.read_text()) for file in sorted(SCHEMAS.glob("*.json"))]
    return Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in documents])


@cache
def _validator(pointer):
    return Draft202012Validator(
        {"$ref": f"https://ucp.dev/schemas/{pointer}"},
        registry=_registry(),
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


def by_schema(pointer, document):
    """What the schemas find wrong."""
    return [f"{error.json_path}: {error.message}" for error in _validator(pointer).iter_errors(document)]


def by_models(model, document):
    """What the protocol's models find wrong."""
    try:
        model.model_validate(document)
    except ValidationError as refusal:
        return [f"{error['loc']}: {error['msg']}" for error in refusal.errors()]
    return []


def complaints(kind, document):
    """What every judge that is here finds wrong."""
    pointer, model = kind
    return by_models(model, document) + (by_schema(pointer, document) if has_schemas() else [])


def of_failure(document):
    """What the models find wrong with an outcome that carries nothing but messages."""
    return by_models(ErrorResponse, document)

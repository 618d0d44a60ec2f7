"""Test the document of the page that can call operations: OpenAPI 3.0 with the operations of the reference."""

import gzip
import json
import re

import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator

from config.api.docs import document_bytes
from config.docs.viewer import viewer_document

pytestmark = pytest.mark.django_db
PATH = "/v1/docs/try.json"


def converted(**schema):
    document = {"tags": [], "info": {"license": {"name": "MIT", "identifier": "MIT"}}, "paths": {}}
    return viewer_document({**document, "components": {"schemas": {"X": schema}}})["components"]["schemas"]["X"]


def identifiers_of(document):
    return {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}


def test_openapi_3_0_document_is_valid_and_contains_every_operation_and_title(client):
    document = client.get(PATH).json()
    assert document["openapi"].startswith("3.0."), "the viewer needs several seconds per operation for OpenAPI 3.1"
    OpenAPIV30SpecValidator(document).validate()
    assert identifiers_of(document) == identifiers_of(json.loads(document_bytes("config.urls")))
    titles = {tag["name"]: tag["x-displayName"] for tag in client.get(PATH).json()["tags"]}
    assert (titles["kyc"], titles["applications"]) == ("Identity verifications", "Applications")
    document = client.get(PATH).json()
    assert "webhooks" not in document
    for methods in document["paths"].values():
        for operation in methods.values():
            assert "x-codeSamples" not in operation
            assert [
                status for status, item in operation["responses"].items() if status[0] > "3" and len(item) > 1
            ] == []


def test_openapi_3_0_document_is_compressed_and_revalidated_by_etag(client):
    answer = client.get(PATH, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.content))["openapi"] == "3.0.3"
    assert client.get(PATH, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304


def test_try_page_loads_the_openapi_3_0_document(client):
    page = client.get("/v1/docs/try").content.decode()
    assert f'data-document="{PATH}"' in page
    assert re.search(rf'<link rel="preload" href="{PATH}" as="fetch" crossorigin>', page)


CONVERTED = [
    ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
    ({"type": ["string", "boolean"]}, {}),
    ({"type": "array"}, {"type": "array", "items": {}}),
    ({"const": 1}, {"enum": [1]}),
    ({"type": "string", "examples": ["a", "b"]}, {"type": "string", "example": "a"}),
    ({"$ref": "#/x", "description": "d"}, {"allOf": [{"$ref": "#/x"}], "description": "d"}),
    ({"oneOf": [{"$ref": "#/x"}, {"type": "null"}]}, {"oneOf": [{"$ref": "#/x"}], "nullable": True}),
    ({"type": "array", "items": {"const": "a"}}, {"type": "array", "items": {"enum": ["a"]}}),
    ({"properties": {"a": True, "b": False}}, {"properties": {"a": {}, "b": {"not": {}}}}),
    (
        {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
        {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
    ),
]  # fmt: skip


def test_json_schemas_are_converted_to_the_openapi_3_0_dialect():
    for schema, expected in CONVERTED:
        assert converted(**schema) == expected, (schema, expected)

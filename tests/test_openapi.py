"""The OpenAPI document matches the code, and a review shows each change of it.

`tests/openapi.json` is the golden document. It leaves out what these tests derive: code samples, examples, and the
error responses of each operation. `make contract` rewrites it.
"""

import hmac
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from standardwebhooks import Webhook

from config.api.docs import document_bytes
from config.api.openapi import MEMBERS, PARAMETERS, declared_errors
from config.api.views import ApiViewSet
from config.core.errors import ApiError
from config.webhooks.catalogue import event_types
from tests.described import examples_that_do_not_fit, undescribed, untyped, without_examples

COMMITTED = Path(__file__).parent / "openapi.json"
COMPONENTS = "#/components/schemas/"
# The API accepts or returns any JSON value here.
ANY_JSON = {
    *(
        f"components/{name}/application_data"
        for name in (
            "Application", "ApplicationChangeRequest", "ApplicationRequest", "InboxApplication", "ReviewedApplication",
        )
    ),
    "components/ApplicationStatusRequest/metadata/anyOf/1/items",
    *(f"components/{name}WalletRequest/user_id" for name in ("Circle", "Reference")),  # 401 for each other value
    "components/Prefill/application_data/additionalProperties",
    *(f"components/Catalog{name}Request/signals/additionalProperties" for name in ("Lookup", "Product", "Search")),
}  # fmt: skip
PLATFORM, LEDGER = "config.urls", "ledger.urls"


@pytest.fixture(scope="module")
def document():
    return json.loads(document_bytes(PLATFORM))


def test_ledger_openapi_document_has_no_oauth_scheme_if_generated_after_the_platform_document(document):
    assert "oauth2" in document["components"]["securitySchemes"]
    assert "oauth2" not in json.loads(document_bytes(LEDGER))["components"]["securitySchemes"]


def api_operations(urlconf):
    """Yield (path template, method, view method) for every operation of the API in a URLconf."""

    def walk(patterns, prefix):
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, route)
            elif isinstance(pattern, URLPattern):
                view = getattr(pattern.callback, "cls", None)
                if view is not None and issubclass(view, ApiViewSet):
                    template = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
                    for method, action in pattern.callback.actions.items():
                        if method != "head":
                            yield template, method, getattr(view, action)

    return list(walk(get_resolver(urlconf).url_patterns, ""))


def is_error_response(response):
    """Check whether a response lists error codes of `declared_errors`."""
    is_problem = "application/problem+json" in response.get("content", {})
    return is_problem and re.match(r"E\d{4} ", response["description"]) is not None


def golden(part, *, names_are_fields=False):
    """Return a part of the document without code samples, examples and error responses."""
    if isinstance(part, list):
        return [golden(item) for item in part]
    if not isinstance(part, dict):
        return part
    derived = set() if names_are_fields else {"example", "examples", "x-codeSamples"}
    derived |= {name for name, value in part.items() if isinstance(value, dict) and is_error_response(value)}
    return {
        name: golden(value, names_are_fields=name == "properties")
        for name, value in part.items()
        if name not in derived
    }


def test_golden_openapi_document_equals_the_generated_document(document):
    generated = golden(document)
    if {"UPDATE_CONTRACT", "UPDATE_OPENAPI"} & os.environ.keys():
        COMMITTED.write_text(json.dumps(generated, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    assert json.loads(COMMITTED.read_text()) == generated, "The API has changed. If you intend this, run: make contract"


def test_golden_openapi_document_has_at_most_195_lines_per_operation():
    golden_document = COMMITTED.read_text()
    operations = [name for methods in json.loads(golden_document)["paths"].values() for name in methods]
    assert len(golden_document.splitlines()) <= 195 * len(operations)


def test_every_route_is_in_the_openapi_document(document):
    described = {(path, method) for path, operations in document["paths"].items() for method in operations}
    assert described == {(path, method) for path, method, _ in api_operations(PLATFORM)}


def test_every_operation_documents_exactly_its_declared_statuses_and_errors(document):
    for path, method, handler in api_operations(PLATFORM):
        declared, responses = handler.endpoint, document["paths"][path][method]["responses"]
        required = {declared.status, 400, 403, 406, 429, 500, 503} | {error.status for error in declared.errors}
        if declared.access != "public":
            required.add(401)
        if declared.body is not None:
            required |= {413, 415}
        if declared.idempotent:
            required |= {409, 422}
        expected = {}
        for error in declared_errors(declared):
            expected.setdefault(error.status, []).append(f"{error.code} {error.error}")
        assert required <= {declared.status, *expected}, (path, method)
        others = {int(status) for status, response in responses.items() if not is_error_response(response)}
        assert {declared.status} <= others, (path, method)
        assert {int(status) for status in responses} == {*expected, *others}, (path, method)
        for status in expected.keys() - others:
            response = responses[str(status)]
            assert response["description"].split(" · ") == expected[status], (path, method)
            schemas = {media_type: content["schema"] for media_type, content in response["content"].items()}
            assert schemas.pop("application/problem+json") == {"$ref": "#/components/schemas/Problem"}
            # Errors of the catalog have a second schema: the error format of UCP.
            assert {"$ref": "#/components/schemas/Error"} in schemas["application/json"].get("anyOf", schemas.values())
        assert all(response["description"] for response in responses.values()), (path, method)


def test_every_operation_has_a_summary_a_unique_id_and_code_samples(document):
    identifiers = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"].endswith("."), (path, method)
            identifiers.append(operation["operationId"])
    assert len(identifiers) == len(set(identifiers))
    for path, operations in document["paths"].items():
        prefix = path.partition("{")[0]
        for method, operation in operations.items():
            assert [sample["label"] for sample in operation["x-codeSamples"]] == ["curl", "Python", "TypeScript"]
            assert all(prefix in sample["source"] for sample in operation["x-codeSamples"]), (path, method)


def test_every_implemented_operation_documents_the_statuses_of_the_specification(document):
    # The success and other statuses of the specification's table, for the implemented apps.
    table = {
        ("/.well-known/ucp", "get"): {"200"}, ("/v1/health", "get"): {"200", "503"},
        ("/v1/applications", "get"): {"200", "401"}, ("/v1/applications", "post"): {"201", "400", "401"},
        ("/v1/applications/{application_id}", "get"): {"200", "401", "404"},
        ("/v1/applications/{application_id}", "put"): {"200", "401", "404"},
        ("/v1/applications/{application_id}/history", "get"): {"200", "401", "404"},
        ("/v1/applications/{application_id}/status", "put"): {"200", "400", "401", "404"},
        ("/v1/provider-offers", "get"): {"200", "401"}, ("/v1/provider-offers", "post"): {"201", "400", "401"},
        ("/v1/provider-offers/{offer_id}", "get"): {"200", "401", "404"},
        ("/v1/provider-offers/{offer_id}", "put"): {"200", "401", "404"},
        ("/v1/provider-offers/{offer_id}", "delete"): {"200", "401", "404"},
        ("/v1/ucp/catalog/items", "get"): {"200", "401"},
    }  # fmt: skip
    for (path, method), statuses in table.items():
        assert statuses <= set(document["paths"][path][method]["responses"]), (path, method)


@pytest.mark.django_db
def test_the_openapi_document_is_public_and_served_unchanged(anonymous, document):
    response = anonymous.read("/openapi.json")
    assert response.status_code == 200
    assert response.json() == document
    assert response.headers["Cache-Control"] == "public, max-age=300"


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "viewer"), [("/docs", "apply to an offer"), ("/docs/try", "swagger")])
def test_the_reference_pages_load_nothing_from_other_hosts(anonymous, path, viewer):
    response = anonymous.read(path)
    page = response.content.decode()
    assert response.status_code == 200
    assert viewer in page.lower()
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page)
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_every_event_type_is_a_webhook_of_the_openapi_document(document):
    assert set(document["webhooks"]) == set(event_types())
    submitted = document["webhooks"]["application.submitted"]["post"]
    headers = {parameter["name"] for parameter in submitted["parameters"]}
    assert headers == {"X-Service-Signature", "webhook-id", "webhook-timestamp", "webhook-signature"}


def test_every_webhook_has_a_valid_example_with_valid_signatures(document):
    resolved = {**document, "$schema": "https://json-schema.org/draft/2020-12/schema"}
    for name, item in document["webhooks"].items():
        operation = item["post"]
        content = operation["requestBody"]["content"]["application/json"]
        example = content["example"]
        schema = {**content["schema"], "components": resolved["components"]}
        checked = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        assert list(checked.iter_errors(example)) == [], name
        assert example["type"] == name
        assert None not in example["data"]["object"].values()
        secret = re.search(r"`(whsec_[^`]+)`", operation["description"])[1]
        sent = {parameter["name"]: parameter["example"] for parameter in operation["parameters"]}
        body = json.dumps(example, separators=(",", ":")).encode()
        assert sent["X-Service-Signature"] == hmac.new(secret.encode(), body, "sha256").hexdigest()
        assert sent["webhook-id"] == example["id"]
        assert Webhook(secret).sign(sent["webhook-id"], moment_of(sent), body.decode()) == sent["webhook-signature"]


def moment_of(sent):
    return datetime.fromtimestamp(int(sent["webhook-timestamp"]), UTC)


def test_every_openapi_tag_field_and_parameter_has_a_description(document):
    used = {tag for path in document["paths"].values() for item in path.values() for tag in item["tags"]}
    assert {tag["name"] for tag in document["tags"]} == used
    assert [tag["name"] for tag in document["tags"] if not tag["description"].endswith(".")] == []
    assert undescribed(document) == []


def test_openapi_document_lists_error_codes_with_their_meanings(document):
    codes = document["components"]["schemas"]["ErrorCode"]
    for code in codes["enum"]:
        assert f"- `{code}` {ApiError.registry[code].error} " in codes["description"]
    named = set(re.findall(r"\bE[0-9]{4}\b", json.dumps(document["paths"])))
    assert named <= set(codes["enum"])


def test_each_operation_declares_only_scopes_of_the_oauth_flow(document):
    security = document["paths"]["/v1/applications"]["post"]["security"]
    assert {"oauth2": ["applications:write"]} in security
    flow = document["components"]["securitySchemes"]["oauth2"]["flows"]["authorizationCode"]
    scopes = {
        scope
        for path in document["paths"].values()
        for item in path.values()
        for option in item["security"]
        for scope in option.get("oauth2", ())
    }
    assert scopes <= set(flow["scopes"])
    assert not any("x-scope" in item for path in document["paths"].values() for item in path.values())


def test_only_openapi_schemas_that_accept_any_json_have_no_type(document):
    assert set(untyped(document)) == ANY_JSON
    assert untyped(json.loads(document_bytes(LEDGER))) == []


def test_every_shared_openapi_description_is_used(document):
    written = json.dumps([document, json.loads(document_bytes(LEDGER))], ensure_ascii=False)
    shared = [*MEMBERS.values(), *PARAMETERS.values()]
    assert [text for text in shared if json.dumps(text, ensure_ascii=False)[1:-1] not in written] == []


def test_every_request_and_success_response_has_a_valid_example_without_secrets(document):
    assert without_examples(document) == set()
    assert examples_that_do_not_fit(document) == []
    for service in ("config", "ledger"):
        assert not re.search(r"ck_(test|live)_|whsec_|eyJ", Path(service, "examples.json").read_text())


APPLICATIONS = {"Application", "ApplicationRequest", "InboxApplication", "ReviewedApplication"}
OFFERS = {"CatalogueItem", "MatchedOffer", "Model", "Offer", "OfferRequest", "Provider"}


def test_each_provider_id_field_describes_whether_the_value_is_an_integer_or_a_string(document):
    ids = {
        name: schema["properties"]["provider_id"]
        for name, schema in document["components"]["schemas"].items()
        if "provider_id" in schema.get("properties", {})
    }
    integers = {name for name, item in ids.items() if item["type"] == "integer"}
    assert integers == APPLICATIONS
    assert all("as an integer" in ids[name]["description"] for name in APPLICATIONS)
    assert all("as a string" in ids[name]["description"] for name in OFFERS)


def test_openapi_introduction_describes_every_kind_of_pagination(document):
    known = {"limit", "offset", "after"}
    ways = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            names = [item["name"] for item in operation.get("parameters", ()) if item["name"] in known]
            ways |= {tuple(sorted(names))} if names else set()
    assert ways == {("limit", "offset"), ("after", "limit"), ("offset",)}
    introduction = document["info"]["description"]
    assert all(f"`{name}`" in introduction for name in (*known, "pagination.cursor", "pagination.limit"))

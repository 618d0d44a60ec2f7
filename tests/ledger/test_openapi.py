"""Test the OpenAPI document of the ledger at GET /openapi.json."""

import pytest

from tests.described import examples_that_do_not_fit, undescribed, without_examples

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def test_ledger_openapi_document_contains_every_endpoint(client):
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) >= {
        "/health", "/stats", "/hash/{report_hash}", "/user/{user_id}/hashes", "/anchor", "/anchor/batch",
        "/checkpoint", "/key", "/proof/{report_hash}", "/proof/{report_hash}.tlog-proof", "/consistency",
        "/blocks", "/blocks/{number}", "/verify", "/tile/{path}",
    }  # fmt: skip


def test_ledger_openapi_document_lists_the_responses_of_anchoring(client):
    answers = client.get("/openapi.json").json()["paths"]["/anchor"]["post"]["responses"]
    assert set(answers) >= {"200", "400", "401", "403", "413", "415", "429", "503"}


def test_ledger_openapi_document_lists_the_errors_of_tokens_and_none_of_signatures(client):
    document = client.get("/openapi.json").json()
    answers = document["paths"]["/anchor"]["post"]["responses"]["401"]
    assert "E2004 user_mismatch" in answers["description"]
    assert not {"E2006", "E2007", "E2008", "E2009"} & set(document["components"]["schemas"]["ErrorCode"]["enum"])


def test_ledger_openapi_document_describes_the_credentials_of_the_ledger(client):
    schemes = client.get("/openapi.json").json()["components"]["securitySchemes"]
    assert schemes["apiKey"]["description"] == "A key in `LEDGER_API_KEYS`."
    assert "access token of the platform" in schemes["bearer"]["description"]


def test_every_field_and_parameter_of_the_ledger_has_a_description(client):
    assert undescribed(client.get("/openapi.json").json()) == []


def test_every_request_and_success_response_of_the_ledger_has_a_valid_example(client):
    document = client.get("/openapi.json").json()
    assert without_examples(document) == set()
    assert examples_that_do_not_fit(document) == []

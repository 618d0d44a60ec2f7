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


def test_every_field_and_parameter_of_the_ledger_has_a_description(client):
    assert undescribed(client.get("/openapi.json").json()) == []


def test_every_request_and_success_response_of_the_ledger_has_a_valid_example(client):
    document = client.get("/openapi.json").json()
    assert without_examples(document) == set()
    assert examples_that_do_not_fit(document) == []

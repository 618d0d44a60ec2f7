"""Test the OpenAPI document of the ledger at GET /openapi.json."""

import pytest

from tests.described import examples_that_do_not_fit, undescribed, without_examples

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


@pytest.fixture
def document(client):
    return client.get("/openapi.json").json()


def test_ledger_openapi_document_contains_every_endpoint(document):
    assert set(document["paths"]) >= {
        "/health", "/stats", "/hash/{report_hash}", "/user/{user_id}/hashes", "/anchor", "/anchor/batch",
        "/checkpoint", "/key", "/proof/{report_hash}", "/proof/{report_hash}.tlog-proof", "/consistency",
        "/blocks", "/blocks/{number}", "/verify", "/tile/{path}",
    }  # fmt: skip
    assert undescribed(document) == []
    assert without_examples(document) == set()
    assert examples_that_do_not_fit(document) == []


def test_ledger_openapi_document_lists_the_credentials_and_errors_of_anchoring(document):
    answers = document["paths"]["/anchor"]["post"]["responses"]
    assert set(answers) >= {"200", "400", "401", "403", "413", "415", "429", "503"}
    assert "E2004 user_mismatch" in answers["401"]["description"]
    assert not {"E2006", "E2007", "E2008", "E2009"} & set(document["components"]["schemas"]["ErrorCode"]["enum"])
    schemes = document["components"]["securitySchemes"]
    assert schemes["apiKey"]["description"] == "A key in `LEDGER_API_KEYS`."
    assert "access token of the platform" in schemes["bearer"]["description"]

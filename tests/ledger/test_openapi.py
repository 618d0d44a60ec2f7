"""GET /openapi.json: the interface of service B, described by what it does."""

import pytest

from tests.described import examples_that_do_not_fit, undescribed, without_examples

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def test_the_document_knows_every_endpoint(client):
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) >= {
        "/health", "/stats", "/hash/{report_hash}", "/user/{user_id}/hashes", "/anchor", "/anchor/batch",
        "/checkpoint", "/key", "/proof/{report_hash}", "/proof/{report_hash}.tlog-proof", "/consistency",
        "/blocks", "/blocks/{number}", "/verify", "/tile/{path}",
    }  # fmt: skip


def test_anchoring_lists_what_it_may_answer(client):
    answers = client.get("/openapi.json").json()["paths"]["/anchor"]["post"]["responses"]
    assert set(answers) >= {"200", "400", "401", "403", "413", "415", "429", "503"}


def test_every_field_and_parameter_has_a_description(client):
    assert undescribed(client.get("/openapi.json").json()) == []


def test_every_request_and_every_success_has_an_example_that_fits(client):
    document = client.get("/openapi.json").json()
    assert without_examples(document) == set()
    assert examples_that_do_not_fit(document) == []

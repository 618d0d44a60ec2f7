"""Test that errors have the format of RFC 9457 if the caller accepts it."""

from uuid import uuid4

import pytest

from config.core.errors import ApiError
from tests.factories import ApplicationFactory, OfferFactory

pytestmark = pytest.mark.django_db
BOTH = "application/json, application/problem+json"
MEMBERS = {"type", "title", "status", "detail", "code", "error", "request_id"}


def problem(response, status, code):
    """Assert that a response is a problem with this status and code; return its body."""
    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json")
    assert int(response.headers["Content-Length"]) == len(response.content)
    body = response.json()
    assert (body["status"], body["code"], body["error"]) == (status, code, ApiError.registry[code].error)
    assert body["type"].endswith(f"/docs/errors/{code}")
    assert body["title"] == ApiError.registry[code].message
    return body


def test_problem_json_has_every_field_of_the_default_error_format_and_the_details(api, anonymous):
    body = problem(api.read("/applications/none", Accept=BOTH), 404, "E4002")
    assert set(body) == MEMBERS
    assert body["detail"] == api.read("/applications/none").json()["message"]
    body = problem(api.send("/applications", {}, Accept=BOTH), 400, "E1001")
    assert {detail["field"] for detail in body["details"]} >= {"offer_id", "provider_id"}
    problem(anonymous.read("/nowhere", Accept=BOTH), 404, "E4001")
    problem(anonymous.read("/auth/me", Accept=BOTH), 401, "E2001")


def test_replayed_error_uses_the_format_of_the_accept_header(api, user):
    application = ApplicationFactory(consumer=user, status="draft")
    path, body = f"/applications/{application.pk}/status", {"status": "approved", "updated_by": "me"}
    key = uuid4()
    first = api.replace(path, body, key=key)
    assert (first.status_code, first.headers["Content-Type"]) == (400, "application/json")
    again = problem(api.replace(path, body, key=key, Accept=BOTH), 400, "E3001")
    assert again["detail"] == first.json()["message"]
    assert api.replace(path, body, key=key).content == first.content


def test_accept_header_selects_problem_json_only_for_errors(api):
    for accept in (
        "application/json, application/problem+json;q=0", "application/json, application/problem+json; q=0.000",
        "application/json, application/problem+jsonx", "*/*", "*/*, application/problem+jsonx",
        "application/json, application/problem+json;q=0.9",
    ):  # fmt: skip
        answer = api.read("/applications/none", Accept=accept)
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json"), accept
    for accept in ("application/json;q=0.1, Application/Problem+JSON; q=0.1", "*/*, application/problem+json;q=1"):
        problem(api.read("/applications/none", Accept=accept), 404, "E4002")
    problem(api.read("/applications", Accept="application/problem+json"), 406, "E1014")
    answer = api.read(f"/provider-offers/{OfferFactory().pk}", Accept=BOTH)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")

"""`GET /claims/{id}`."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api import assert_error, client_of
from tests.claims.conftest import MISSING, ODD_IDS, odd
from tests.factories import ClaimFactory, UserFactory


@pytest.fixture
def claim(user):
    return ClaimFactory(user=user, evidence=["https://example.org/a"], notes="")


def test_the_owner_reads_it_in_one_statement(api, user, claim, no_rate_limits, django_assert_num_queries):
    api.read(f"/claims/{claim.pk}")
    with django_assert_num_queries(1):
        response = api.read(f"/claims/{claim.pk}")
    assert response.status_code == 200
    body = response.json()
    assert (body["id"], body["user_id"]) == (str(claim.pk), str(user.pk))
    assert (body["evidence"], body["notes"]) == (["https://example.org/a"], "")
    assert body["created_at"].endswith("Z")


@pytest.mark.parametrize(
    ("visibility", "stranger_sees", "reviewer_sees"),
    [("private", False, False), ("conditional", False, True), ("shared", True, True)],
)
def test_others_see_what_its_visibility_says(
    claim, stranger_api, reviewer_api, visibility, stranger_sees, reviewer_sees
):
    type(claim).objects.filter(pk=claim.pk).update(visibility=visibility)
    for client, sees in ((stranger_api, stranger_sees), (reviewer_api, reviewer_sees)):
        response = client.read(f"/claims/{claim.pk}")
        if sees:
            assert response.json()["id"] == str(claim.pk)
        else:
            assert_error(response, 404, "E4003")


@pytest.mark.parametrize("visibility", ["private", "conditional"])
def test_a_claim_of_somebody_elses_is_as_much_work_as_none(claim, no_rate_limits, visibility):
    type(claim).objects.filter(pk=claim.pk).update(visibility=visibility)

    def statements(method, path, *body):
        """The statements of a request by somebody who was never seen before."""
        client = client_of(UserFactory())
        with CaptureQueriesContext(connection) as captured:
            assert_error(client.call(method, path, *body), 404, "E4003")
        return [query["sql"].partition(' "')[0] for query in captured]  # savepoints have a name each

    move = {"status": "pending", "updated_by": "x"}
    statements("GET", f"/claims/{MISSING}")  # whatever is read once in a process is read
    for method, place, *body in (("GET", ""), ("PUT", "/status", move)):
        foreign = statements(method, f"/claims/{claim.pk}{place}", *body)
        assert foreign == statements(method, f"/claims/{MISSING}{place}", *body)


def test_it_needs_a_credential(anonymous, claim):
    assert_error(anonymous.read(f"/claims/{claim.pk}"), 401, "E2001")


def test_an_unknown_claim_is_not_found(api):
    assert_error(api.read(f"/claims/{MISSING}"), 404, "E4003")


@pytest.mark.parametrize("spelling", ODD_IDS)
def test_another_spelling_of_an_id_is_not_found(api, claim, spelling):
    response = api.read(f"/claims/{odd(spelling, claim)}")
    assert_error(response, 404, "E4001" if "%2f" in spelling else "E4003")


def test_other_methods_are_not_allowed(api, claim):
    response = api.send(f"/claims/{claim.pk}", {})
    assert_error(response, 405, "E4050")
    assert {"GET", "PUT", "DELETE"} <= set(response.headers["Allow"].split(", "))
    assert_error(api.read(f"/claims/{claim.pk}/status"), 405, "E4050")

"""GET /user/{user_id}/hashes (specification section 4.3)."""

import pytest

from tests.ledger.conftest import assert_error, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def test_a_users_hashes_are_listed_oldest_first_with_the_full_count(client):
    seal_reports([f"report {number}" for number in range(5)])
    seal_reports(["of somebody else"], user="43")
    body = client.get("/user/42/hashes?limit=2&offset=1").json()
    assert (body["user_id"], body["total"], len(body["hashes"])) == ("42", 5, 2)
    assert set(body["hashes"][0]) == {"hash", "report_type", "block_number", "timestamp"}
    everything = client.get("/user/42/hashes").json()["hashes"]
    assert body["hashes"] == everything[1:3]


def test_an_unknown_user_has_an_empty_list(client):
    assert client.get("/user/nobody/hashes").json() == {"user_id": "nobody", "hashes": [], "total": 0}


def test_a_hundred_are_shown_unless_asked_for_up_to_a_thousand(client):
    seal_reports([f"report {number}" for number in range(1001)])
    assert len(client.get("/user/42/hashes").json()["hashes"]) == 100
    assert len(client.get("/user/42/hashes?limit=1000").json()["hashes"]) == 1000


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=-1", "limit=x", "offset=-1", "limit=1&limit=2", "limit="]
)
def test_a_page_out_of_range_is_refused(client, query):
    assert_error(client.get(f"/user/42/hashes?{query}"), 400, "E1006")


@pytest.mark.parametrize("user_id", ["%00", "a%00b", "x" * 256])
def test_what_is_no_user_id_is_refused(client, user_id):
    assert_error(client.get(f"/user/{user_id}/hashes"), 400, "E1001")


@pytest.mark.parametrize(
    "path", ["/user/../hashes", "/user/%2e%2e/hashes", "/user/%2e%2e%2f/hashes", "/user//hashes", "/user/42"]
)
def test_ways_around_lead_nowhere(client, path):
    assert_error(client.get(path), 404, "E4001")

"""Test that GET /v1/applications lists the caller's applications, newest first."""

import pytest

from tests.api import assert_error
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db
PATH = "/applications"


def ids(response):
    """Return the ids of a list."""
    assert response.status_code == 200, response.content
    return [member["id"] for member in response.json()]


def make(count, **members):
    """Create applications; return their ids, newest first."""
    return [str(ApplicationFactory(**members).id) for _ in range(count)][::-1]


def test_application_list_contains_twenty_own_applications_newest_first(api, user, stranger):
    own = make(23, consumer=user)
    make(2, consumer=stranger)
    assert ids(api.read(PATH)) == own[:20]
    assert ids(api.read(f"{PATH}?limit=2")) == own[:2]
    assert ids(api.read(f"{PATH}?limit=100")) == own
    assert ids(api.read(f"{PATH}?limit=2&offset=21")) == own[21:]
    assert ids(api.read(f"{PATH}?offset=23")) == []
    assert ids(api.read(f"{PATH}?offset={2**63 - 1}&limit=100")) == []


def test_application_filters_can_be_combined(api, user):
    make(1, consumer=user, status="approved")
    wanted = make(2, consumer=user, status="submitted", offer_id=5, provider_id=6)
    make(1, consumer=user, status="submitted", offer_id=5, provider_id=7)
    assert ids(api.read(f"{PATH}?status=submitted&offer_id=5&provider_id=6")) == wanted
    assert len(ids(api.read(f"{PATH}?status=submitted"))) == 3
    assert len(ids(api.read(f"{PATH}?offer_id=5"))) == 3
    assert len(ids(api.read(f"{PATH}?provider_id=7"))) == 1
    assert ids(api.read(f"{PATH}?provider_id=-9223372036854775808")) == []
    assert len(ids(api.read(f"{PATH}?consumer_id={user.pk}&limit=2&offset=1"))) == 2


def test_application_list_rejects_unknown_query_parameters(api):
    refusal = assert_error(api.read(f"{PATH}?page=2&consumer=9&limit=1"), 400, "E1001")
    assert [detail["field"] for detail in refusal["details"]] == ["page", "consumer"]


def test_listing_another_users_applications_returns_401(api, user):
    for other in ("0", "999999", "abc", "%ff", f"0{user.pk}", f" {user.pk}", f"{user.pk}.0"):
        assert_error(api.read(f"{PATH}?consumer_id={other}"), 401, "E2004")

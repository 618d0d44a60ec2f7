"""`GET /claims/{id}`."""

import pytest

from tests.api import assert_error
from tests.factories import ClaimFactory


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

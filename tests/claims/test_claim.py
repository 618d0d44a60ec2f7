"""`GET /claims/{id}`."""

import pytest

from tests.api import assert_error
from tests.claims.conftest import stored
from tests.factories import ClaimFactory


@pytest.mark.parametrize(
    ("visibility", "stranger_sees", "reviewer_sees"),
    [("private", False, False), ("conditional", False, True), ("shared", True, True)],
)
def test_others_see_what_its_visibility_says_and_change_nothing(
    user, stranger_api, reviewer_api, visibility, stranger_sees, reviewer_sees
):
    claim = ClaimFactory(user=user, visibility=visibility)
    path, move = f"/claims/{claim.pk}", {"status": "pending", "updated_by": "x"}
    for client, sees in ((stranger_api, stranger_sees), (reviewer_api, reviewer_sees)):
        response = client.read(path)
        assert response.json()["id"] == str(claim.pk) if sees else assert_error(response, 404, "E4003")
        assert_error(client.replace(path, {"notes": "mine"}), 404, "E4003")
        assert_error(client.remove(path), 404, "E4003")
    assert_error(stranger_api.replace(f"{path}/status", move), 404, "E4003")
    assert stored(claim).updated_at == claim.updated_at

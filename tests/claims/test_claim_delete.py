"""`DELETE /claims/{id}`."""

import pytest

from claims.models import Claim
from tests.api import assert_error
from tests.claims.conftest import events_of, stored
from tests.factories import ClaimFactory


@pytest.fixture
def claim(user):
    return ClaimFactory(user=user, visibility="shared", notes="kept")


def test_the_answer_is_empty_and_the_row_is_kept_for_audit(api, user, claim):
    response = api.remove(f"/claims/{claim.pk}")
    assert (response.status_code, response.content) == (200, b"")
    tombstone = stored(claim)
    assert tombstone.deleted_by == user
    assert tombstone.deleted_with.startswith("jwt:")
    assert (tombstone.deleted_at is not None, tombstone.notes, tombstone.status) == (True, "kept", "draft")
    assert not Claim.objects.exists()
    kinds, event = events_of(user)
    assert (kinds, event["claim_id"]) == (["claim.deleted"], str(claim.pk))


def test_a_deleted_claim_is_404_for_all(api, stranger_api, reviewer_api, claim):
    api.remove(f"/claims/{claim.pk}")
    path, status = f"/claims/{claim.pk}", {"status": "pending", "updated_by": "me"}
    for client in (api, stranger_api, reviewer_api):
        assert_error(client.read(path), 404, "E4003")
        assert_error(client.remove(path), 404, "E4003")
        assert_error(client.replace(path, {"notes": "back"}), 404, "E4003")
        assert_error(client.replace(f"{path}/status", status), 404, "E4003")
        assert client.read("/claims").json() == []
        assert client.read(f"/claims?publication_id={claim.publication_id}").json() == []
    assert stored(claim).notes == "kept"


def test_a_claim_can_be_deleted_in_every_status(api, user):
    for status in ("pending", "approved", "disputed", "revoked"):
        assert api.remove(f"/claims/{ClaimFactory(user=user, status=status).pk}").status_code == 200

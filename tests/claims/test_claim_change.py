"""`PUT /claims/{id}`."""

import pytest

from tests.api import assert_error
from tests.claims.conftest import events_of, stored
from tests.factories import ClaimFactory


@pytest.fixture
def claim(user):
    return ClaimFactory(user=user, evidence=["letter.pdf"], notes="first")


def test_members_that_are_present_are_replaced(api, user, claim):
    changes = {
        "evidence": ["https://example.org/a", "b"], "notes": "second", "verification_level": "evidence_provided",
        "visibility": "conditional",
    }  # fmt: skip
    response = api.replace(f"/claims/{claim.pk}", changes)
    assert response.status_code == 200, response.content
    body = response.json()
    assert {name: body[name] for name in changes} == changes
    assert body["updated_at"] > body["created_at"]
    assert api.read(f"/claims/{claim.pk}").json() == body
    assert stored(claim).content_changed_at == stored(claim).updated_at
    kinds, event = events_of(user)
    assert kinds == ["claim.updated"]
    assert event["verification_level"] == "evidence_provided"


def test_members_that_are_absent_stay(api, claim):
    body = api.replace(f"/claims/{claim.pk}", {"visibility": "shared"}).json()
    assert (body["evidence"], body["notes"], body["visibility"]) == (["letter.pdf"], "first", "shared")


@pytest.mark.parametrize(
    "nothing",
    [{}, {"evidence": None}, dict.fromkeys(("evidence", "notes", "verification_level", "visibility")),
     {"notes": "first", "evidence": ["letter.pdf"]}, {"colour": "red"}],
)  # fmt: skip
def test_an_unchanged_claim_emits_no_event(api, user, claim, nothing):
    before = api.read(f"/claims/{claim.pk}").content
    response = api.replace(f"/claims/{claim.pk}", nothing)
    assert (response.status_code, response.content) == (200, before)
    assert events_of(user) == ([], None)


def test_evidence_and_notes_can_be_emptied(api, claim):
    body = api.replace(f"/claims/{claim.pk}", {"evidence": [], "notes": ""}).json()
    assert (body["evidence"], body["notes"]) == ([], "")


def test_a_reviewers_level_is_not_the_owners_to_set_but_may_be_sent_back(api, claim):
    assert_error(api.replace(f"/claims/{claim.pk}", {"verification_level": "source_verified"}), 400, "E1001")
    type(claim).objects.filter(pk=claim.pk).update(verification_level="source_verified")
    body = api.replace(f"/claims/{claim.pk}", {"verification_level": "source_verified", "notes": "new"}).json()
    assert (body["verification_level"], body["notes"]) == ("source_verified", "new")
    assert_error(api.replace(f"/claims/{claim.pk}", {"verification_level": "institution_verified"}), 400, "E1001")
    body = api.replace(f"/claims/{claim.pk}", {"verification_level": "self_asserted"}).json()
    assert body["verification_level"] == "self_asserted"


def test_a_reviewer_may_set_every_level_on_a_claim_of_their_own(reviewer, reviewer_api):
    claim = ClaimFactory(user=reviewer)
    body = reviewer_api.replace(f"/claims/{claim.pk}", {"verification_level": "institution_verified"}).json()
    assert body["verification_level"] == "institution_verified"

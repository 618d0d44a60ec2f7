"""`PUT /claims/{id}`."""

import pytest

from tests.api import assert_error
from tests.claims.conftest import MISSING, ODD_IDS, events_of, odd, stored
from tests.factories import ClaimFactory


@pytest.fixture
def claim(user):
    return ClaimFactory(user=user, evidence=["letter.pdf"], notes="first")


def test_members_that_are_present_are_replaced(api, user, claim):
    changes = {
        "evidence": ["https://example.org/a", "b"],
        "notes": "second",
        "verification_level": "evidence_provided",
        "visibility": "conditional",
    }
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
def test_a_change_of_nothing_changes_nothing_and_tells_nobody(api, user, claim, nothing):
    before = api.read(f"/claims/{claim.pk}").content
    response = api.replace(f"/claims/{claim.pk}", nothing)
    assert (response.status_code, response.content) == (200, before)
    assert events_of(user) == ([], None)


def test_evidence_and_notes_can_be_emptied(api, claim):
    body = api.replace(f"/claims/{claim.pk}", {"evidence": [], "notes": ""}).json()
    assert (body["evidence"], body["notes"]) == ([], "")


def test_members_of_the_server_are_ignored(api, stranger, claim):
    forged = {
        "status": "approved", "approved_at": "2020-01-01T00:00:00Z", "user_id": str(stranger.pk), "id": MISSING,
        "publication_id": "10.1/other", "claim_type": "editor", "created_at": "2020-01-01T00:00:00Z", "moves": 9,
    }  # fmt: skip
    before = api.read(f"/claims/{claim.pk}").content
    assert api.replace(f"/claims/{claim.pk}", forged).content == before


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("visibility", "public"), ("verification_level", "x"), ("evidence", "a"), ("evidence", ["a"] * 51),
        ("evidence", ["javascript:x"]), ("evidence", [None]), ("notes", "x" * 10_001), ("notes", []),
    ],
)  # fmt: skip
def test_a_member_of_the_wrong_shape_is_refused(api, claim, member, value):
    assert_error(api.replace(f"/claims/{claim.pk}", {member: value}), 400, "E1001")
    assert stored(claim).updated_at == claim.updated_at


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


def test_it_needs_a_credential(anonymous, claim):
    assert_error(anonymous.replace(f"/claims/{claim.pk}", {}), 401, "E2001")


@pytest.mark.parametrize("visibility", ["private", "conditional", "shared"])
def test_nobody_changes_somebody_elses_claim(claim, stranger_api, reviewer_api, visibility):
    type(claim).objects.filter(pk=claim.pk).update(visibility=visibility)
    for client in (stranger_api, reviewer_api):
        assert_error(client.replace(f"/claims/{claim.pk}", {"notes": "mine"}), 404, "E4003")
    assert stored(claim).notes == "first"


@pytest.mark.parametrize("spelling", [*ODD_IDS, MISSING])
def test_an_id_that_names_no_claim_is_not_found(api, claim, spelling):
    response = api.replace(f"/claims/{odd(spelling, claim)}", {})
    assert_error(response, 404, "E4001" if "%2f" in spelling else "E4003")


def test_a_retry_with_its_key_is_replayed(api, user, claim, key):
    first = api.replace(f"/claims/{claim.pk}", {"notes": "second"}, key=key)
    api.replace(f"/claims/{claim.pk}", {"notes": "third"})
    again = api.replace(f"/claims/{claim.pk}", {"notes": "second"}, key=key)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert stored(claim).notes == "third"
    other = ClaimFactory(user=user)
    assert_error(api.replace(f"/claims/{other.pk}", {"notes": "second"}, key=key), 422, "E1010")


def test_not_found_is_replayed_too(api, key):
    first = api.replace(f"/claims/{MISSING}", {}, key=key)
    again = api.replace(f"/claims/{MISSING}", {}, key=key)
    assert_error(again, 404, "E4003")
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"


def test_it_takes_four_statements(api, claim, no_rate_limits, django_assert_num_queries):
    api.replace(f"/claims/{claim.pk}", {"notes": "second"})
    with django_assert_num_queries(2 + 4):  # the transaction; read, write, read again, event
        api.replace(f"/claims/{claim.pk}", {"notes": "third"})

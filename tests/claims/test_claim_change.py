"""Test `POST /claims`, and `GET`, `PUT`, and `DELETE /claims/{id}`."""

import pytest

from claims.models import Claim, ClaimHistory
from tests.api import assert_error
from tests.claims.conftest import events_of, stored
from tests.factories import ClaimFactory


@pytest.fixture
def claim(user):
    return ClaimFactory(user=user, evidence=["letter.pdf"], notes="first")


def test_claim_update_replaces_only_the_sent_fields(api, user, claim):
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
    assert (kinds, event["verification_level"]) == (["claim.updated"], "evidence_provided")
    body = api.replace(f"/claims/{claim.pk}", {"visibility": "shared"}).json()
    assert (body["evidence"], body["notes"], body["visibility"]) == (changes["evidence"], "second", "shared")
    body = api.replace(f"/claims/{claim.pk}", {"evidence": [], "notes": ""}).json()
    assert (body["evidence"], body["notes"]) == ([], "")


def test_claim_update_without_a_change_emits_no_event(api, user, claim):
    before = api.read(f"/claims/{claim.pk}").content
    for nothing in (
        {}, {"evidence": None}, dict.fromkeys(("evidence", "notes", "verification_level", "visibility")),
        {"notes": "first", "evidence": ["letter.pdf"]}, {"colour": "red"},
    ):  # fmt: skip
        response = api.replace(f"/claims/{claim.pk}", nothing)
        assert (response.status_code, response.content) == (200, before), nothing
    assert events_of(user) == ([], None)


def test_claim_owner_can_resend_a_reviewed_verification_level_but_not_set_a_new_level(api, claim):
    assert_error(api.replace(f"/claims/{claim.pk}", {"verification_level": "source_verified"}), 400, "E1001")
    type(claim).objects.filter(pk=claim.pk).update(verification_level="source_verified")
    body = api.replace(f"/claims/{claim.pk}", {"verification_level": "source_verified", "notes": "new"}).json()
    assert (body["verification_level"], body["notes"]) == ("source_verified", "new")
    assert_error(api.replace(f"/claims/{claim.pk}", {"verification_level": "institution_verified"}), 400, "E1001")
    body = api.replace(f"/claims/{claim.pk}", {"verification_level": "self_asserted"}).json()
    assert body["verification_level"] == "self_asserted"


@pytest.mark.parametrize(
    ("visibility", "stranger_sees", "reviewer_sees"),
    [("private", False, False), ("conditional", False, True), ("shared", True, True)],
)
def test_claim_visibility_limits_readers_and_only_the_owner_can_change_a_claim(
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


@pytest.mark.parametrize("status", ["draft", "pending", "approved", "disputed", "revoked"])
def test_deleted_claim_is_retained_and_returns_404_for_every_account(api, user, stranger_api, reviewer_api, status):
    claim = ClaimFactory(user=user, visibility="shared", notes="kept", status=status)
    path = f"/claims/{claim.pk}"
    response = api.remove(path)
    assert (response.status_code, response.content) == (200, b"")
    tombstone = stored(claim)
    assert (tombstone.deleted_by, tombstone.deleted_with[:4]) == (user, "jwt:")
    assert (tombstone.deleted_at is not None, tombstone.notes, tombstone.status) == (True, "kept", status)
    kinds, event = events_of(user)
    assert (kinds, event["claim_id"]) == (["claim.deleted"], str(claim.pk))
    for client in (api, stranger_api, reviewer_api):
        assert_error(client.read(path), 404, "E4003")
        assert_error(client.remove(path), 404, "E4003")
        assert_error(client.replace(path, {"notes": "back"}), 404, "E4003")
        assert_error(client.replace(f"{path}/status", {"status": "pending", "updated_by": "me"}), 404, "E4003")
        assert client.read("/claims").json() == []
        assert client.read(f"/claims?publication_id={claim.publication_id}").json() == []
    assert stored(claim).notes == "kept"


@pytest.fixture
def body(user):
    return {"user_id": str(user.pk), "publication_id": "https://doi.org/10.1000/ABC", "claim_type": "author"}


@pytest.mark.parametrize("nulls", [(), ("evidence", "notes", "verification_level", "visibility")])
def test_new_claim_is_a_private_self_asserted_draft(api, user, body, nulls):
    response = api.send("/claims", {**body, **dict.fromkeys(nulls)})
    assert response.status_code == 201, response.content
    claim = response.json()
    assert claim == {
        "id": claim["id"], "user_id": str(user.pk), "publication_id": "https://doi.org/10.1000/ABC",
        "claim_type": "author", "status": "draft", "verification_level": "self_asserted", "visibility": "private",
        "evidence": [], "created_at": claim["updated_at"], "updated_at": claim["updated_at"], "approved_at": None,
        "revoked_at": None, "notes": None,
    }  # fmt: skip
    row = Claim.objects.get(pk=claim["id"])
    assert (row.user_id, row.publication_key, row.moves) == (user.pk, "10.1000/abc", 0)
    assert not ClaimHistory.objects.exists()
    assert events_of(user) == (
        ["claim.created"],
        {"claim_id": claim["id"], "status": "draft", "verification_level": "self_asserted", "visibility": "private"},
    )


@pytest.mark.parametrize(
    "evidence",
    [["https://example.org/letter?a=1#b", "http://169.254.169.254/", "Letter, page 3", "Contract: signed copy"],
     ["x" * 2048] * 50],
)  # fmt: skip
def test_every_field_of_a_new_claim_is_stored_as_sent(api, body, evidence):
    sent = {
        **body, "publication_id": " W2741809807 ", "claim_type": "Übersetzerin", "evidence": evidence,
        "notes": "\u202e, \u200bzero width, \U0001f600, e\u0301 is not \u00e9; '; DROP TABLE <script>{{7*7}} =cmd",
        "verification_level": "evidence_provided", "visibility": "shared",
    }  # fmt: skip
    response = api.send("/claims", sent)
    assert response.status_code == 201, response.content
    assert {name: response.json()[name] for name in sent} == sent
    assert api.read(f"/claims/{response.json()['id']}").json() == response.json()


def test_claim_with_an_evidence_url_that_is_not_http_or_https_is_rejected(api, body):
    for address in (
        "file:///etc/passwd", "FILE:///etc/passwd", "javascript:alert(1)", "java\tscript:alert(1)", " javascript:x",
        "\x01javascript:x", "javascript: alert(1)", "data:text/html,x", "ftp://example.org/x", "mailto:a@example.org",
        "gopher://x", "http://", "https:///path", "http://[::1", "http:", "vbscript: x", "view-source:http://x.org",
    ):  # fmt: skip
        error = assert_error(api.send("/claims", {**body, "evidence": ["fine", address]}), 400, "E1001")
        assert error["details"][0]["field"].startswith("evidence"), address


@pytest.mark.parametrize("level", ["source_verified", "institution_verified"])
def test_claim_owner_can_set_a_reviewed_verification_level_only_as_a_reviewer(api, reviewer, reviewer_api, body, level):
    error = assert_error(api.send("/claims", {**body, "verification_level": level}), 400, "E1001")
    assert error["details"][0]["field"] == "verification_level"
    own = {**body, "user_id": str(reviewer.pk)}
    assert reviewer_api.send("/claims", {**own, "verification_level": level}).json()["verification_level"] == level
    path = f"/claims/{reviewer_api.send('/claims', own).json()['id']}"
    assert reviewer_api.replace(path, {"verification_level": level}).json()["verification_level"] == level

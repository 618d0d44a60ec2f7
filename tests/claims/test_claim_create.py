"""`POST /claims`."""

import pytest

from claims.models import Claim, ClaimHistory
from tests.api import assert_error
from tests.claims.conftest import events_of


@pytest.fixture
def body(user):
    return {"user_id": str(user.pk), "publication_id": "https://doi.org/10.1000/ABC", "claim_type": "author"}


def test_a_claim_begins_as_a_private_self_asserted_draft(api, user, body):
    response = api.send("/claims", body)
    assert response.status_code == 201, response.content
    claim = response.json()
    assert list(claim) == [
        "id", "user_id", "publication_id", "claim_type", "status", "verification_level", "visibility", "evidence",
        "created_at", "updated_at", "approved_at", "revoked_at", "notes",
    ]  # fmt: skip
    assert claim["user_id"] == str(user.pk)
    assert claim["publication_id"] == "https://doi.org/10.1000/ABC"
    assert (claim["status"], claim["verification_level"], claim["visibility"]) == ("draft", "self_asserted", "private")
    assert (claim["evidence"], claim["notes"], claim["approved_at"], claim["revoked_at"]) == ([], None, None, None)
    assert claim["created_at"] == claim["updated_at"]
    row = Claim.objects.get(pk=claim["id"])
    assert (row.user_id, row.publication_key, row.moves) == (user.pk, "10.1000/abc", 0)
    assert not ClaimHistory.objects.exists()
    assert events_of(user) == (
        ["claim.created"],
        {"claim_id": claim["id"], "status": "draft", "verification_level": "self_asserted", "visibility": "private"},
    )


def test_every_member_is_kept_as_it_was_sent(api, body):
    notes = (
        "\u202eright to left, \u200bzero width, \U0001f600, e\u0301 is not \u00e9; '; DROP TABLE <script>{{7*7}} =cmd"
    )
    evidence = [
        "https://example.org/letter?a=1#b",
        "http://169.254.169.254/",
        "Letter, page 3",
        "Contract: signed copy",
    ]
    sent = {
        **body, "publication_id": " W2741809807 ", "claim_type": "Übersetzerin", "evidence": evidence, "notes": notes,
        "verification_level": "evidence_provided", "visibility": "shared",
    }  # fmt: skip
    response = api.send("/claims", sent)
    assert response.status_code == 201, response.content
    assert {name: response.json()[name] for name in sent} == sent
    assert api.read(f"/claims/{response.json()['id']}").json() == response.json()


def test_null_members_are_the_defaults(api, body):
    nothing = dict.fromkeys(("evidence", "notes", "verification_level", "visibility"))
    claim = api.send("/claims", {**body, **nothing}).json()
    assert (claim["evidence"], claim["notes"]) == ([], None)
    assert (claim["verification_level"], claim["visibility"]) == ("self_asserted", "private")


def test_evidence_must_be_an_http_address(api, body):
    for address in (
        "file:///etc/passwd", "FILE:///etc/passwd", "javascript:alert(1)", "java\tscript:alert(1)", " javascript:x",
        "\x01javascript:x", "javascript: alert(1)", "data:text/html,x", "ftp://example.org/x", "mailto:a@example.org",
        "gopher://x", "http://", "https:///path", "http://[::1", "http:", "vbscript: x", "view-source:http://x.org",
    ):  # fmt: skip
        error = assert_error(api.send("/claims", {**body, "evidence": ["fine", address]}), 400, "E1001")
        assert error["details"][0]["field"].startswith("evidence"), address


def test_the_largest_evidence_fits(api, body):
    claim = api.send("/claims", {**body, "evidence": ["x" * 2048] * 50})
    assert claim.status_code == 201
    assert len(claim.json()["evidence"]) == 50


@pytest.mark.parametrize("level", ["source_verified", "institution_verified"])
def test_only_reviewers_set_a_reviewed_level(api, reviewer, reviewer_api, body, level):
    error = assert_error(api.send("/claims", {**body, "verification_level": level}), 400, "E1001")
    assert error["details"][0]["field"] == "verification_level"
    own = {**body, "user_id": str(reviewer.pk), "verification_level": level}
    assert reviewer_api.send("/claims", own).json()["verification_level"] == level

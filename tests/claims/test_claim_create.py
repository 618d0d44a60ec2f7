"""`POST /claims`."""

import pytest
from django.db import connection
from django.utils import timezone

from claims.models import Claim, ClaimHistory
from identity.access.keys import create_api_key
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
        {
            "claim_id": claim["id"],
            "status": "draft",
            "verification_level": "self_asserted",
            "visibility": "private",
        },
    )


def test_every_member_is_kept_as_it_was_sent(api, body):
    notes = (
        "\u202eright to left, \u200bzero width, \U0001f600, e\u0301 is not \u00e9; '; DROP TABLE <script>{{7*7}} =cmd|"
    )
    evidence = ["https://example.org/letter?a=1#b", "http://169.254.169.254/", "Letter of the editor, page 3", "a:b c"]
    evidence[3] = "Contract: signed copy"
    sent = {
        **body,
        "publication_id": " W2741809807 ",
        "claim_type": "Übersetzerin",
        "evidence": evidence,
        "notes": notes,
        "verification_level": "evidence_provided",
        "visibility": "shared",
    }
    response = api.send("/claims", sent)
    assert response.status_code == 201, response.content
    assert {name: response.json()[name] for name in sent} == sent
    assert api.read(f"/claims/{response.json()['id']}").json() == response.json()


def test_null_members_are_the_defaults(api, body):
    nothing = dict.fromkeys(("evidence", "notes", "verification_level", "visibility"))
    claim = api.send("/claims", {**body, **nothing}).json()
    assert (claim["evidence"], claim["notes"]) == ([], None)
    assert (claim["verification_level"], claim["visibility"]) == ("self_asserted", "private")


def test_members_of_the_server_and_unknown_ones_are_ignored(api, body):
    forged = {"id": "x", "status": "approved", "approved_at": "2020-01-01T00:00:00Z", "moves": 7, "colour": "red"}
    claim = api.send("/claims", {**body, **forged}).json()
    assert (claim["status"], claim["approved_at"]) == ("draft", None)
    assert "colour" not in claim


def test_it_needs_a_credential(anonymous, body):
    assert_error(anonymous.send("/claims", body), 401, "E2001")


def test_somebody_elses_user_id_is_refused_before_anything_else(api, stranger, body):
    for user_id in (str(stranger.pk), f"0{body['user_id']}", f" {body['user_id']}"):
        assert_error(api.send("/claims", {**body, "user_id": user_id}), 401, "E2004")
    assert not Claim.objects.exists()


def test_a_key_with_scopes_may_not(user, body, anonymous):
    issued = create_api_key(owner=user, name="narrow", scopes=["offers:read"], now=timezone.now())
    assert_error(anonymous.send("/claims", body, X_API_Key=issued.key), 403, "E2005")


@pytest.mark.parametrize("missing", ["user_id", "publication_id", "claim_type"])
def test_a_required_member_that_is_missing_is_named(api, body, missing):
    del body[missing]
    error = assert_error(api.send("/claims", body), 400, "E1001")
    assert error["details"][0]["field"] == missing


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("publication_id", ""), ("publication_id", "x" * 513), ("publication_id", 5), ("publication_id", "a\0b"),
        ("claim_type", ""), ("claim_type", "x" * 65), ("claim_type", None), ("user_id", 5),
        ("visibility", "public"), ("visibility", "Shared"), ("visibility", 1),
        ("verification_level", "certain"), ("verification_level", ["self_asserted"]),
        ("evidence", "https://example.org"), ("evidence", {"a": 1}), ("evidence", ["a"] * 51), ("evidence", [["a"]]),
        ("evidence", [None]), ("evidence", [5]), ("evidence", ["x" * 2049]), ("evidence", [""]),
        ("notes", "x" * 10_001), ("notes", 5),
    ],
)  # fmt: skip
def test_a_member_of_the_wrong_shape_is_refused(api, body, member, value):
    assert_error(api.send("/claims", {**body, member: value}), 400, "E1001" if value != "a\0b" else "E1002")
    assert not Claim.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd", "FILE:///etc/passwd", "javascript:alert(1)", "java\tscript:alert(1)", " javascript:x",
        "\x01javascript:x", "javascript: alert(1)", "data:text/html,x", "ftp://example.org/x", "mailto:a@example.org",
        "gopher://x", "http://", "https:///path", "http://[::1", "http:", "vbscript: x", "view-source:http://x.org",
    ],
)  # fmt: skip
def test_an_address_that_is_not_http_is_no_evidence(api, body, address):
    error = assert_error(api.send("/claims", {**body, "evidence": ["fine", address]}), 400, "E1001")
    assert error["details"][0]["field"].startswith("evidence")


def test_the_largest_evidence_fits(api, body):
    claim = api.send("/claims", {**body, "evidence": ["x" * 2048] * 50})
    assert claim.status_code == 201
    assert len(claim.json()["evidence"]) == 50


@pytest.mark.parametrize("level", ["source_verified", "institution_verified"])
def test_a_level_that_says_somebody_looked_is_a_reviewers_to_set(api, reviewer, reviewer_api, body, level):
    error = assert_error(api.send("/claims", {**body, "verification_level": level}), 400, "E1001")
    assert error["details"][0]["field"] == "verification_level"
    own = {**body, "user_id": str(reviewer.pk), "verification_level": level}
    assert reviewer_api.send("/claims", own).json()["verification_level"] == level


@pytest.mark.parametrize("raw", [b"null", b"[]", b'"x"', b"1", b'{"a":1,"a":2}', b"{", b"\xff\xfe"])
def test_a_body_that_is_no_object_is_refused(api, raw):
    response = api.send("/claims", raw=raw)
    assert response.status_code == 400
    assert response.json()["code"] in {"E1001", "E1002"}


def test_only_json_is_read(api, body):
    assert_error(api.send("/claims", body, content_type="text/plain"), 415, "E1013")


def test_a_retry_with_its_key_is_replayed_and_makes_no_second_claim(api, body, key):
    first = api.send("/claims", body, key=key)
    again = api.send("/claims", dict(reversed(body.items())), key=f'"{key.upper()}"')
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Claim.objects.count() == 1
    assert_error(api.send("/claims", {**body, "claim_type": "editor"}, key=key), 422, "E1010")


def test_a_validation_error_is_not_kept_under_the_key(api, body, key):
    assert_error(api.send("/claims", {**body, "visibility": "public"}, key=key), 400, "E1001")
    assert_error(api.send("/claims", {**body, "verification_level": "source_verified"}, key=key), 400, "E1001")
    assert api.send("/claims", body, key=key).status_code == 201


@pytest.mark.parametrize("bad", ["", "x", "a" * 256, "0193b6c47c0070008000000000000000"])
def test_a_key_that_is_no_uuid_is_refused(api, body, bad):
    assert_error(api.send("/claims", body, key=bad), 400, "E1008")


def test_it_takes_two_statements_and_two_more_with_a_key(api, body, no_rate_limits, django_assert_num_queries):
    # Within a test a transaction is a savepoint and its release: two statements more. On PostgreSQL a key is also
    # locked.
    api.send("/claims", body)
    with django_assert_num_queries(2 + 2):
        api.send("/claims", body)
    with django_assert_num_queries(2 + 2 + (3 if connection.vendor == "postgresql" else 2)):
        api.send("/claims", body, key=True)

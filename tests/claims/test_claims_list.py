"""Test `GET /claims`."""

import json
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from claims.models import Claim
from tests.api import assert_error, client_of
from tests.factories import ClaimFactory, UserFactory
from tests.properties import quick_or_full

DOI = "10.1000/182"


def ids(response):
    assert response.status_code == 200, response.content
    return [claim["id"] for claim in response.json()]


def newest_first(*claims):
    """Return the claims' ids in the order of a list: newest first."""
    return [str(claim.pk) for claim in reversed(claims)]


def test_claim_list_without_filters_contains_own_claims_newest_first(api, user, stranger):
    own = [ClaimFactory(user=user, status=status) for status in ("draft", "approved", "revoked")]
    ClaimFactory(user=stranger)
    ClaimFactory(user=stranger, visibility="shared")
    assert ids(api.read("/claims")) == newest_first(*own)
    assert ids(api.read(f"/claims?user_id={user.pk}")) == newest_first(*own)
    assert api.read("/claims").json()[-1] == api.read(f"/claims/{own[0].pk}").json()


def test_claim_filters_can_be_combined(api, user):
    claim = ClaimFactory(user=user, status="approved", verification_level="evidence_provided")
    two = ClaimFactory(user=user, status="approved", publication_id="W1")
    three = ClaimFactory(user=user, verification_level="evidence_provided", publication_id="W1")
    assert ids(api.read("/claims?status=approved")) == newest_first(claim, two)
    assert ids(api.read("/claims?verification_level=evidence_provided")) == newest_first(claim, three)
    assert ids(api.read("/claims?status=approved&verification_level=evidence_provided")) == newest_first(claim)
    assert ids(api.read("/claims?publication_id=W1&status=approved")) == newest_first(two)
    assert ids(
        api.read(f"/claims?publication_id=W1&user_id={user.pk}&verification_level=evidence_provided")
    ) == newest_first(three)
    assert ids(api.read("/claims?status=disputed")) == []


def test_claim_list_finds_every_spelling_of_a_publication_id(api, user):
    claims = [
        ClaimFactory(user=user, publication_id=spelling)
        for spelling in ("10.1000/ABC", "doi:10.1000/abc", "https://doi.org/10.1000%2Fabc")
    ]
    ClaimFactory(user=user, publication_id="10.1000/abcd")
    for text in ("10.1000/aBc", "DOI:10.1000/abc", "https%3A%2F%2Fdx.doi.org%2F10.1000%252FABC"):
        assert ids(api.read(f"/claims?publication_id={text}")) == newest_first(*claims)
    ClaimFactory(user=user, publication_id="W123")
    assert len(ids(api.read("/claims?publication_id=W123"))) == 1
    assert ids(api.read("/claims?publication_id=w123")) == []


def test_publication_filter_lists_shared_claims_to_all_users_and_conditional_claims_to_reviewers(
    api, user, stranger, stranger_api, reviewer_api
):
    own = ClaimFactory(user=user)
    private = ClaimFactory(user=stranger)
    conditional = ClaimFactory(user=stranger, visibility="conditional")
    shared = ClaimFactory(user=stranger, visibility="shared")
    ClaimFactory(user=stranger, visibility="shared", publication_id="10.1000/other")
    assert ids(api.read(f"/claims?publication_id={DOI}")) == newest_first(own, shared)
    assert ids(stranger_api.read(f"/claims?publication_id={DOI}")) == newest_first(private, conditional, shared)
    assert ids(reviewer_api.read(f"/claims?publication_id={DOI}")) == newest_first(conditional, shared)
    assert ids(reviewer_api.read("/claims")) == []


def test_claims_of_another_user_are_listed_only_with_a_publication_filter(api, stranger):
    ClaimFactory(user=stranger)
    shared = ClaimFactory(user=stranger, visibility="shared")
    other = ClaimFactory(visibility="shared")
    assert_error(api.read(f"/claims?user_id={stranger.pk}"), 401, "E2004")
    assert ids(api.read(f"/claims?user_id={stranger.pk}&publication_id={DOI}")) == newest_first(shared)
    assert ids(api.read(f"/claims?user_id={other.user_id}&publication_id={DOI}")) == newest_first(other)


def test_misspelled_user_id_filter_matches_no_claim(api, user):
    ClaimFactory(user=user, visibility="shared")
    me = user.pk
    for user_id in (f"0{me}", f"+{me}", f"{me}.0", "nobody", "%00", "99999999999999999999", "-1", "%ff"):
        assert api.read(f"/claims?user_id={user_id}").status_code in {400, 401}, user_id
        with_publication = api.read(f"/claims?user_id={user_id}&publication_id={DOI}")
        assert with_publication.status_code == 400 or with_publication.json() == [], user_id


def test_claim_list_supports_limit_and_offset(api, user):
    claims = newest_first(*[ClaimFactory(user=user) for _ in range(25)])
    assert ids(api.read("/claims")) == claims[:20]
    assert ids(api.read("/claims?limit=100")) == claims
    assert ids(api.read("/claims?limit=1&offset=24")) == claims[24:]
    assert ids(api.read("/claims?limit=7&offset=7")) == claims[7:14]
    assert ids(api.read("/claims?offset=25")) == []
    assert ids(api.read("/claims?offset=9223372036854775807")) == []
    assert ids(api.read(f"/claims?publication_id={DOI}&limit=3&offset=2")) == claims[2:5]


ROWS = quick_or_full(100_000, 1_000_000)
# A hundredth of the claims are about the same publication. The other publications have 99 claims each.
_FILL = """
INSERT INTO claims_claim (id, user_id, publication_id, publication_key, claim_type, status, moves, verification_level,
                          visibility, evidence, created_at, updated_at, deleted_with)
SELECT lpad(to_hex(number), 32, '0')::uuid, %s + number %% %s, key, key, 'author', 'draft', 0, 'self_asserted',
       (ARRAY['private', 'private', 'private', 'private', 'conditional', 'shared'])[1 + number / 100 %% 6],
       '[]', now(), now(), ''
FROM (SELECT number, CASE WHEN number %% 100 = 0 THEN '10.1000/popular' ELSE '10.1000/' || number / 100 END AS key
      FROM generate_series(1, %s) AS number) AS made
"""
PEOPLE = 500


@pytest.fixture
def claimant(db, needs_postgresql):
    """Create the claims of PEOPLE accounts; return one of the accounts."""
    people = [UserFactory() for _ in range(PEOPLE)]
    with connection.cursor() as cursor:
        cursor.execute(_FILL, [people[0].pk, PEOPLE, ROWS])
        cursor.execute("ANALYZE claims_claim")
    return people[7]


def plan_of(viewer, **query):
    """Request a page; return its rows and all plan nodes of its only statement."""
    api = client_of(viewer)
    with CaptureQueriesContext(connection) as captured:
        rows = api.read(f"/claims?{urlencode(query)}").json()
    statements = [query["sql"] for query in captured.captured_queries if 'FROM "claims_claim"' in query["sql"]]
    assert len(statements) == 1
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statements[0]}")
        plan = cursor.fetchone()[0]
    plan = json.loads(plan) if isinstance(plan, str) else plan

    def walk(node):
        yield node
        for child in node.get("Plans", ()):
            yield from walk(child)

    return rows, list(walk(plan[0]["Plan"]))


def test_every_claim_list_query_uses_a_database_index(claimant):
    assert Claim.objects.count() == ROWS
    popular, publication = {"publication_id": "10.1000/popular"}, {"claims_claim_publication"}
    for query, indexes, rows_max in (
        ({"publication_id": "10.1000/77"}, publication, 2_000),  # The account has 99 claims, which are all shared.
        (popular, publication, 2_000),
        ({**popular, "offset": ROWS // 1_000}, publication, 40_000),
        ({}, {"claims_claim_user"}, 2_000),
        ({"status": "draft"}, {"claims_claim_user", "claims_claim_user_status"}, 2_000),
    ):
        rows, nodes = plan_of(claimant, **query)
        assert len(rows) == 20, query
        assert "publication_id" in query or {row["user_id"] for row in rows} == {str(claimant.pk)}, query
        assert "Seq Scan" not in {node["Node Type"] for node in nodes}, query
        read = [node for node in nodes if "Index Name" in node]
        assert indexes & {node["Index Name"] for node in read}, (query, nodes)
        touched = [
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in read
        ]
        assert sum(touched) <= rows_max, (query, nodes)

"""Lists of claims over a million rows: the plans that PostgreSQL chooses, for the statements that run."""

import json
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from claims.models import Claim
from tests.api import client_of
from tests.factories import UserFactory

ROWS = 1_000_000
# One publication that ten thousand claim, and a long tail of others.
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
def million(db, needs_postgresql):
    """A million claims of PEOPLE people; return one of those."""
    people = [UserFactory() for _ in range(PEOPLE)]
    with connection.cursor() as cursor:
        cursor.execute(_FILL, [people[0].pk, PEOPLE, ROWS])
        cursor.execute("ANALYZE claims_claim")
    return people[7]


def plan_of(viewer, **query):
    """Ask for a page and return (its rows, every node of the plan of its one statement)."""
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


def assert_read_through(nodes, *indexes, rows_max):
    """Check that no table is scanned, that these indexes are used, and that few rows are touched."""
    kinds = {node["Node Type"] for node in nodes}
    assert "Seq Scan" not in kinds, kinds
    assert set(indexes) <= {node.get("Index Name") for node in nodes}, nodes
    touched = sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes
        if "Index Name" in node
    )
    assert touched <= rows_max, (touched, nodes)


def test_every_list_is_read_from_an_index(million):
    assert Claim.objects.count() == ROWS

    rows, nodes = plan_of(million, publication_id="10.1000/77")
    assert len(rows) == 20  # of ninety-nine, all of them shared
    assert_read_through(nodes, "claims_claim_publication", rows_max=2_000)

    rows, nodes = plan_of(million, publication_id="10.1000/popular")
    assert len(rows) == 20
    assert_read_through(nodes, "claims_claim_publication", rows_max=2_000)

    rows, nodes = plan_of(million, publication_id="10.1000/popular", offset=1_000)
    assert len(rows) == 20
    assert_read_through(nodes, "claims_claim_publication", rows_max=40_000)

    rows, nodes = plan_of(million)
    assert len(rows) == 20
    assert {row["user_id"] for row in rows} == {str(million.pk)}
    assert_read_through(nodes, "claims_claim_user", rows_max=2_000)

    rows, nodes = plan_of(million, status="draft")
    assert len(rows) == 20
    assert {node.get("Index Name") for node in nodes} & {"claims_claim_user", "claims_claim_user_status"}
    assert_read_through(nodes, rows_max=2_000)

"""`POST /staging/approve/{id}` and `POST /staging/reject/{id}`."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from claims.models import Claim
from identity.access.keys import create_api_key
from staging.models import Approval, Note, StagedItem
from tests.api import assert_error
from tests.factories import StagedItemFactory
from tests.staging.conftest import events_of, odd_ids, status_of

BOTH = pytest.mark.parametrize("decision", ["approve", "reject"])


@pytest.fixture
def item(user):
    return StagedItemFactory(user=user, payload={"text": "Call the bank.", "title": "Tomorrow"})


def decide(client, decision, item, user_id, **options):
    return client.send(f"/staging/{decision}/{item.pk}", {"user_id": str(user_id)}, **options)


def test_approving_stores_the_payload_and_marks_the_item(api, user, item):
    response = decide(api, "approve", item, user.pk)
    assert response.status_code == 200, response.content
    body = response.json()
    note = Note.objects.get()
    assert (note.user, note.text, note.title) == (user, "Call the bank.", "Tomorrow")
    stored_id = body.pop("stored_id")
    assert stored_id == str(note.pk) == Approval.objects.get(item=item).stored_id
    assert (body["status"], body["decided_at"] is not None) == ("approved", True)
    assert api.read(f"/staging/items/{item.pk}").json() == body
    row = StagedItem.objects.get(pk=item.pk)
    assert (row.decided_by, row.credential[:4]) == (user, "jwt:")
    members = {"item_id": str(item.pk), "kind": "note", "status": "approved", "stored_id": stored_id}
    assert events_of(user) == [("staging.item.approved", members)]


def test_an_approved_claim_is_a_claim(api, user):
    payload = {"publication_id": "https://doi.org/10.1000/ABC", "claim_type": "author", "visibility": "shared"}
    staged = api.send("/staging/items", {"kind": "claim", "payload": payload}).json()
    approved = api.send(f"/staging/approve/{staged['id']}", {"user_id": str(user.pk)}).json()
    claim = api.read(f"/claims/{approved['stored_id']}").json()
    assert (claim["status"], claim["user_id"], claim["verification_level"]) == ("draft", str(user.pk), "self_asserted")
    assert {name: claim[name] for name in payload} == payload
    assert Claim.objects.get().publication_key == "10.1000/abc"
    assert [kind for kind, _ in events_of(user)] == ["staging.item.staged", "claim.created", "staging.item.approved"]


def test_rejecting_stores_nothing(api, user, item):
    response = decide(api, "reject", item, user.pk)
    assert response.status_code == 200, response.content
    assert response.json()["status"] == "rejected"
    assert response.json() == api.read(f"/staging/items/{item.pk}").json()
    assert not Note.objects.exists()
    assert not Approval.objects.exists()
    members = {"item_id": str(item.pk), "kind": "note", "status": "rejected"}
    assert events_of(user) == [("staging.item.rejected", members)]


@BOTH
def test_a_decided_item_is_gone_from_staging(api, user, decision):
    for status in ("approved", "rejected", "expired"):
        item = StagedItemFactory(user=user, status=status)
        assert_error(decide(api, decision, item, user.pk, key=True), 404, "E4007")
        assert status_of(item) == status
    assert not Note.objects.exists()


def test_approving_twice_with_new_keys_stores_one_row(api, user, item):
    assert decide(api, "approve", item, user.pk, key=True).status_code == 200
    assert_error(decide(api, "approve", item, user.pk, key=True), 404, "E4007")
    assert_error(decide(api, "reject", item, user.pk, key=True), 404, "E4007")
    assert (Note.objects.count(), Approval.objects.count()) == (1, 1)


@BOTH
def test_a_retry_with_its_key_is_replayed(api, user, item, key, decision):
    first = decide(api, decision, item, user.pk, key=key)
    again = decide(api, decision, item, user.pk, key=key)
    assert (again.status_code, again.content, again.headers["Idempotent-Replayed"]) == (200, first.content, "true")
    other = {"approve": "reject", "reject": "approve"}[decision]
    assert_error(decide(api, other, item, user.pk, key=key), 422, "E1010")
    assert Note.objects.count() == (1 if decision == "approve" else 0)


@BOTH
def test_not_found_is_replayed_and_a_mismatch_is_not(api, user, stranger, item, key, decision):
    assert_error(decide(api, decision, item, stranger.pk, key=key), 401, "E2004")
    assert decide(api, decision, item, user.pk, key=key).status_code == 200
    gone = decide(api, decision, item, user.pk, key="0193b6c4-7c00-7000-8000-00000000000a")
    again = decide(api, decision, item, user.pk, key="0193b6c4-7c00-7000-8000-00000000000a")
    assert_error(again, 404, "E4007")
    assert again.content == gone.content


@BOTH
def test_the_body_comes_first_then_the_user_then_the_item(api, user, stranger, item, decision):
    missing = f"/staging/{decision}/0193b6c4-7c00-7000-8000-000000000000"
    for body in ({}, {"user_id": user.pk}, {"user_id": None}, {"user_id": ""}, [], "x"):
        assert_error(api.send(missing, body), 400, "E1001")
    assert_error(api.send(missing, {"user_id": str(stranger.pk)}), 401, "E2004")
    assert_error(api.send(missing, {"user_id": str(user.pk)}), 404, "E4007")
    assert_error(decide(api, decision, item, stranger.pk), 401, "E2004")
    assert_error(decide(api, decision, item, f"0{user.pk}"), 401, "E2004")
    assert status_of(item) == "staged"


@BOTH
def test_somebody_elses_item_is_not_found(stranger, stranger_api, user, item, decision):
    assert_error(decide(stranger_api, decision, item, stranger.pk), 404, "E4007")
    assert_error(decide(stranger_api, decision, item, user.pk), 401, "E2004")
    assert status_of(item) == "staged"


@BOTH
def test_another_spelling_of_an_id_is_not_found(api, user, item, decision):
    for spelling in odd_ids(item):
        assert_error(api.send(f"/staging/{decision}/{spelling}", {"user_id": str(user.pk)}), 404, "E4007")
    assert status_of(item) == "staged"


@BOTH
def test_it_needs_a_credential_that_may_do_everything(anonymous, user, item, decision):
    assert_error(decide(anonymous, decision, item, user.pk), 401, "E2001")
    issued = create_api_key(owner=user, name="narrow", scopes=["offers:read"], now=timezone.now())
    assert_error(decide(anonymous, decision, item, user.pk, X_API_Key=issued.key), 403, "E2005")


def test_the_number_of_statements_is_known(api, user, no_rate_limits, django_assert_num_queries):
    items = [StagedItemFactory(user=user) for _ in range(4)]
    decide(api, "approve", items[0], user.pk)
    decide(api, "reject", items[1], user.pk)
    with django_assert_num_queries(2 + 5):  # the transaction; lock, note, approval, mark, event
        decide(api, "approve", items[2], user.pk)
    with django_assert_num_queries(2 + 3):  # lock, mark, event
        decide(api, "reject", items[3], user.pk)


def test_the_database_keeps_an_item_from_becoming_two_rows(api, user, item):
    decide(api, "approve", item, user.pk)
    with pytest.raises(DatabaseError), transaction.atomic():
        Approval.objects.bulk_create([Approval(item=item, stored_id="again")])
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM staging_approval")
    with pytest.raises(DatabaseError), transaction.atomic():
        StagedItem.objects.filter(pk=item.pk).update(status="staged")

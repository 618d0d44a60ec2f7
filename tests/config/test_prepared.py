"""Statements that the ORM writes once: the same rows as the ORM itself, whatever the values."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from config.api.prepared import PreparedGet, PreparedSelect, insert
from config.core.json_text import render_json
from credit.models import Application, ApplicationHistory
from tests.factories import ApplicationFactory, UserFactory

pytestmark = pytest.mark.django_db
COLUMNS = ("id", "status", "created_at", "application_data", "notes")
DOCUMENTS = [None, {"a": [1, 2.5, None, "é"]}, [], "text", 0, True]


def test_it_finds_what_the_queryset_finds(user):
    for document in DOCUMENTS:
        ApplicationFactory(consumer=user, application_data=document)
    ApplicationFactory()
    select = PreparedSelect(
        lambda consumer_id, status: Application.objects.filter(consumer_id=consumer_id, status=status).order_by("id"),
        COLUMNS,
        parsed=True,
    )
    expected = list(Application.objects.filter(consumer=user, status="draft").order_by("id").values_list(*COLUMNS))
    assert select.rows(consumer_id=user.pk, status="draft") == expected
    assert [row[3] for row in expected] == DOCUMENTS
    assert select.rows(consumer_id=user.pk, status="approved") == []
    assert select.first(consumer_id=user.pk + 1_000_000, status="draft") is None


def test_documents_go_through_to_the_answer_as_they_are(user):
    ApplicationFactory(consumer=user, application_data={"b": 2.5e-7, "a": [1.0, -0.0]})
    select = PreparedSelect(
        lambda consumer_id: Application.objects.filter(consumer_id=consumer_id), ("application_data",)
    )
    (row,) = select.rows(consumer_id=user.pk)
    assert render_json(row[0]) == b'{"b":2.5e-7,"a":[1.0,-0.0]}'


def test_a_slice_takes_its_bounds_as_arguments(user):
    made = [ApplicationFactory(consumer=user).id for _ in range(5)]
    select = PreparedSelect(
        lambda consumer_id, limit, offset: Application.objects.filter(consumer_id=consumer_id).order_by("id")[
            offset : offset + limit
        ],
        ("id",),
    )
    for offset in range(7):
        for limit in (1, 2, 100):
            rows = [row[0] for row in select.rows(consumer_id=user.pk, limit=limit, offset=offset)]
            assert rows == made[offset : offset + limit]


@pytest.mark.parametrize("text", ["'; DROP TABLE credit_application; --", "%s", "%(x)s", "100%", '"', "\\", "?"])
def test_an_argument_is_never_part_of_the_statement(user, text):
    ApplicationFactory(consumer=user, notes=text)
    select = PreparedSelect(lambda notes: Application.objects.filter(notes=notes), ("notes",))
    assert select.rows(notes=text) == [(text,)]


def test_a_record_is_whole(user):
    made = ApplicationFactory(consumer=user, application_data={"a": 1}, updated_at=timezone.now() - timedelta(days=3))
    load = PreparedGet(Application, lambda pk: Application.objects.filter(pk=pk))
    found = load(pk=made.id)
    assert found == made
    for field in Application._meta.concrete_fields:
        assert getattr(found, field.attname) == getattr(Application.objects.get(pk=made.pk), field.attname)
    found.notes = "changed"
    found.save(update_fields=["notes"])
    assert Application.objects.get(pk=made.pk).notes == "changed"
    assert load(pk=uuid.uuid4()) is None


def test_an_insert_is_what_save_would_write(user):
    template = ApplicationFactory(consumer=user, application_data={"x": [None, "é"]}, status="submitted")
    values = {field.attname: getattr(template, field.attname) for field in Application._meta.concrete_fields}
    values["id"] = uuid.uuid4()
    insert(Application(**values))
    copy = Application.objects.get(pk=values["id"])
    for field in Application._meta.concrete_fields:
        assert getattr(copy, field.attname) == values[field.attname], field.name


def test_an_insert_fills_in_defaults():
    application = ApplicationFactory()
    insert(
        ApplicationHistory(
            application_id=application.pk, position=1, status="a", previous_status="b", changed_by="c",
            changed_at=timezone.now(), credential="d",
        )
    )  # fmt: skip
    row = ApplicationHistory.objects.get()
    assert (row.metadata, row.reason, row.principal) == (None, None, None)
    assert row.id.version == 7


def test_two_users_do_not_share_rows():
    load = PreparedSelect(lambda consumer_id: Application.objects.filter(consumer_id=consumer_id), ("id",))
    mine, other = UserFactory(), UserFactory()
    made = ApplicationFactory(consumer=mine).id
    assert load.rows(consumer_id=mine.pk) == [(made,)]
    assert load.rows(consumer_id=other.pk) == []

"""Statements that the ORM writes once: the same rows as the ORM itself, whatever the values."""

import pytest
from django.utils import timezone

from config.core.json_text import render_json
from config.core.prepared import PreparedGet, PreparedSelect, insert
from credit.models import Application, ApplicationHistory
from tests.factories import ApplicationFactory

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


@pytest.mark.parametrize("text", ["'; DROP TABLE credit_application; --", "%s", "%(x)s", "100%", '"', "\\", "?"])
def test_an_argument_is_never_part_of_the_statement(user, text):
    ApplicationFactory(consumer=user, notes=text)
    select = PreparedSelect(lambda notes: Application.objects.filter(notes=notes), ("notes",))
    assert select.rows(notes=text) == [(text,)]


def test_a_record_that_was_read_can_be_saved(user):
    made = ApplicationFactory(consumer=user)
    found = PreparedGet(Application, lambda pk: Application.objects.filter(pk=pk))(pk=made.id)
    assert found == made
    found.notes = "changed"
    found.save(update_fields=["notes"])
    assert Application.objects.get(pk=made.pk).notes == "changed"


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

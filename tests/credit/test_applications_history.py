"""Test that GET /v1/applications/{id}/history returns every status in order, from append-only rows."""

from itertools import product

import pytest
from django.db import DatabaseError, connection, transaction

from credit.models import Application, ApplicationHistory, ApplicationRevision
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db
TABLES = ["credit_applicationhistory", "credit_applicationrevision"]
STATEMENTS = ["UPDATE {} SET credential = 'x'", "DELETE FROM {}"]


def execute(*statements):
    """Run SQL in its own transaction."""
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def delete_behind_the_orm(application):
    """Delete only an application's row, and check foreign keys immediately."""
    with transaction.atomic():
        Application.objects.filter(pk=application.pk)._raw_delete("default")
        connection.check_constraints()


@pytest.fixture
def moved(api, user):
    """Return an application with one change of data and three transitions."""
    application = ApplicationFactory(consumer=user)
    api.replace(f"/applications/{application.id}", {"updated_by": "me", "application_data": {"a": 1}})
    for number, to in enumerate(("submitted", "under_review", "approved")):
        body = {"status": to, "updated_by": f"person {number}", "reason": f"reason {number}" if number else None}
        assert api.replace(f"/applications/{application.id}/status", body).status_code == 200
    return application


def test_three_transitions_create_three_history_entries_in_order(api, moved):
    shown = api.read(f"/applications/{moved.id}/history").json()
    assert shown == {"application_id": str(moved.id), "history": shown["history"]}
    entries = [{**entry, "changed_at": None} for entry in shown["history"]]
    unset = {"changed_at": None, "reason_code": None}
    assert entries == [
        {"status": "submitted", "changed_by": "person 0", "reason": None, **unset},
        {"status": "under_review", "changed_by": "person 1", "reason": "reason 1", **unset},
        {"status": "approved", "changed_by": "person 2", "reason": "reason 2", **unset},
    ]
    moments = [entry["changed_at"] for entry in shown["history"]]
    assert moments == sorted(moments)


class TestAppendOnly:
    def test_application_history_cannot_be_changed_or_deleted_by_orm_or_sql(self, moved):
        for model in (ApplicationHistory, ApplicationRevision):
            row = model.objects.first()
            for act in (
                row.save, lambda: model.objects.update(credential="x"), row.delete, model.objects.all().delete,  # noqa: B023
            ):  # fmt: skip
                with pytest.raises(DatabaseError), transaction.atomic():
                    act()
            assert model.objects.get(pk=row.pk).credential == row.credential
        for table, statement in product(TABLES, STATEMENTS):
            with pytest.raises(DatabaseError, match="append-only"):
                execute(statement.format(table))
        with pytest.raises(DatabaseError):
            delete_behind_the_orm(moved)

    def test_truncate_statement_and_replication_role_cannot_change_application_history(self, moved, needs_postgresql):
        for table in TABLES:
            with pytest.raises(DatabaseError, match="append-only"):
                execute("SET CONSTRAINTS ALL IMMEDIATE", f"TRUNCATE {table} CASCADE")
        for table, role, statement in product(TABLES, ["replica", "local"], STATEMENTS):
            with pytest.raises(DatabaseError, match="append-only"):
                execute(f"SET LOCAL session_replication_role = {role}", statement.format(table))

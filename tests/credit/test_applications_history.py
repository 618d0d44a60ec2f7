"""Test that GET /v1/applications/{id}/history returns every status in order, from append-only rows."""

import pytest
from django.db import DatabaseError, connection, transaction

from credit.models import Application, ApplicationHistory, ApplicationRevision
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db
TABLES = ["credit_applicationhistory", "credit_applicationrevision"]


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
    assert set(shown) == {"application_id", "history"}
    assert shown["application_id"] == str(moved.id)
    assert [entry["status"] for entry in shown["history"]] == ["submitted", "under_review", "approved"]
    assert [entry["changed_by"] for entry in shown["history"]] == ["person 0", "person 1", "person 2"]
    assert [entry["reason"] for entry in shown["history"]] == [None, "reason 1", "reason 2"]
    names = {"status", "changed_by", "changed_at", "reason", "reason_code"}
    assert all(set(entry) == names for entry in shown["history"])
    moments = [entry["changed_at"] for entry in shown["history"]]
    assert moments == sorted(moments)


class TestAppendOnly:
    @pytest.mark.parametrize("model", [ApplicationHistory, ApplicationRevision])
    def test_orm_cannot_change_or_delete_application_history(self, moved, model):
        row = model.objects.first()
        for act in (
            row.save, lambda: model.objects.update(credential="somebody else"), row.delete, model.objects.all().delete,
        ):  # fmt: skip
            with pytest.raises(DatabaseError), transaction.atomic():
                act()
        assert model.objects.get(pk=row.pk).credential == row.credential

    @pytest.mark.parametrize("table", TABLES)
    @pytest.mark.parametrize("statement", ["UPDATE {} SET credential = 'x'", "DELETE FROM {}"])
    def test_sql_cannot_change_or_delete_application_history(self, moved, table, statement):
        with pytest.raises(DatabaseError, match="append-only"):
            execute(statement.format(table))

    @pytest.mark.parametrize("table", TABLES)
    def test_truncate_cannot_delete_application_history(self, moved, needs_postgresql, table):
        with pytest.raises(DatabaseError, match="append-only"):
            execute("SET CONSTRAINTS ALL IMMEDIATE", f"TRUNCATE {table} CASCADE")

    @pytest.mark.parametrize("table", TABLES)
    @pytest.mark.parametrize("role", ["replica", "local"])
    def test_replication_role_does_not_disable_append_only_history(self, moved, needs_postgresql, table, role):
        for statement in (f"UPDATE {table} SET credential = 'x'", f"DELETE FROM {table}"):
            with pytest.raises(DatabaseError, match="append-only"):
                execute(f"SET LOCAL session_replication_role = {role}", statement)

    def test_application_with_a_history_cannot_be_deleted(self, moved):
        with pytest.raises(DatabaseError):
            delete_behind_the_orm(moved)

"""Test that prepared execution equals Django's execution, and supports wrappers, the query log, and transactions."""

from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.databases import database_of
from config.core.json_text import render_json
from config.core.prepared import PreparedGet, PreparedSelect, execute, insert, insert_all, update
from credit.models import Application, ApplicationHistory, PersonKey
from identity.models import ApiKey, User
from tests.factories import ApplicationFactory, UserFactory

DOCUMENT = {"text": "Zoë \U0001f600", "number": 1e300, "nested": [None, True, {"empty": {}}]}
MOMENT = datetime(2026, 2, 3, 4, 5, 6, 700, tzinfo=UTC)
FIELDS = tuple(field.attname for field in Application._meta.concrete_fields)
# The server prepares a statement after this many executions.
OFTEN = range(5)


@pytest.fixture(params=["direct", "watched"])
def way(request, db):
    """Both ways to the database: the driver's cursor, and Django's cursor while queries are captured."""
    if request.param == "direct":
        yield request.param
        return
    with CaptureQueriesContext(connections["default"]):
        yield request.param


@pytest.fixture
def connection(db):
    """Return the connection itself, without Django's proxy."""
    return connections["default"]


def test_prepared_get_returns_the_same_record_as_the_orm(way):
    application = ApplicationFactory(application_data=DOCUMENT, submitted_at=MOMENT, notes="")
    load = PreparedGet(Application, lambda application_id: Application.objects.filter(pk=application_id))
    expected = Application.objects.get(pk=application.pk)
    for _ in OFTEN:
        record = load(application_id=application.pk)
        assert [getattr(record, name) for name in FIELDS] == [getattr(expected, name) for name in FIELDS]
    assert record.submitted_at.tzinfo is UTC
    assert load(application_id=uuid4()) is None


def test_prepared_get_returns_the_same_json_column_as_the_orm(way):
    ApiKey.objects.create(
        id="abcdefghijkl", owner=UserFactory(), name="key", digest="0" * 64, secret="secret", scopes=["offers:read"],
        created_at=MOMENT, expires_at=datetime.max.replace(tzinfo=UTC),
    )  # fmt: skip
    load = PreparedGet(ApiKey, lambda key_id: ApiKey.objects.filter(pk=key_id))
    for _ in OFTEN:
        record = load(key_id="abcdefghijkl")
        assert (record.scopes, record.secret, record.revoked_at) == (["offers:read"], "secret", None)


def test_prepared_statement_passes_limit_and_offset_as_arguments(way):
    owner = UserFactory()
    pks = sorted((ApplicationFactory(consumer=owner).pk for _ in range(5)), reverse=True)

    def build(consumer_id, limit, offset):
        own = Application.objects.filter(consumer_id=consumer_id).order_by("-id")
        return own[offset : offset + limit]

    select = PreparedSelect(build, ("id",))
    for offset in range(6):
        rows = select.rows(consumer_id=owner.pk, limit=2, offset=offset)
        assert [row[0] for row in rows] == pks[offset : offset + 2]


def test_prepared_insert_stores_the_record_unchanged(way):
    owner = UserFactory()
    for _ in OFTEN:
        created = Application(
            consumer=owner, offer_id=-(2**63), provider_id=2**63 - 1, status="draft", initial_status="draft",
            application_data=DOCUMENT, created_at=MOMENT, updated_at=MOMENT,
        )  # fmt: skip
        insert(created)
        assert not created._state.adding
        application = Application.objects.get(pk=created.pk)
        assert [getattr(application, name) for name in FIELDS] == [getattr(created, name) for name in FIELDS]


class TestCompiledUpdate:
    """An UPDATE of constant shape."""

    def test_prepared_update_changes_only_matching_rows(self, way):
        changed, other = ApplicationFactory(), ApplicationFactory()
        values = {"status": "approved", "moves": 7, "application_data": DOCUMENT, "reviewed_at": MOMENT}
        assert update(Application, where={"pk": changed.pk, "status": "draft", "moves": 0}, values=values) == 1
        changed.refresh_from_db()
        assert (changed.status, changed.moves, changed.application_data) == ("approved", 7, DOCUMENT)
        assert changed.reviewed_at == MOMENT
        other.refresh_from_db()
        assert (other.status, other.moves) == ("draft", 0)

    def test_prepared_update_returns_the_number_of_changed_rows(self, way):
        application = ApplicationFactory(reviewed_at=MOMENT)
        values = {"status": "draft", "moves": 1, "application_data": None, "reviewed_at": None}
        where = {"pk": application.pk, "status": "draft", "moves": 0}
        assert update(Application, where=where, values=values) == 1
        for _ in OFTEN:
            assert update(Application, where=where, values=values) == 0
        application.refresh_from_db()
        assert (application.moves, application.application_data, application.reviewed_at) == (1, None, None)


def test_prepared_statement_in_a_broken_transaction_is_rejected(way, connection):
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            execute(connection, "SELECT 1", [])
        with pytest.raises(TransactionManagementError):
            execute(connection, "DELETE FROM webhooks_event", [])


def test_prepared_statement_raises_driver_errors_as_django_errors(way, connection):
    with pytest.raises(DatabaseError), transaction.atomic():
        execute(connection, "SELECT nothing_like_this", [])
    ApplicationFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        execute(connection, "UPDATE credit_application SET status = %s", [None])


def test_prepared_statement_is_recorded_in_captured_queries_and_passed_to_execute_wrappers(connection):
    with CaptureQueriesContext(connection) as seen:
        execute(connection, "SELECT 41 + %s", [1])
        execute(connection, "DELETE FROM webhooks_event WHERE type = %s", ["none"])
    assert len(seen) == 2

    def refuse(*_arguments):
        raise RuntimeError("no statement here")

    with connection.execute_wrapper(refuse), pytest.raises(RuntimeError):
        execute(connection, "SELECT 1", [])


def test_rows_of_a_prepared_statement_remain_readable_after_the_next_statement(way, connection):
    first, _ = execute(connection, "SELECT 'x' || %s", ["y"])
    assert execute(connection, "SELECT 1", [])[0] == [(1,)]
    assert first == [("xy",)]


def test_a_rollback_undoes_a_prepared_update(way, connection):
    application = ApplicationFactory(notes="as it was")
    with transaction.atomic():
        assert execute(connection, "UPDATE credit_application SET notes = %s", ["changed"])[1] == 1
        transaction.set_rollback(True)
    application.refresh_from_db()
    assert application.notes == "as it was"


def test_prepared_statement_works_after_a_new_connection(committed, needs_postgresql):
    connection = connections["default"]
    for number in OFTEN:
        assert execute(connection, "SELECT %s::int", [number])[0] == [(number,)]
        connection.close()


def test_a_prepared_statement_survives_a_change_of_a_column_type(committed, needs_postgresql):
    connection = connections["default"]
    wanted = {"dbname", "user", "password", "host", "port"}
    parameters = {name: value for name, value in connection.get_connection_params().items() if name in wanted}
    select = "SELECT name FROM changing WHERE id = %s"
    with psycopg.connect(**parameters, autocommit=True) as other:
        other.execute("CREATE TABLE changing (id bigint, name varchar(10))")
        try:
            other.execute("INSERT INTO changing VALUES (1, 'one')")
            for _ in OFTEN:
                assert execute(connection, select, [1])[0] == [("one",)]
            other.execute("ALTER TABLE changing ALTER name TYPE varchar(20)")
            for _ in OFTEN:
                assert execute(connection, select, [1])[0] == [("one",)]
            other.execute("ALTER TABLE changing ALTER name TYPE varchar(30)")
            with pytest.raises(DatabaseError), transaction.atomic():
                execute(connection, select, [1])
            with transaction.atomic():
                assert execute(connection, select, [1])[0] == [("one",)]
        finally:
            other.execute("DROP TABLE changing")


class TestPreparedStatements:
    @pytest.fixture
    def driver(self, needs_postgresql, connection):
        connection.ensure_connection()
        return connection.connection

    @staticmethod
    def prepared(driver):
        """Return the statements that the server has prepared for this connection."""
        return [row[0] for row in driver.execute("SELECT statement FROM pg_prepared_statements")]

    def test_a_statement_is_prepared_by_its_third_execution(self, connection, driver):
        for _ in OFTEN:
            execute(connection, "SELECT %s::int AS often", [1])
        assert [text for text in self.prepared(driver) if "AS often" in text]

    def test_orm_statements_are_not_prepared(self, connection, driver):
        execute(connection, "SELECT %s::int AS seldom", [1])
        for _ in OFTEN:
            User.objects.filter(username="somebody's name").first()
        assert not [text for text in self.prepared(driver) if "somebody" in text]

    def test_no_statement_is_prepared_with_a_high_prepare_threshold(self, connection, driver):
        entry = database_of("postgres://u@h/d?prepare_threshold=1000000000", statement_timeout_seconds=0)
        driver.prepare_threshold = entry["OPTIONS"]["prepare_threshold"]
        for _ in OFTEN:
            execute(connection, "SELECT %s::int AS pooled", [1])
        assert not [text for text in self.prepared(driver) if "AS pooled" in text]


COLUMNS = ("id", "status", "created_at", "application_data", "notes")
DOCUMENTS = [None, {"a": [1, 2.5, None, "é"]}, [], "text", 0, True]


def test_a_prepared_select_returns_the_same_rows_as_the_queryset(user):
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


def test_prepared_select_returns_stored_documents_unchanged(user):
    ApplicationFactory(consumer=user, application_data={"b": 2.5e-7, "a": [1.0, -0.0]})
    select = PreparedSelect(
        lambda consumer_id: Application.objects.filter(consumer_id=consumer_id), ("application_data",)
    )
    (row,) = select.rows(consumer_id=user.pk)
    assert render_json(row[0]) == b'{"b":2.5e-7,"a":[1.0,-0.0]}'


def test_prepared_statement_text_does_not_contain_its_arguments(user):
    for text in ["'; DROP TABLE credit_application; --", "%s", "%(x)s", "100%", '"', "\\", "?"]:
        ApplicationFactory(consumer=user, notes=text)
        select = PreparedSelect(lambda notes: Application.objects.filter(notes=notes), ("notes",))
        assert select.rows(notes=text) == [(text,)], text


def test_record_read_by_a_prepared_get_can_be_saved(user):
    application = ApplicationFactory(consumer=user)
    result = PreparedGet(Application, lambda pk: Application.objects.filter(pk=pk))(pk=application.id)
    assert result == application
    result.notes = "changed"
    result.save(update_fields=["notes"])
    assert Application.objects.get(pk=application.pk).notes == "changed"


def test_prepared_insert_fills_in_defaults(db):
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


@pytest.mark.django_db
def test_insert_all_inserts_several_rows_in_one_statement_and_accepts_an_empty_list(django_assert_num_queries):
    application = ApplicationFactory()
    keys = [PersonKey(application=application, digest=digest) for digest in ("a" * 64, "b" * 64)]
    with django_assert_num_queries(1):
        insert_all(keys)
    with django_assert_num_queries(0):
        insert_all([])
    stored = PersonKey.objects.filter(application=application).order_by("digest")
    assert [(key.pk, key.digest) for key in stored] == [(key.pk, key.digest) for key in keys]

"""`deploy/roles.sql` and `deploy/pgbouncer.ini` on a separate PostgreSQL cluster."""

import contextlib
import json
import re
import shutil
import subprocess
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from config.core.databases import database_of
from tests import clusters, processes
from tests.bench.faults.cluster import cluster
from tests.bench.server import worker
from tests.documents import ROOT
from tests.processes import PATIENCE_SECONDS, account_with_key, free_port, listens, wait_until
from tests.system.deploy.conftest import apply_roles
from tests.system.server import (
    body_of,
    environment_of,
    exchange,
    gunicorn,
    manage,
    metrics_server,
    request,
    scrape,
    status_of,
)  # fmt: skip

pytestmark = pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())
PGBOUNCER = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")


@pytest.fixture(scope="module")
def account(prepared):
    """The ID and the API key of an account."""
    server, folder = prepared
    return account_with_key(environment_of(server.address("creditplatform", "platform"), folder), "ada")[:2]


def test_the_serving_database_role_owns_no_table_and_cannot_change_records(prepared, account):
    server, folder = prepared
    address = server.address("creditplatform", "platform")
    checks = {check["name"]: check for check in json.loads(manage(address, folder, "doctor", "--json"))["checks"]}
    assert checks["database_role"]["why"] == "owns no table"
    with psycopg.connect(address, autocommit=True) as session:
        for statement in (
            "ALTER TABLE credit_applicationhistory DISABLE TRIGGER ALL",
            "DROP TRIGGER credit_applicationhistory_no_change ON credit_applicationhistory",
            "TRUNCATE credit_applicationhistory",
            "DELETE FROM credit_decisionanchor",
            "CREATE TABLE own (id int)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(statement)
        assert session.execute("SHOW idle_in_transaction_session_timeout").fetchone()[0] == "90s"


def test_database_master_user_without_superuser_rights_can_apply_roles_sql():
    with cluster() as server:
        with server.connect("postgres") as session:
            session.execute("DROP DATABASE platform")
            session.execute("DROP ROLE platform")
            session.execute("CREATE ROLE master LOGIN CREATEROLE CREATEDB")
        with psycopg.connect(server.address("postgres", "master"), autocommit=True) as session:
            session.execute("CREATE DATABASE creditplatform")
        apply_roles(server, "master")
        with psycopg.connect(server.address("creditplatform", "platform_owner"), autocommit=True) as session:
            session.execute("CREATE TABLE credit_decisionanchor (id bigserial)")
        apply_roles(server, "master")
        with psycopg.connect(server.address("creditplatform", "platform"), autocommit=True) as session:
            session.execute("INSERT INTO credit_decisionanchor DEFAULT VALUES")
            assert session.execute("SELECT id FROM credit_decisionanchor").fetchall() == [(1,)]
            assert session.execute("SHOW statement_timeout").fetchone()[0] == "25s"
            for statement in ("DELETE FROM credit_decisionanchor", "CREATE TABLE own (id int)", "SET ROLE master"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    session.execute(statement)
        without_limit = f"{server.address('creditplatform', 'platform')}?options=-c%20statement_timeout=0"
        options = database_of(without_limit, statement_timeout_seconds=0)["OPTIONS"]["options"]
        with psycopg.connect(server.address("creditplatform", "platform"), options=options) as session:
            assert session.execute("SHOW statement_timeout").fetchone()[0] == "0"


def role_check(address, folder, **more):
    """Return the result of `doctor` for the database roles."""
    checks = json.loads(processes.manage(environment_of(address, folder, **more), "doctor", "--json"))["checks"]
    return next(check["why"] for check in checks if check["name"] == "database_role")


def test_doctor_warns_about_a_database_role_that_can_change_records(prepared):
    server, folder = prepared
    serving, owner, superuser = (
        server.address("creditplatform", role) for role in ("platform", "platform_owner", "postgres")
    )
    assert "in the database 'default' is a superuser" in role_check(superuser, folder)
    assert "in the database 'ledger' owns" in role_check(serving, folder, LEDGER_DATABASE_URL=owner)
    with server.connect("creditplatform") as session:
        session.execute("GRANT platform_owner TO platform")
        assert "is a member of platform_owner, which owns the tables" in role_check(serving, folder)
        session.execute("REVOKE platform_owner FROM platform")
        session.execute("GRANT DELETE ON credit_decisionanchor TO platform")
        assert "can delete records for the ledger: run deploy/roles.sql again" in role_check(serving, folder)
        apply_roles(server)
        assert role_check(serving, folder) == "owns no table"


@contextlib.contextmanager
def pgbouncer(server, folder, pool_size=8):
    """Run PgBouncer with `deploy/pgbouncer.ini`, test ports, and no passwords; yield its database URL."""
    port = free_port()
    text = (ROOT / "deploy/pgbouncer.ini").read_text()
    text = text.replace("port=5432", f"port={server.port}").replace("listen_port = 6432", f"listen_port = {port}")
    trusting = f"auth_type = trust\nauth_file = {folder}/users\nunix_socket_dir =\n"
    text = re.sub(r"auth_type.*\nauth_file.*\n", trusting, text)
    text = text.replace("default_pool_size = 8", f"default_pool_size = {pool_size}")
    (folder / "users").write_text('"platform" ""\n')
    file = folder / f"pgbouncer-{port}.ini"
    file.write_text(text)
    folder.chmod(0o755)
    command = [PGBOUNCER, "-u", "postgres", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"postgres://platform@127.0.0.1:{port}/creditplatform?prepare_threshold=1000000000"
    try:
        wait_until(lambda: listens(port))
        yield address
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


class Sessions(threading.Thread):
    """Counts the PostgreSQL sessions of the serving role every 0.1 s."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.most, self.over = server, 0, threading.Event()

    def run(self):
        with self.server.connect("creditplatform") as session:
            while not self.over.wait(0.1):
                connection_count = session.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE usename = 'platform'"
                ).fetchone()
                self.most = max(self.most, connection_count[0])


def send_typical_requests(port, me, key):
    """Send the typical requests of a caller; return the response statuses."""
    head = ["Content-Type: application/json", f"X-API-Key: {key}"]
    statuses = []

    def call(method, path, body=None):
        once = f"Idempotency-Key: {uuid.uuid4()}"
        answer = exchange(port, request(method, f"/v1{path}", json.dumps(body).encode() if body else b"", once, *head))
        statuses.append(status_of(answer))
        return json.loads(body_of(answer)) if status_of(answer) < 300 else {}

    terms = {"consumer_id": str(me), "offer_id": 1, "provider_id": 1, "application_data": {}}
    created_id = call("POST", "/applications", terms)["id"]
    call("PUT", f"/applications/{created_id}/status", {"status": "submitted", "updated_by": str(me)})
    call("GET", f"/applications/{created_id}")
    call("GET", "/applications?limit=20")
    call("POST", "/payments/process", {"user_id": me, "amount_cents": 100, "payment_method_id": "pm_card_visa"})
    call("POST", "/staging/items", {"kind": "note", "payload": {"text": "Note."}})
    call("GET", "/auth/me")
    return statuses


@pytest.mark.skipif(PGBOUNCER is None, reason="needs pgbouncer")
def test_servers_and_workers_behind_pgbouncer_use_at_most_eight_connections(prepared, account, tmp_path):
    server, folder = prepared
    me, key = account
    with ExitStack() as running:
        address = running.enter_context(pgbouncer(server, tmp_path))
        ports = [running.enter_context(gunicorn(address, folder, workers=2, threads=16)) for _ in range(2)]
        env = environment_of(address, folder)
        for name in ("deliver_webhooks", "reconcile_payments", "anchor_decisions"):
            running.enter_context(worker(name, env))
        sessions = Sessions(server)
        sessions.start()
        with ThreadPoolExecutor(32) as callers:
            statuses = [*callers.map(lambda number: send_typical_requests(ports[number % 2], me, key), range(64))]
        sessions.over.set()
        sessions.join()
    assert {tuple(item) for item in statuses} == {(201, 200, 200, 200, 200, 201, 200)}
    assert 1 < sessions.most <= 8


@pytest.mark.skipif(PGBOUNCER is None, reason="needs pgbouncer")
def test_metrics_request_leaves_no_setting_on_a_pooled_database_session(prepared, tmp_path):
    server, folder = prepared
    with pgbouncer(server, tmp_path, pool_size=1) as address, metrics_server(address, folder) as port:
        assert scrape(port)['platform_database_up{database="default"}'] == 1
        with psycopg.connect(address.partition("?")[0]) as session:
            assert session.execute("SHOW statement_timeout").fetchone()[0] == "25s"

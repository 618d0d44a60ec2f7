"""`deploy/rehearse-restore` dumps, restores, and verifies; `backup_manifest --check` finds a wrong restore."""

import json
import threading
import uuid

import psycopg
import pytest

from tests import clusters
from tests.bench.faults.cluster import cluster
from tests.processes import PATIENCE_SECONDS, run_python
from tests.system.server import body_of, environment_of, exchange, gunicorn, manage, request, status_of

pytestmark = pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())
ERASE = """
from django.core.management import call_command
from identity.access.models import User
call_command("erase_subject", str(User.objects.create_user("erased").pk))
"""


@pytest.fixture(scope="module")
def place(cluster_with_account, tmp_path_factory):
    """The database URL and the secrets of a platform with an erasure, whose ledger has an entry and a guard file."""
    with cluster(data=cluster_with_account.data) as server:
        address = server.address("platform", "postgres")
        folder = cluster_with_account.secrets(tmp_path_factory.mktemp("rehearsal"))
        with gunicorn(address, folder, module="ledger.wsgi") as ledger:
            report = json.dumps({"user_id": "ada", "report_type": "decision", "report_data": "the first"}).encode()
            answer = exchange(ledger, request("POST", "/anchor", report, "Content-Type: application/json"))
            assert status_of(answer) == 200
        done = run_python(environment_of(address, folder), "manage.py", "shell", "-v", "0", "-c", ERASE)
        assert done.returncode == 0, done.stderr
        yield address, folder


def rehearse(address, folder):
    """Run the rehearsal; return its figures, or None if it fails, and its standard error."""
    done = run_python(environment_of(address, folder), "deploy/rehearse-restore")
    return (json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None), done.stderr


def test_database_dump_under_traffic_contains_all_writes_and_erasures_acknowledged_before_the_dump(
    place, cluster_with_account
):
    address, folder = place
    me, key = cluster_with_account.account
    body = json.dumps({"consumer_id": str(me), "offer_id": 1, "provider_id": 1, "application_data": {}}).encode()
    acknowledged, over, has_started = [], threading.Event(), threading.Event()

    def apply(port, ledger):
        while not over.is_set():
            head = [f"Idempotency-Key: {uuid.uuid4()}", f"X-API-Key: {key}", "Content-Type: application/json"]
            answer = exchange(port, request("POST", "/v1/applications", body, *head))
            if status_of(answer) == 201:
                document_id = json.loads(body_of(answer))["id"]
                acknowledged.append(document_id)
                report = json.dumps({"user_id": "ada", "report_type": "decision", "report_data": document_id}).encode()
                assert status_of(exchange(ledger, request("POST", "/anchor", report, head[2]))) in {200, 201}
                has_started.set()

    with (
        gunicorn(address, folder, workers=2) as port,
        gunicorn(address, folder, module="ledger.wsgi", threads=8) as ledger,
    ):
        caller = threading.Thread(target=apply, args=(port, ledger))
        caller.start()
        try:
            assert has_started.wait(PATIENCE_SECONDS)
            before = len(acknowledged)
            figures, errors = rehearse(address, folder)
        finally:
            over.set()
            caller.join()
    assert figures is not None, errors
    rows = figures["DATABASE_URL rows"]
    assert before <= rows["applications"]["restored"] <= len(acknowledged)
    assert rows["applications"]["acknowledged after the dump began"] > 0
    assert rows["ledger entries"]["restored"] == figures["ledger verified"]["entries"] >= before
    assert figures["DATABASE_URL dump"]["bytes"] > 10_000
    assert figures["erasures"] == {"listed": 1, "to apply again": 0}
    with psycopg.connect(address) as session:
        assert session.execute("SELECT count(*) FROM pg_database WHERE datname LIKE '%rehearsal'").fetchone()[0] == 0


def check(address, folder, manifest, **environment):
    """Return the errors of `backup_manifest --check`, or None if it succeeds."""
    file = folder / "manifest.json"
    file.write_text(json.dumps(manifest))
    env = environment_of(address, folder, **environment)
    done = run_python(env, "manage.py", "backup_manifest", "--check", str(file))
    assert "Traceback" not in done.stderr
    return done.stderr.strip() if done.returncode else None


def test_backup_manifest_check_reports_each_defect_of_an_incorrect_restore(place):
    address, folder = place
    manifest = json.loads(manage(address, folder, "backup_manifest", "--json"))
    assert check(address, folder, manifest) is None
    assert not {"key", "secret"} & set(json.dumps(manifest["secrets"]).lower().split('"'))
    more = manifest | {"ledger": manifest["ledger"] | {"entries": manifest["ledger"]["entries"] + 5}}
    assert "older backup" in check(address, folder, more)
    other_root = manifest | {"ledger": manifest["ledger"] | {"root": "0" * 64}}
    assert "another log" in check(address, folder, other_root)
    assert "lacks 1 key" in check(address, folder, manifest, FIELD_ENCRYPTION_KEYS="A" * 43 + "=")
    assert "SECRET_KEY" in check(address, folder, manifest, SECRET_KEY="x9" * 40)
    assert "missing or damaged" in check(address, folder, manifest, LEDGER_GUARD_FILE=str(folder / "none"))
    ahead = folder / "ahead.json"
    ahead.write_text(json.dumps({"size": 10**6, "root": "0" * 64}).ljust(127) + "\n")
    assert "more than the ledger has" in check(address, folder, manifest, LEDGER_GUARD_FILE=str(ahead))
    assert "must be a manifest" in check(address, folder, {"made_at": "today"})

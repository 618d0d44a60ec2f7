"""After an erasure, no personal data is left in dumps, files, logs, Redis, or a restored backup."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from base64 import b64encode
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit
from uuid import uuid4
from zipfile import ZipFile

import pytest
import requests
from allauth.account.models import EmailAddress
from cryptography.fernet import InvalidToken
from django.db import connection
from django.utils import timezone
from redis import Redis
from redis.exceptions import ConnectionError as RedisAway

from config.core.digest import digest_of
from config.core.encryption import key_ring
from config.mail.outbox import queue_mail
from credit.documents import storage
from credit.models import DocumentFile, RequestedDocument
from identity.access.keys import create_api_key
from identity.access.models import User
from identity.accounts import erasure
from identity.accounts.models import Erasure
from identity.bank.models import BankItem
from identity.providers.models import SandboxItem
from tests.databases import own_database_url, store_environment
from tests.factories import ApplicationFactory, UserFactory
from tests.flows.markers import Planter, places_of
from tests.flows.test_erasure import declared_with, left_of, planted
from tests.flows.test_export import secret_fields
from tests.processes import free_port, run_python, temporary_database
from tests.system.config.test_misconfiguration import PRODUCTION, SERVER
from tests.system.server import running

MINE, KEPT = "qqmine", "qqkept"
# Values of personal fields that dumps, JSON, HTML, and URLs encode differently.
KINDS = (
    "Rosa Alvarez", "Zoë Ångström", "Ольга", "李小龍", "O'Brien & Söhne", '"quoted"', "<b>bold</b>", "back\\slash",
    "tab\there", "two\nlines", "rosa@example.test", "+1 555 0100", "123-45-6789", "DE89 3704 0044", "1985-04-12",
    "12 Main St; Apt 4", "$85,000.00", "😀 smile", "%41%42", "../up/rosa.pdf",
)  # fmt: skip


class KindsPlanter(Planter):
    """Plants a different kind of text in each field, and a different marker in fields with a ground for retention."""

    def plant(self):
        self.kept = declared_with(is_permanent=True) | declared_with(ground="audit_log")
        self.planted = 0
        super().plant()

    def marked(self, field):
        kind = KINDS[self.planted % len(KINDS)]
        self.planted += 1
        self.marker = f"{KEPT if f'{field.model._meta.label}.{field.name}' in self.kept else MINE} {kind}"
        return super().marked(field)


def markers_in(content):
    """Return the markers in content, including values that the platform's keys decrypt."""
    markers = {marker for marker in (MINE, KEPT) if marker.encode() in content}
    for token in set(re.findall(rb"gAAAA[A-Za-z0-9_=-]{60,}", content)):
        try:
            decrypted = key_ring().decrypt(token)
        except InvalidToken:
            continue
        markers |= {marker for marker in (MINE, KEPT) if marker.encode() in decrypted}
    return markers


def markers_in_folder(folder):
    return {marker for file in folder.rglob("*") if file.is_file() for marker in markers_in(file.read_bytes())}


def dump(address):
    """Return a database as SQL."""
    if address.startswith("postgres"):
        return subprocess.run(["pg_dump", "-d", address], capture_output=True, check=True).stdout
    with closing(sqlite3.connect(urlsplit(address).path)) as here:
        return "\n".join(here.iterdump()).encode()


def bytes_of(address):
    """Return the content of all files of a SQLite database."""
    files = [Path(urlsplit(address).path + suffix) for suffix in ("", "-wal", "-shm")]
    # A separate process reads the files. If this process closed such a file, it would release its own locks on the
    # database (sqlite.org/howtocorrupt.html, 2.2), and its connections would read deleted files.
    return subprocess.run(["cat", *filter(Path.exists, files)], capture_output=True, check=True).stdout


@contextmanager
def backup_of(address, folder):
    """Back up a database; yield a function that restores the backup elsewhere and returns its URL."""
    if address.startswith("postgres"):
        with temporary_database(address, f"restored_{uuid4().hex[:12]}") as restored:
            content = dump(address)

            def restore():
                psql = ["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", restored]
                subprocess.run(psql, input=content, capture_output=True, check=True)
                return restored

            yield restore
    else:
        with closing(sqlite3.connect(urlsplit(address).path)) as here:
            here.execute("VACUUM INTO ?", [str(folder / "backup.sqlite3")])
        yield lambda: f"sqlite:///{shutil.copyfile(folder / 'backup.sqlite3', folder / 'restored.sqlite3')}"


@pytest.fixture
def place(committed, settings, tmp_path):
    """The environment of processes that use this test's database, a temporary folder, and Redis if it runs."""
    var = tmp_path / "var"
    var.mkdir()
    environment = {
        "VAR_DIR": str(var), "DATABASE_URL": own_database_url(), "SECRET_KEY": settings.SECRET_KEY,
        "FIELD_ENCRYPTION_KEYS": ",".join(settings.FIELD_ENCRYPTION_KEYS),
        "DOCUMENT_STORAGE": str(settings.STORAGES["documents"]["OPTIONS"]["location"]),
    }  # fmt: skip
    redis = Redis(port=6379, db=13)
    try:
        redis.flushdb()
        environment["REDIS_URL"] = "redis://127.0.0.1:6379/13"
    except RedisAway:
        redis = None
    yield SimpleNamespace(environment=environment, var=var, redis=redis, log=tmp_path / "log", folder=tmp_path)
    if redis is not None:
        redis.flushdb()


def run(place, *arguments, **environment):
    done = run_python({**place.environment, **environment}, *arguments)
    with place.log.open("a") as log:
        log.write(done.stdout + done.stderr)
    return done


def send_requests(place, key):
    """Send requests with markers in bodies, queries, paths, and headers."""
    environment = {name: value for name, value in place.environment.items() if name not in {"VAR_DIR", "DATABASE_URL"}}
    with place.log.open("ab") as log, running(own_database_url(), place.var, stderr=log, **environment) as server:
        address = f"http://127.0.0.1:{server.port}/v1"
        for number, kind in enumerate(KINDS):
            headers = {"X-API-Key": key, "Idempotency-Key": str(uuid4()), "User-Agent": f"{MINE}-{number}"}
            sent = {"offer_id": 1, "provider_id": 1, "application_data": {"name": f"{MINE} {kind}"}}
            answers = [
                requests.post(f"{address}/applications", json=sent, headers=headers, timeout=99),
                requests.get(
                    f"{address}/applications", params={"status": f"{MINE} {kind}"}, headers=headers, timeout=99
                ),
                requests.get(f"{address}/applications/{MINE}-{number}", headers=headers, timeout=99),
            ]
            assert all(answer.status_code < 500 for answer in answers)


def plant(user):
    """Store markers in every table, a file, and a mail; return the planter and the stored file."""
    application = ApplicationFactory(consumer=user)
    planter = KindsPlanter(user, MINE, application=application)
    planter.plant()
    content = b"%PDF-1.4 " + MINE.encode()
    stored = storage.store_file(content, now=timezone.now())
    DocumentFile.objects.create(
        document=RequestedDocument.objects.get(application=application), stored=stored, name=f"{MINE}.pdf",
        size_bytes=1, content_type="application/pdf", sha256=storage.sha256(content).hexdigest(),
        received_at=timezone.now(), principal=user,
    )  # fmt: skip
    EmailAddress.objects.create(user=user, email=f"{MINE}@example.test", verified=True)
    queue_mail(f"{MINE}@example.test", "notice", {"name": MINE}, now=timezone.now())
    # Three bank items that exist at the sandbox vendor, so that the test can count their removals.
    BankItem.objects.filter(user=user).delete()
    for number in range(3):
        token = f"access-sandbox-{uuid4()}"
        SandboxItem.objects.create(
            item_id=str(uuid4()), access_digest=digest_of(token), public_digest=digest_of(f"p{token}"),
            created_at=timezone.now(),
        )  # fmt: skip
        BankItem.objects.create(
            user=user, provider="sandbox", item_id=f"{MINE}-{number}", token_fingerprint=uuid4().hex,
            access_token=token, linked_at=timezone.now(), updated_at=timezone.now(),
        )  # fmt: skip
    return planter, stored


def assert_exported(place, user):
    target = place.folder / "copy.zip"
    done = run(place, "manage.py", "export_subject", str(user.pk), "--to", str(target))
    assert done.returncode == 0, done.stderr
    with ZipFile(target) as archive:
        copies = {name: archive.read(name) for name in archive.namelist()}
    for marked in (places_of(MINE) | places_of(KEPT)) - secret_fields():
        label = marked.rpartition(".")[0]
        if f"records/{label}.json" in copies:
            assert markers_in(copies[f"records/{label}.json"]), marked
    assert any(MINE.encode() in content for name, content in copies.items() if name.startswith("files/"))
    assert any(MINE.encode() in content for name, content in copies.items() if name.startswith("mails/"))
    target.unlink()


def assert_erased(place, address):
    """Assert that a database contains only markers of fields with a ground for retention, and files contain none."""
    content = dump(address)
    assert markers_in(content) == {KEPT}, [
        line[:2000] for line in content.splitlines() if MINE in str(markers_in(line))
    ]
    if address.startswith("sqlite"):
        assert MINE.encode() not in bytes_of(address)
        assert markers_in(bytes_of(address)) <= {KEPT}
    assert markers_in_folder(place.var) == set()
    assert markers_in_folder(Path(place.environment["DOCUMENT_STORAGE"])) == set()


def test_erasure_removes_all_personal_data_also_from_a_restored_backup(place):
    user = UserFactory(username="rosa")
    key = create_api_key(owner=user, name="n", scopes=None, now=timezone.now()).key
    _planter, stored = plant(user)
    send_requests(place, key)
    assert_exported(place, user)
    with backup_of(own_database_url(), place.folder) as restore:
        now = timezone.now()
        erasure._record(user.pk, requested_at=now - timedelta(days=15))
        done = run(place, "manage.py", "process_privacy", "--once", "--json")
        assert '"erased":1' in done.stdout, done.stdout + done.stderr
        record = Erasure.objects.get()
        assert {each["ground"] for each in record.kept} == {"audit_log", "decision_records"}
        assert SandboxItem.objects.filter(removed_at__isnull=False).count() == 3
        assert not storage.storage().exists(stored.name)
        connection.close()
        assert_erased(place, own_database_url())
        if place.redis is not None:
            dumped = [place.redis.dump(name) + name for name in place.redis.scan_iter()]
            assert not any(markers_in(content) for content in dumped)

        restored = restore()
        assert markers_in(dump(restored)) == {MINE, KEPT}
        store_environment(restored, "production")
        production = {
            **PRODUCTION, "DATABASE_URL": restored, "ALLOW_SANDBOX": "1",
            "DECISION_SIGNING_KEY": b64encode(os.urandom(32)).decode(),
            **{name: place.environment[name] for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS")},
        }  # fmt: skip
        file = place.var / "erasures.jsonl"
        for program in (["manage.py", "process_privacy", "--once"], [*SERVER, "config.wsgi"]):
            rejected = run(place, *program, **production, PORT=str(free_port()))
            assert (rejected.returncode, f"apply_erasures {file}" in rejected.stderr) == (os.EX_CONFIG, True), rejected
        applied = run(place, "manage.py", "apply_erasures", str(file), "--json", **production)
        assert applied.returncode == 0, applied.stderr
        assert_erased(place, restored)
        assert run(place, "manage.py", "process_privacy", "--once", **production).returncode == 0
    assert markers_in(place.log.read_bytes()) == set()


# Erases accounts in child processes, and kills each child at a different SQL statement.
KILLED = """
import os, signal
from django.core.management import call_command
from django.db import connection, connections

def erase_in_child(user_id, at):
    reading, writing = os.pipe()
    connections.close_all()
    child = os.fork()
    if child == 0:
        statements = []

        def count(execute, *arguments):
            statements.append(1)
            if len(statements) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return execute(*arguments)

        with connection.execute_wrapper(count):
            call_command("erase_subject", str(user_id))
        os.write(writing, str(len(statements)).encode())
        os._exit(0)
    os.close(writing)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(reading) as pipe:
        return status, pipe.read()

first, *others = {users!r}
status, number = erase_in_child(first, 0)
assert status == 0, status
for position, user_id in enumerate(others):
    at = 1 + position * int(number) // len(others)
    status, _number = erase_in_child(user_id, at)
    assert status == -signal.SIGKILL, (status, at)
print("killed", len(others), "at", number, "statements")
"""


def test_an_erasure_killed_at_any_statement_is_completed_only_once(place):
    users = [UserFactory() for _ in range(int(os.environ.get("ERASURE_KILLS", "8")) + 1)]
    for user in users:
        planted(user, f"{MINE}-{user.pk}")
        item = SandboxItem.objects.create(
            item_id=f"item-{user.pk}", access_digest=digest_of(f"access-{user.pk}"), public_digest=uuid4().hex,
            created_at=timezone.now(),
        )  # fmt: skip
        linked = BankItem.objects.get(user=user)
        linked.access_token, linked.item_id = f"access-{user.pk}", item.item_id
        linked.save(update_fields=["access_token", "item_id"])
    program = KILLED.format(users=[user.pk for user in users])
    killed = run(place, "manage.py", "shell", "-v", "0", "-c", program)
    assert f"killed {len(users) - 1} at" in killed.stdout, killed.stdout + killed.stderr
    done = run(place, "manage.py", "process_privacy", "--once", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    ended = dict(User.objects.filter(erased_at__isnull=False).values_list("pk", "erased_at"))
    for user in users:  # repeat the command if it was killed before the erasure started
        if user.pk not in ended:
            assert run(place, "manage.py", "erase_subject", str(user.pk)).returncode == 0
    assert left_of(MINE) == set()
    assert sorted(Erasure.objects.values_list("account", flat=True)) == [user.pk for user in users]
    assert set(Erasure.objects.values_list("status", flat=True)) == {"waiting"}
    assert not SandboxItem.objects.filter(removed_at__isnull=True).exists()
    keys = [json.loads(line)["subject_key"] for line in (place.var / "erasures.jsonl").read_text().splitlines()]
    assert set(keys) == set(Erasure.objects.values_list("subject_key", flat=True))
    assert dict(User.objects.filter(pk__in=ended).values_list("pk", "erased_at")) == ended

"""Test the checks and the exit status of `manage.py doctor`."""

import base64
import hashlib
import json
import re
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core import checks
from django.core.checks.registry import registry
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.api import errors
from config.core import databases
from config.env import misspelt
from config.ops.checks import DOCTOR, START, disk_faults, register, require_at_start
from config.ops.health import health_status
from identity.access import signing_keys
from tests.config.test_unreadable import lose_the_key
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
NAMES = {
    "encryption_keys", "migrations", "database_role", "session_timeouts", "clock", "redis", "production",
    "ledger_access", "ledger", "mail", "encoding", "disk_space", "spelling", "dead_letters",
}  # fmt: skip


def examine():
    """Return (exit status, printed document)."""
    out = StringIO()
    status = 0
    try:
        call_command("doctor", as_json=True, stdout=out)
    except SystemExit as end:
        status = end.code
    return status, json.loads(out.getvalue().splitlines()[-1])


def why(name):
    return next(check["why"] for check in examine()[1]["checks"] if check["name"] == name)


def test_doctor_succeeds_for_a_valid_installation_and_writes_nothing(user):
    issue(user)
    with CaptureQueriesContext(connection) as queries:
        status, printed = examine()
    assert (status, printed["ok"]) == (0, True), printed
    assert {check["name"] for check in printed["checks"]} >= NAMES
    assert all(set(check) == {"name", "ok", "why"} for check in printed["checks"])
    changes = ("INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP")
    assert not [query["sql"] for query in queries if query["sql"].lstrip().upper().startswith(changes)]


def test_doctor_and_the_server_start_fail_if_the_encryption_key_is_lost(user, settings):
    issue(user)
    require_at_start()
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    status, printed = examine()
    assert (status, printed["ok"]) == (78, False)
    assert "identity.ApiKey.secret" in why("encryption_keys")
    with pytest.raises(ImproperlyConfigured, match="add the key that encrypted them"):
        require_at_start()


def test_doctor_fails_but_servers_start_if_some_encrypted_values_are_unreadable(user, settings):
    signing_keys.create_signing_key(now=timezone.now(), signs_from=timezone.now())
    lose_the_key(issue(user).record)
    require_at_start()
    readable = issue(user).record
    require_at_start()
    readable.delete()  # the ids of keys are random, and `doctor` reads the last
    assert examine()[0] == 78
    assert "identity.ApiKey.secret" in why("encryption_keys")
    assert "SigningKey" not in why("encryption_keys")


@pytest.fixture
def served(settings, monkeypatch):
    """Valid settings for production."""
    settings.PRODUCTION, settings.REVIEW_POLICY, settings.BACKOFFICE_SECOND_FACTOR = True, "four_eyes", True
    settings.ANCHOR_DECISIONS, settings.LEDGER_CLIENT_KEY, settings.ALLOWED_HOSTS = True, "k" * 43, ["api.example"]
    settings.CARD_PROCESSOR, settings.OPEN_BANKING, settings.CUSTODY = "stripe", "plaid", "circle"
    settings.SETTLEMENT_RPC_URL, settings.ALLOW_SANDBOX = "https://node.example", False
    settings.REPORTS = "off"
    settings.DECISION_SIGNING_KEY = base64.b64encode(bytes(range(32))).decode()
    # The database of the test run may be SQLite, which production rejects.
    for database in settings.DATABASES.values():
        monkeypatch.setitem(database, "ENGINE", "django.db.backends.postgresql")
    return settings


WRONG = [
    ("CARD_PROCESSOR", "sandbox", "ALLOW_SANDBOX=1"), ("OPEN_BANKING", "sandbox", "ALLOW_SANDBOX=1"),
    ("CUSTODY", "sandbox", "ALLOW_SANDBOX=1"), ("REPORTS", "sandbox", "ALLOW_SANDBOX=1"),
    ("SETTLEMENT_RPC_URL", "", "ALLOW_SANDBOX=1"),
    ("REVIEW_POLICY", "open", "REVIEW_POLICY=open lets applicants approve themselves"),
    ("BACKOFFICE_SECOND_FACTOR", False, "BACKOFFICE_SECOND_FACTOR=0 allows staff to log in with only a password"),
    ("ALLOWED_HOSTS", ["api.example", "*"], "ALLOWED_HOSTS=* accepts every host name"),
    ("LEDGER_CLIENT_KEY", "", "ANCHOR_DECISIONS requires LEDGER_CLIENT_KEY"),
]  # fmt: skip


def test_production_with_valid_settings_passes_the_start_checks(served):
    require_at_start()
    assert why("production") == "set for production"


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG)
def test_production_does_not_start_with_development_settings(served, name, value, sentence):
    setattr(served, name, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        require_at_start()
    assert sentence in str(refused.value)
    # ALLOW_SANDBOX permits it explicitly.
    served.ALLOW_SANDBOX = True
    if "ALLOW_SANDBOX" in str(refused.value):
        require_at_start()
    else:
        with pytest.raises(ImproperlyConfigured):
            require_at_start()


def test_production_on_sqlite_requires_allow_sandbox(served, monkeypatch):
    monkeypatch.setitem(served.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: SQLite is for trials only"):
        require_at_start()
    served.ALLOW_SANDBOX = True
    require_at_start()


def test_ledger_requires_only_ledger_settings(served):
    served.SERVICE, served.CARD_PROCESSOR, served.REVIEW_POLICY = "ledger", "sandbox", "open"
    require_at_start()
    served.ALLOWED_HOSTS = ["*"]
    with pytest.raises(ImproperlyConfigured, match="every host name"):
        require_at_start()


def test_doctor_reports_a_platform_key_unknown_to_the_ledger(settings):
    settings.PRODUCTION, settings.ANCHOR_DECISIONS, settings.LEDGER_CLIENT_KEY = True, True, "k" * 43
    assert why("ledger_access").startswith("warning: LEDGER_API_KEYS lacks")
    settings.LEDGER_API_KEYS = frozenset({hashlib.sha256(b"k" * 43).hexdigest()})
    assert why("ledger_access") == "service A's key is the ledger's"


def test_doctor_reports_database_sessions_without_timeouts(needs_postgresql):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    assert "ALTER ROLE" in why("session_timeouts")


def test_doctor_reports_an_unreachable_redis(settings):
    address = "redis://:hunter2@127.0.0.1:1/0"
    settings.REDIS_URL = address
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": address}}
    status, printed = examine()
    assert status == 78
    assert "hunter2" not in json.dumps(printed)


def test_doctor_runs_the_checks_of_apps(monkeypatch):
    def check_guard(**_options):
        return [checks.Error("It is not there.")]

    monkeypatch.setattr(registry, "registered_checks", set())
    monkeypatch.setattr(registry, "deployment_checks", set())
    register(check_guard, DOCTOR)
    assert examine() == (78, {"ok": False, "checks": [{"name": "guard", "ok": False, "why": "It is not there."}]})


def test_doctor_checks_run_only_in_the_doctor_command():
    """`migrate` checks the database that it will create, `check --deploy` the settings."""
    ours = {check for check in registry.get_checks(include_deployment_checks=True) if {DOCTOR, START} & {*check.tags}}
    assert len(ours) >= len(NAMES)
    assert not ours & {*registry.get_checks()}
    out = StringIO()
    call_command("check", deploy=True, stdout=out, stderr=out)
    assert "owns no table" not in out.getvalue()


@pytest.mark.parametrize("name", ["FREE_BYTES_MIN", "FREE_BYTES_LOW"])
def test_doctor_reports_little_free_space_as_unhealthy_or_warning(name, monkeypatch, client):
    monkeypatch.setattr(f"config.ops.checks.{name}", 1 << 60)
    assert "of free space left" in why("disk_space")
    assert disk_faults() == [] if name == "FREE_BYTES_LOW" else disk_faults()
    expected = {"FREE_BYTES_MIN": (78, "unhealthy"), "FREE_BYTES_LOW": (0, "healthy")}[name]
    assert (examine()[0], health_status()["status"]) == expected


def test_doctor_fails_for_an_unwritable_folder(settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.VAR_DIR = tmp_path / "file"
    assert "write to VAR_DIR" in why("disk_space")


def test_doctor_fails_if_static_files_are_not_collected(settings, tmp_path):
    assert why("static_files") == "served from the packages"
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "page.css").write_text("a {}")
    settings.STATIC_ROOT, settings.STATICFILES_DIRS = tmp_path / "static", [tmp_path / "source"]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": "config.ops.static_files.CollectedFiles"}}
    assert f"1 static files are missing in {settings.STATIC_ROOT}, and pages return 500" in why("static_files")
    assert examine()[0] == 78
    call_command("collectstatic", interactive=False, verbosity=0)
    settings.STORAGES = settings.STORAGES | {}  # The new value makes the check read the manifest again.
    assert why("static_files") == "1 collected"


def test_doctor_prints_the_result_of_each_check_and_a_summary(monkeypatch):
    monkeypatch.setattr("config.ops.checks.FREE_BYTES_MIN", 1 << 60)
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=out)
    *lines, summary = out.getvalue().splitlines()
    assert {line[:4] for line in lines} >= {"ok  ", "FAIL"}
    assert re.fullmatch(r"doctor: \d+ ok, \d+ warnings, 1 failed", summary)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("REVIEW_POLCY", "REVIEW_POLICY"), ("REVIEW_POLICIES", None), ("DATABASE_URI", "DATABASE_URL"),
        ("TRUSTED_PROXYS", "TRUSTED_PROXIES"), ("SERCET_KEY", "SECRET_KEY"), ("HOME", None), ("LANGUAGE", None),
    ],
)  # fmt: skip
def test_doctor_reports_a_misspelled_setting(monkeypatch, name, near):
    monkeypatch.setenv(name, "x")
    assert misspelt() == ([f"{name} is not a setting. Did you mean {near}?"] if near else [])


def test_an_unreachable_database_is_logged_once_a_minute_with_host_and_reason(monkeypatch, caplog):
    monkeypatch.setattr(databases, "_logged_away_at", {})
    for _ in range(3):
        errors.as_api_error(OperationalError("gone"))
    (record,) = [record for record in caplog.records if "database unavailable" in record.message]
    assert "OperationalError at " in record.message

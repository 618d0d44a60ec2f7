"""`manage.py doctor`: what it asks, and how it ends."""

import hashlib
import json
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.ops import doctor
from identity.access import signing_keys
from tests.config.test_unreadable import lose_the_key
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
NAMES = {
    "encryption_keys", "migrations", "database_role", "session_timeouts", "clock", "redis", "production",
    "ledger_access", "ledger",
}  # fmt: skip


def examine():
    """Return (exit status, what was printed)."""
    out = StringIO()
    status = 0
    try:
        call_command("doctor", as_json=True, stdout=out)
    except SystemExit as end:
        status = end.code
    return status, json.loads(out.getvalue().splitlines()[-1])


def why(name):
    return next(one["why"] for one in examine()[1]["checks"] if one["name"] == name)


def test_a_sound_installation_is_said_to_be_so(user):
    issue(user)
    with CaptureQueriesContext(connection) as asked:
        status, printed = examine()
    assert (status, printed["ok"]) == (0, True), printed
    assert {one["name"] for one in printed["checks"]} >= NAMES
    assert all(set(one) == {"name", "ok", "why"} for one in printed["checks"])
    changes = ("INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP")
    assert not [one["sql"] for one in asked if one["sql"].lstrip().upper().startswith(changes)]


def test_other_keys_are_named_and_stop_a_server(user, settings):
    issue(user)
    doctor.require_at_start()
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    status, printed = examine()
    assert (status, printed["ok"]) == (78, False)
    assert "identity.ApiKey.secret" in why("encryption_keys")
    with pytest.raises(ImproperlyConfigured, match="add the key that it was encrypted with"):
        doctor.require_at_start()


def test_a_kind_that_an_interrupted_rotation_left_behind_is_found(user, settings):
    signing_keys.create_signing_key(now=timezone.now(), signs_from=timezone.now())
    for _ in range(2):
        lose_the_key(issue(user).record)
    assert examine()[0] == 78
    assert "identity.ApiKey.secret" in why("encryption_keys")
    assert "SigningKey" not in why("encryption_keys")


def test_one_damaged_value_does_not_stop_a_server(user):
    signing_keys.create_signing_key(now=timezone.now(), signs_from=timezone.now())
    lose_the_key(issue(user).record)
    doctor.require_at_start()
    issue(user)
    doctor.require_at_start()


def test_production_is_told_what_is_simulated(settings):
    settings.PRODUCTION, settings.REVIEW_POLICY, settings.ANCHOR_DECISIONS = True, "open", True
    said = why("production")
    for name in ("CARD_PROCESSOR", "ALLOW_SANDBOX=1", "REVIEW_POLICY=open", "LEDGER_CLIENT_KEY"):
        assert name in said
    settings.REVIEW_POLICY, settings.ANCHOR_DECISIONS, settings.ALLOW_SANDBOX = "four_eyes", False, True
    assert examine()[0] == 0


def test_a_key_that_the_ledger_does_not_know_is_told(settings):
    settings.PRODUCTION, settings.ANCHOR_DECISIONS, settings.LEDGER_CLIENT_KEY = True, True, "k" * 43
    assert why("ledger_access").startswith("warning: LEDGER_API_KEYS lacks")
    settings.LEDGER_API_KEYS = frozenset({hashlib.sha256(b"k" * 43).hexdigest()})
    assert why("ledger_access") == "service A's key is the ledger's"


def test_a_session_without_limits_is_found(needs_postgresql):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    assert "ALTER ROLE" in why("session_timeouts")


def test_redis_that_does_not_answer_is_found(settings):
    address = "redis://:hunter2@127.0.0.1:1/0"
    settings.REDIS_URL = address
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": address},
    }
    status, printed = examine()
    assert status == 78
    assert "hunter2" not in json.dumps(printed)


def test_a_check_of_an_app_is_asked_too(monkeypatch):
    def failing():
        raise doctor.Failed("It is not there.")

    monkeypatch.setattr(doctor, "_checks", {})
    doctor.register("guard", failing)
    assert examine() == (78, {"ok": False, "checks": [{"name": "guard", "ok": False, "why": "It is not there."}]})

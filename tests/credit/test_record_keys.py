"""Test GET /.well-known/record-keys.json, `rotate_record_key`, and the key that signs each record."""

import json
from base64 import b64decode, b64encode
from datetime import timedelta
from hashlib import sha256
from io import StringIO

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import override_settings
from django.utils import timezone

from config.core.encryption import sealed_values
from config.core.json_text import rfc3339
from config.ops import checks
from credit.anchoring import record_keys
from credit.models import DecisionAnchor, RecordKey
from tests.api import ApiClient
from tests.credit.scoring.making import make_model, make_version
from tests.credit.test_application_proof import move
from tests.factories import ApplicationFactory
from tests.races import run_concurrently

PATH = "/.well-known/record-keys.json"
SEED = bytes(range(60, 92))


@pytest.fixture(autouse=True)
def own_key(settings):
    settings.DECISION_SIGNING_KEY = b64encode(SEED).decode()


def published():
    with override_settings(ROOT_URLCONF="config.urls"):
        answer = ApiClient().read(PATH)
    assert answer.status_code == 200, answer.content
    return answer.json()["keys"]


def verify_signature(keys, report_type, record, signature):
    """Check a signature with the published keys; raises InvalidSignature."""
    (key,) = [item for item in keys if item["id"] == signature["key"]]
    message = f"credit-platform/record/v1\n{report_type}\n{record}".encode()
    Ed25519PublicKey.from_public_bytes(b64decode(key["public_key"])).verify(b64decode(signature["value"]), message)


def rotate(**options):
    out = StringIO()
    call_command("rotate_record_key", as_json=True, stdout=out, **options)
    return json.loads(out.getvalue().splitlines()[-1])


def approve(api, user):
    application = ApplicationFactory(consumer=user, status="under_review")
    with override_settings(ROOT_URLCONF="config.urls"):
        assert move(api, application, "approved").status_code == 200
    return DecisionAnchor.objects.get(application=application)


class TestPublished:
    def test_first_published_record_key_is_the_configured_key_and_signs_its_own_announcement(self, db, anonymous):
        keys = published()
        (key,) = keys
        public = Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()
        assert b64decode(key["public_key"]) == public
        assert key["id"] == sha256(public).hexdigest()[:16]
        assert key["valid_until"] is None
        assert set(key) == {"id", "public_key", "valid_from", "valid_until", "announcement"}
        announcement = key["announcement"]
        verify_signature(keys, "record_key", announcement["record"], announcement["signature"])
        assert json.loads(announcement["record"]) == {
            "record_version": 1, "key": key["id"], "public_key": key["public_key"], "valid_from": key["valid_from"],
            "replaces": None,
        }  # fmt: skip
        assert anonymous.read(PATH).headers["Cache-Control"] == "public, max-age=30"
        assert record_keys.PUBLISHED_AHEAD.total_seconds() > record_keys.PUBLISHED_MAX_AGE_SECONDS
        assert published() == keys
        assert RecordKey.objects.count() == DecisionAnchor.objects.count() == 1

    def test_unreadable_record_key_without_an_announcement_does_not_hide_other_record_keys(self, db, caplog):
        (first,) = published()
        later = timezone.now() + timedelta(hours=1)
        public = b64encode(bytes(32)).decode()
        RecordKey.objects.create(number=2, key_id="a" * 16, public_key=public, private_key="x", valid_from=later)
        damaged = RecordKey.objects.get(number=1)
        RecordKey.objects.filter(pk=damaged.pk).update(**sealed_values(damaged, private_key="no seed"))
        (key,) = published()
        assert (key["id"], key["valid_until"]) == (first["id"], rfc3339(later))
        assert "record_key 2 failed" in caplog.text

    def test_record_keys_are_not_published_if_anchoring_is_off(self, db, settings):
        settings.ANCHOR_DECISIONS = False
        assert published() == []
        with pytest.raises(CommandError, match="Set ANCHOR_DECISIONS=1"):
            rotate()


class TestRotation:
    def test_next_record_key_is_announced_with_the_previous_keys_signature(self, db):
        (first,) = published()
        answer = rotate()
        keys = published()
        assert [key["id"] for key in keys] == [first["id"], answer["key"]]
        assert (keys[0]["valid_until"], keys[1]["valid_until"]) == (answer["valid_from"], None)
        assert keys[1]["valid_from"] == answer["valid_from"] > rfc3339(timezone.now() + timedelta(seconds=30))
        announcement = keys[1]["announcement"]
        assert announcement["signature"]["key"] == first["id"] == json.loads(announcement["record"])["replaces"]
        verify_signature(keys, "record_key", announcement["record"], announcement["signature"])

    def test_decision_record_is_signed_by_the_key_valid_at_its_creation(self, api, user):
        before = approve(api, user)
        fresh = rotate()
        assert approve(api, user).signed_by_id == before.signed_by_id  # The new key is not yet valid.
        RecordKey.objects.filter(key_id=fresh["key"]).update(valid_from=timezone.now())
        after = approve(api, user)
        assert after.signed_by_id == fresh["key"] != before.signed_by_id
        for row in (before, after):
            verify_signature(published(), "application_decision", row.record, row.signature_and_key)

    def test_repeated_rotations_preserve_the_order_of_record_keys(self, db):
        new_keys = [rotate()["key"] for _ in range(4)]
        keys = published()
        assert [key["id"] for key in keys][1:] == new_keys
        assert [key["valid_from"] for key in keys] == sorted({key["valid_from"] for key in keys})
        assert [key["valid_until"] for key in keys] == [*(key["valid_from"] for key in keys[1:]), None]
        now = timezone.now()
        later = record_keys.rotate(now=now + timedelta(days=1))
        assert record_keys.rotate(now=now).valid_from > later.valid_from  # The clock was set back.
        assert record_keys.key_at(now - timedelta(days=400)).number == 1

    @pytest.mark.usefixtures("committed")
    def test_concurrent_rotations_of_the_record_key_create_two_keys(self):
        published()
        now = timezone.now()
        run_concurrently(*[lambda: record_keys.rotate(now=now)] * 2)
        assert [key.number for key in RecordKey.objects.all()] == [1, 2, 3]


class TestRecords:
    def test_signature_of_a_model_publication_is_valid_only_for_its_report_type(self, user):
        make_version(make_model(user), role="champion")
        row = DecisionAnchor.objects.get()
        verify_signature(published(), "scoring_model_version", row.record, row.signature_and_key)
        with pytest.raises(InvalidSignature):
            verify_signature(published(), "application_decision", row.record, row.signature_and_key)

    def test_database_rejects_a_record_without_its_signature(self, api, user):
        row = approve(api, user)
        with pytest.raises(IntegrityError), transaction.atomic():
            DecisionAnchor.objects.filter(pk=row.pk).update(signature="")

    def test_private_record_key_is_stored_encrypted(self, db):
        published()
        with connection.cursor() as cursor:
            cursor.execute("SELECT private_key FROM credit_recordkey")
            (stored,) = cursor.fetchone()
        assert b64encode(SEED).decode() not in stored
        assert b64encode(SEED).decode() not in json.dumps(published())


class TestConfiguredKey:
    @pytest.fixture(autouse=True)
    def _served(self, settings):
        settings.ALLOW_SANDBOX, settings.REVIEW_POLICY, settings.BACKOFFICE_SECOND_FACTOR = True, "four_eyes", True

    def test_production_does_not_start_without_a_strong_record_key(self, db, settings):
        settings.PRODUCTION = True
        for seed in ("", "AAAA", b64encode(bytes(32)).decode(), b64encode(b"ab" * 16).decode()):
            settings.DECISION_SIGNING_KEY = seed
            with pytest.raises(ImproperlyConfigured, match=r"DECISION_SIGNING_KEY .*: set it to 32 random bytes"):
                checks.require_at_start()

    def test_production_requires_the_record_key_that_signed_the_first_records(self, db, settings):
        published()
        rotate()
        settings.PRODUCTION = True
        checks.require_at_start()
        settings.DECISION_SIGNING_KEY = b64encode(bytes(range(32))).decode()
        with pytest.raises(ImproperlyConfigured, match="restore that key"):
            checks.require_at_start()

    def test_platform_in_development_creates_a_missing_record_key(self, db, settings, tmp_path):
        settings.DECISION_SIGNING_KEY, settings.VAR_DIR = "", tmp_path
        (key,) = published()
        file = tmp_path / "decision-signing-key"
        assert file.stat().st_mode & 0o777 == 0o600
        private = Ed25519PrivateKey.from_private_bytes(b64decode(file.read_text()))
        assert b64decode(key["public_key"]) == private.public_key().public_bytes_raw()

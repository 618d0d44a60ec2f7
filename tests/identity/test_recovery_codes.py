"""Test that recovery codes, including those of version 1.0, are stored as hashes and cost one hash per attempt."""

import json
from importlib import import_module
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.serializers import serialize
from django.db import connection
from django.utils import timezone

from config.core.encryption import key_ring
from config.ops.pruning import prune
from identity.access.hashers import RecoveryCodeHasher
from identity.accounts import recovery
from identity.accounts.adapter import SecondFactorAdapter
from identity.accounts.codes import is_right, use_code
from identity.models import RecoveryCode
from tests.conftest import RECOVERY_CODE_COSTS
from tests.second_factors import authenticator_of, recovery_codes_of

SEED = "5eed" * 20


@pytest.fixture
def hashed(monkeypatch):
    """Return a list of the texts hashed since the test began."""
    encoded, encode = [], RecoveryCodeHasher.encode
    monkeypatch.setattr(
        RecoveryCodeHasher, "encode", lambda self, text, salt: encoded.append(text) or encode(self, text, salt)
    )
    return encoded


@pytest.fixture
def in_production(monkeypatch):
    """Hash with the costs of production."""
    for name, cost in RECOVERY_CODE_COSTS.items():
        monkeypatch.setattr(RecoveryCodeHasher, name, cost)


def all_columns():
    return "".join(serialize("json", model._base_manager.all()) for model in apps.get_models() if model._meta.managed)


def seeds_of(user, used_mask=0):
    """Store recovery codes of version 1.0 for a user; return the unused codes."""
    data = {"seed": key_ring().encrypt(SEED.encode()).decode(), "used_mask": used_mask}
    with patch.object(SecondFactorAdapter, "decrypt", lambda _adapter, text: key_ring().decrypt(text).decode()):
        return Authenticator.objects.create(user=user, type="recovery_codes", data=data).wrap().get_unused_codes()


def migrate_again():
    hash_codes = import_module("identity.migrations.0003_hash_recovery_codes").hash_codes
    hash_codes(apps, SimpleNamespace(connection=connection))


def test_no_database_column_contains_a_recovery_code(db, user, in_production):
    authenticator_of(user)
    codes = recovery_codes_of(user)
    kept = all_columns()
    assert kept.count("recovery_code$argon2id$v=19$m=19456,t=2,p=1$") == 10
    for code in codes:
        assert code not in kept
        assert recovery.normalise(code) not in kept


def test_the_hash_of_a_recovery_code_never_changes(in_production):
    """A changed hash would invalidate every stored code: hashes cannot be recomputed."""
    assert RecoveryCodeHasher().encode("0123456789", "abcdefghijklmnopqrstuv") == (
        "recovery_code$argon2id$v=19$m=19456,t=2,p=1$YWJjZGVmZ2hpamtsbW5vcHFyc3R1dg$"
        "boD19Ryfc5IvryGF+XLnaegIfJMCnjptpzvgabOLlfw"
    )


def test_each_set_of_recovery_codes_has_its_own_salt(db, user, stranger):
    salts = set()
    for person in (user, user, stranger):
        recovery_codes_of(person)
        result = {
            RecoveryCodeHasher().decode(recovery_code.hash)["salt"] for recovery_code in person.recovery_codes.all()
        }
        assert len(result) == 1
        salts |= result
    assert len(salts) == 3


def test_log_in_with_a_code_computes_the_same_number_of_hashes_with_and_without_recovery_codes(
    db, user, stranger, hashed
):
    recovery_codes_of(user)
    for person in (user, stranger):
        authenticator_of(person)
        for typed, hashes in (
            ("0123456789", 1), ("oizzz-zzzzz", 1), ("12345678", 1), ("123456", 0), ("UUUUUUUUUU", 0), ("", 0),
            ("\uff11" * 8, 0),
        ):  # fmt: skip
            hashed.clear()
            assert use_code(person, typed) is None
            assert len(hashed) == hashes, typed


def test_recovery_code_with_look_alike_letters_is_accepted(db, user):
    salt = RecoveryCodeHasher().salt()
    kept = RecoveryCodeHasher().encode("01100ABCDE", salt)
    RecoveryCode.objects.create(user=user, hash=kept, created_at=timezone.now())
    device = authenticator_of(user)
    assert is_right("oilo0-abcde", user=user)
    assert use_code(user, "oIlO0 abcde") == device
    assert not is_right("01100ABCDE", user=user)


def test_a_recovery_code_of_another_account_or_without_an_authenticator_is_rejected(db, user, stranger):
    recovery_codes_of(user)
    theirs = recovery_codes_of(stranger)[0]
    assert use_code(stranger, theirs) is None
    assert stranger.recovery_codes.count() == 10
    authenticator_of(user)
    authenticator_of(stranger)
    assert use_code(user, theirs) is None
    assert use_code(stranger, theirs) is not None


class TestCodesOfVersion10:
    """Test the effect of `identity.0003_hash_recovery_codes` on the tables of a running installation."""

    pytestmark = pytest.mark.django_db(transaction=True)

    def test_recovery_codes_of_version_1_0_work_after_the_migration_without_seeds(self, user):
        device = authenticator_of(user)
        all_ten = seeds_of(user)
        Authenticator.objects.filter(type="recovery_codes").delete()
        left = seeds_of(user, used_mask=0b1000000001)
        assert left == all_ten[1:9]
        migrate_again()
        assert list(Authenticator.objects.all()) == [device]
        assert not [code for code in all_ten if code in json.dumps([*user.recovery_codes.values_list("hash")])]
        for code, works in zip(all_ten, [False, *[True] * 8, False], strict=True):
            assert use_code(user, f"{code[:4]} {code[4:]}") == (device if works else None)
            assert use_code(user, code) is None, "once"

    def test_prune_hashes_recovery_codes_that_version_1_0_stores_later(self, user):
        authenticator_of(user)
        code = seeds_of(user)[0]
        assert use_code(user, code) is None
        assert [prune(now=timezone.now())["recovery_codes_hashed"] for _ in range(2)] == [1, 0]
        assert use_code(user, code) is not None

    def test_newest_recovery_codes_are_valid_whichever_version_stored_the_codes(self, user, stranger):
        for person in (user, stranger):
            authenticator_of(person)
        overtaken, newest = recovery_codes_of(user)[0], seeds_of(user)[0]
        outdated, kept = seeds_of(stranger)[0], recovery_codes_of(stranger)[0]
        migrate_again()
        assert [use_code(user, code) is not None for code in (overtaken, newest)] == [False, True]
        assert [use_code(stranger, code) is not None for code in (outdated, kept)] == [False, True]
        assert not Authenticator.objects.filter(type="recovery_codes").exists()

    def test_recovery_codes_of_an_undecryptable_seed_are_migrated_after_its_key_is_restored(self, user, settings):
        keys = settings.FIELD_ENCRYPTION_KEYS
        authenticator_of(user)
        code = seeds_of(user)[0]
        settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
        migrate_again()
        assert not user.recovery_codes.exists()
        settings.FIELD_ENCRYPTION_KEYS = keys
        migrate_again()
        assert use_code(user, code) is not None

"""Test that the signing key is created once in development, required in production, and validated."""

from base64 import b64encode

import pytest
from django.core.exceptions import ImproperlyConfigured

from ledger import keys


def test_ledger_in_development_creates_one_key_and_reuses_it(settings, tmp_path):
    settings.LEDGER_SIGNING_KEY, settings.VAR_DIR = "", tmp_path / "var"
    first = keys.signer().verifier.vkey
    keys._load.cache_clear()
    assert keys.signer().verifier.vkey == first
    file = tmp_path / "var" / keys.KEY_FILE_NAME
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_damaged_ledger_development_key_is_not_replaced(settings, tmp_path):
    settings.LEDGER_SIGNING_KEY, settings.VAR_DIR = "", tmp_path
    (tmp_path / keys.KEY_FILE_NAME).write_text("x")
    with pytest.raises(ImproperlyConfigured, match="put the backup back"):
        keys.signer()


def test_ledger_in_production_does_not_start_without_a_key(settings, tmp_path):
    settings.LEDGER_SIGNING_KEY, settings.VAR_DIR, settings.PRODUCTION = "", tmp_path, True
    with pytest.raises(ImproperlyConfigured, match="LEDGER_SIGNING_KEY is missing: set it to 32 random bytes"):
        keys.signer()
    assert not list(tmp_path.iterdir())


def test_ledger_signer_rejects_an_invalid_or_weak_key_and_an_invalid_origin(settings):
    assert keys.signer().private_key.private_bytes_raw() == bytes(range(32))
    assert keys.signer().name == settings.LEDGER_ORIGIN
    weak = (bytes(32), b"\xff" * 32, b"secret! " * 4, bytes(range(7)) * 4 + bytes(4))
    for setting, value, fault in (
        *(("LEDGER_SIGNING_KEY", key, "LEDGER_SIGNING_KEY must be an Ed25519 key: set it")
          for key in ("x", "AAAA", "A" * 44, "é" * 44, "A" * 43 + "=" + "A")),
        *(("LEDGER_SIGNING_KEY", b64encode(seed).decode(), "LEDGER_SIGNING_KEY is weak: set it to 32 random bytes")
          for seed in weak),
        *(("LEDGER_ORIGIN", origin, "LEDGER_ORIGIN") for origin in ("", "a b", "a+b", "a\nb")),
    ):  # fmt: skip
        valid = getattr(settings, setting)
        setattr(settings, setting, value)
        with pytest.raises(ImproperlyConfigured, match=fault):
            keys.signer()
        setattr(settings, setting, valid)

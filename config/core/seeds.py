"""Seeds of Ed25519 keys, from the environment in production, and from a file in `VAR_DIR` in development."""

import base64
import binascii
import os
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.env import keep_once

SEED_BYTES = 32
_WEAK_BYTES = 8  # a random seed has at least this number of different bytes
_HOW_TO = (
    "set it to 32 random bytes in base64, for example the output of "
    "`python -c 'import base64, os; print(base64.b64encode(os.urandom(32)).decode())'`, and keep a copy: "
)


def read_seed(variable: str, configured: str, *, without: str, file_name: str, damaged: str) -> bytes:
    """Return the configured seed, or in development the seed from a file.

    `without` describes the consequence of a lost key. `damaged` describes the remedy for an invalid file. Raises
    ImproperlyConfigured with the name of the setting.
    """
    how_to = f"{_HOW_TO}{without}"
    if configured:
        return decode_seed(configured, f"{variable} must be an Ed25519 key: {how_to}", f"{variable} is weak: {how_to}")
    if settings.PRODUCTION:
        raise ImproperlyConfigured(f"{variable} is missing: {how_to}")
    path = Path(settings.VAR_DIR) / file_name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        keep_once(path, base64.b64encode(os.urandom(SEED_BYTES)).decode() + "\n")
    unusable = f"{path} holds no Ed25519 key: {damaged}."
    return decode_seed(path.read_text(), unusable, unusable)


def decode_seed(text: str, no_key: str, weak: str) -> bytes:
    """Return the 32 bytes of a base64 string. Raises ImproperlyConfigured with the cause."""
    try:
        seed = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ImproperlyConfigured(no_key) from error
    if len(seed) != SEED_BYTES:
        raise ImproperlyConfigured(no_key)
    if len(set(seed)) < _WEAK_BYTES:
        raise ImproperlyConfigured(weak)
    return seed

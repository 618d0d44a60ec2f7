"""Encryption of single values in the database, with the keys of `FIELD_ENCRYPTION_KEYS`.

The first key encrypts, all keys decrypt. docs/operate/keys.md describes how to replace a key while several processes
run.

A stored value has one of two forms:

- Bound: AES-256-GCM. The associated data is the value's place: table, column, and primary key. A value that SQL copied
  to another place can't be decrypted.
- Unbound: Fernet, the form that version 1.0 writes. An unbound value can be decrypted at any place.

The database stores the mode. The mode only moves forward: from `unbound` to `binding`, and then to `bound`. `unbound`
writes unbound values and reads both forms. `binding` writes bound values and reads both forms. `bound` rejects unbound
values. `rotate_encryption_key` changes the mode. A process reads the mode again after REREAD_SECONDS.

A row with an unreadable value can be loaded. Reading the value logs its kind and record, and raises UnreadableSecret.
"""

import hmac
import logging
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.apps import apps
from django.conf import settings
from django.core.exceptions import FieldError
from django.db import models, router
from django.db.models.query_utils import DeferredAttribute

from config.core.errors import Unavailable

logger = logging.getLogger("platform.encryption")

MODES = UNBOUND, BINDING, BOUND = "unbound", "binding", "bound"
REREAD_SECONDS = 5.0

FERNET = b"gAAAA"  # the first characters of every Fernet token, and never of JSON
SEALED = b"b1."
_WRAPPED = b"w1."  # the start of an unbound value that no key decrypts, which a rotation encrypted again for its row
_NONCE_BYTES = 12
_DIGEST_BYTES = 8


class UnreadableSecret(Unavailable):
    """No key of FIELD_ENCRYPTION_KEYS decrypts a stored value for its table, column, and row."""

    message = "The server can't decrypt a secret that this request needs. Contact the operator."

    def __init__(self, kind: str, record_id: str) -> None:
        super().__init__()
        self.kind, self.record_id = kind, record_id


def readable(read: Callable[[], Any], otherwise: Any = None) -> Any:
    """Return the result of `read`. If `read` raises UnreadableSecret, return `otherwise`."""
    try:
        return read()
    except UnreadableSecret:  # the error is already logged
        return otherwise


class _DoesNotOpenError(Exception):
    pass


class _Mode:
    """The mode that this process last loaded from the database."""

    def __init__(self) -> None:
        self.word, self.until = UNBOUND, 0.0

    def read(self) -> str:
        if self.word != BOUND and time.monotonic() >= self.until:
            model = apps.get_model("ops", "Installation")
            begun = time.monotonic()
            rows = model._default_manager.using(router.db_for_write(model))
            self.word = rows.values_list("encryption", flat=True).first() or UNBOUND
            self.until = begun + REREAD_SECONDS
        return self.word

    def forget(self) -> None:
        self.word, self.until = UNBOUND, 0.0


mode = _Mode()


@lru_cache(maxsize=64)
def _derived(key: str, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt=None, info=purpose).derive(urlsafe_b64decode(key))


def blind_digests(text: str) -> list[str]:
    """Return one keyed digest of a text per key, in hex. A blind index stores the first digest.

    Searches use all digests.
    """
    keys = (_derived(key, b"blind index") for key in settings.FIELD_ENCRYPTION_KEYS)
    return [hmac.digest(key, text.encode(), "sha256")[:_DIGEST_BYTES].hex() for key in keys]


def key_ring() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.FIELD_ENCRYPTION_KEYS])


def _ciphers() -> list[AESGCM]:
    return [AESGCM(_derived(key, b"bound value")) for key in settings.FIELD_ENCRYPTION_KEYS]


def _bind(content: bytes, place: str, form: bytes = SEALED) -> bytes:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return form + urlsafe_b64encode(nonce + _ciphers()[0].encrypt(nonce, content, form + place.encode()))


def _unbind(content: bytes, place: str, ciphers: list[AESGCM]) -> bytes:
    form, encoded = content[: len(SEALED)], content[len(SEALED) :]
    try:
        raw = urlsafe_b64decode(encoded)
    except NotBase64:
        raise _DoesNotOpenError from None
    nonce, encrypted = raw[:_NONCE_BYTES], raw[_NONCE_BYTES:]
    for cipher in ciphers:
        try:
            return cipher.decrypt(nonce, encrypted, form + place.encode())
        except (InvalidTag, ValueError):  # content shorter than a nonce raises ValueError
            continue
    raise _DoesNotOpenError


def _open(content: bytes, place: str) -> bytes:
    if content.startswith(SEALED):
        return _unbind(content, place, _ciphers())
    if content.startswith(_WRAPPED):
        content = _unbind(content, place, _ciphers())
    elif mode.read() == BOUND:
        raise _DoesNotOpenError
    try:
        return key_ring().decrypt(content)
    except InvalidToken:
        raise _DoesNotOpenError from None


def seal(content: bytes, place: str) -> bytes:
    """Encrypt a value for one place: `table|column|primary key`, or another unique name."""
    return key_ring().encrypt(content) if mode.read() == UNBOUND else _bind(content, place)


def is_sealed(content: bytes) -> bool:
    return content.startswith((SEALED, _WRAPPED, FERNET))


def opened(content: bytes, place: str, *, kind: str, record_id: str = "") -> bytes:
    """Decrypt the value of this place. Without a valid key, log the kind and record, and raise UnreadableSecret."""
    try:
        return _open(content, place)
    except _DoesNotOpenError:
        name = f"{kind} of {record_id}" if record_id else kind
        logger.error("no key of FIELD_ENCRYPTION_KEYS opens %s", name)  # noqa: TRY400  a traceback does not help to find a lost key
        raise UnreadableSecret(kind, record_id) from None


def sealed_again(content: bytes, place: str) -> tuple[bytes | None, bool]:
    """Encrypt a stored value with the first key for its place.

    Returns the new value (None if unchanged), and whether a key decrypts the value. If no key decrypts an unbound
    value, its ciphertext is encrypted again, so that the value can be decrypted if the lost key returns.
    """
    if content.startswith(SEALED):
        try:
            _unbind(content, place, _ciphers()[:1])
        except _DoesNotOpenError:
            pass
        else:
            return None, True
    try:
        return _bind(_open(content, place), place), True
    except _DoesNotOpenError:
        return _wrapped(content, place), False


def _wrapped(content: bytes, place: str) -> bytes | None:
    """Encrypt the ciphertext of an unbound value that no key decrypts. Return None for other values."""
    if content.startswith(_WRAPPED):
        try:
            return _bind(_unbind(content, place, _ciphers()), place, _WRAPPED)
        except _DoesNotOpenError:
            return None
    return _bind(content, place, _WRAPPED) if content.startswith(FERNET) and mode.read() == BINDING else None


@dataclass(slots=True)
class Sealed:
    """A stored encrypted value. The separate type prevents its use as the decrypted text."""

    ciphertext: str


# An INSERT uses this value until the primary key is known. The same transaction then writes the encrypted value.
PLACELESS = Sealed("")


class _Opened(DeferredAttribute):
    """The attribute of an encrypted column. The first access decrypts the value."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, Sealed):
            field: Any = self.field
            value = instance.__dict__[field.attname] = field.open(value, instance.pk)
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        # `__set__` makes this class a data descriptor. Otherwise, Python would bypass `__get__` for values in the
        # instance.
        instance.__dict__[self.field.attname] = value


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    """A text field. The database stores each value encrypted for its row.

    `save`, `create`, and `bulk_create` encrypt the text. `QuerySet.update` accepts the result of `sealed_values`.
    `values` and `values_list` return `Sealed`, which `open` decrypts.
    """

    descriptor_class = _Opened
    is_bound = True  # `config.core.prepared` checks this attribute instead of importing this module

    def place(self, pk: Any) -> str:
        meta = self.model._meta
        return f"{meta.db_table}|{self.column}|{meta.pk.to_python(pk)}"

    def seal(self, value: Any, pk: Any) -> Sealed | None:
        if value is None:
            return None
        if pk is None:
            raise FieldError(f"{self.name} is encrypted for its row, whose primary key is not known yet.")
        return Sealed(seal(self.to_text(value).encode(), self.place(pk)).decode())

    def open(self, value: Sealed | None, pk: Any) -> Any:
        """Return the decrypted value. Logs and raises UnreadableSecret if no key decrypts it."""
        if value is None:
            return None
        content = value.ciphertext.encode()
        place = "" if content.startswith(FERNET) else self.place(pk)  # an unbound value is not encrypted for a place
        return self.from_text(opened(content, place, kind=kind_of(self.model, self), record_id=str(pk)).decode())

    def to_text(self, value: Any) -> str:
        return str(value)

    def from_text(self, text: str) -> Any:
        return text

    def pre_save(self, model_instance: Any, add: bool) -> Any:  # noqa: ARG002  Django's signature
        if model_instance.__dict__.get(self.attname) is PLACELESS:
            return PLACELESS
        return self.seal(getattr(model_instance, self.attname), model_instance.pk)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:  # noqa: ARG002
        if value is None or hasattr(value, "as_sql"):
            return value
        if not isinstance(value, Sealed):
            raise FieldError(f"{self.name} is encrypted for its row: update it with `sealed_values`, or save the row.")
        return value.ciphertext

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> Sealed | None:
        return None if value is None else Sealed(value)

    def get_lookup(self, lookup_name: str) -> Any:
        if lookup_name == "isnull":
            return super().get_lookup(lookup_name)
        raise FieldError(f"{self.name} is encrypted and cannot be searched for.")


def sealed_values(record: models.Model, **values: Any) -> dict[str, Sealed | None]:
    """Encrypt values for this record's row, for `QuerySet.update`."""
    fields: dict[str, Any] = {name: record._meta.get_field(name) for name in values}
    return {name: fields[name].seal(value, record.pk) for name, value in values.items()}


def kind_of(model: type[models.Model], field: Any) -> str:
    return f"{model._meta.label}.{field.name}"


def encrypted_fields() -> list[tuple[type[models.Model], EncryptedTextField]]:
    return [
        (model, field)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, EncryptedTextField)
    ]

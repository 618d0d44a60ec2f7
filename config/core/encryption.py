"""Encryption of single values in the database, with the keys of `FIELD_ENCRYPTION_KEYS`.

The first key encrypts, every key decrypts. docs/operate/keys.md gives the order in which a key is replaced while
several processes run.

A value has one of two forms:

- Bound: AES-256-GCM. The associated data is the value's place: table, column, and primary key. A value that SQL has
  copied to another place does not open.
- Unbound: Fernet, as version 1.0 writes it. It opens at any place.

The database holds the mode, which only moves forward: `unbound` writes unbound values and reads both forms, `binding`
writes bound values and reads both, `bound` refuses unbound values. `rotate_encryption_key` moves it. A process reads
the mode again after REREAD_SECONDS.

An unreadable value does not block its row. The row is loaded, and reading the value raises UnreadableSecret. The log
names the value, so a caller that continues without it need not.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.core.exceptions import FieldError
from django.db import models
from django.db.models.query_utils import DeferredAttribute

from config.core.errors import Unavailable

logger = logging.getLogger("platform.encryption")


@lru_cache(maxsize=8)
def _fernet_of(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def key_ring() -> MultiFernet:
    return _fernet_of(tuple(settings.FIELD_ENCRYPTION_KEYS))


class UnreadableSecret(Unavailable):
    """A stored value that none of FIELD_ENCRYPTION_KEYS opens; an answer for whoever has no better one."""

    message = "A secret that this request needs cannot be read. Tell the operator."

    def __init__(self, kind: str, record_id: str) -> None:
        super().__init__()
        self.kind, self.record_id = kind, record_id


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What a row holds in place of a value that no key opens. It is no text: nothing can be signed with it."""

    ciphertext: str

    def __iter__(self) -> NoReturn:
        """Raise UnreadableSecret for whoever reads columns without their record, where the value would have members."""
        logger.error("no key of FIELD_ENCRYPTION_KEYS opens a value of a list")
        raise UnreadableSecret("a value of a list", "")


class _Opened(DeferredAttribute):
    """The attribute of an encrypted column: opens the value when it is first read."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, Unreadable):
            kind = kind_of(type(instance), self.field)
            logger.error("no key of FIELD_ENCRYPTION_KEYS opens %s of %s", kind, instance.pk)
            raise UnreadableSecret(kind, str(instance.pk))
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        # Without this the attribute would be looked up in the instance first, and `__get__` never called.
        instance.__dict__[self.field.attname] = value


_SEALED = b"gAAAA"  # how every token begins, and no JSON does


def seal(content: bytes) -> bytes:
    return key_ring().encrypt(content)


def opened(content: bytes) -> bytes:
    """Return what was sealed, anything else as it is; raises UnreadableSecret where no key opens it."""
    if not content.startswith(_SEALED):
        return content
    try:
        return key_ring().decrypt(content)
    except InvalidToken:
        logger.error("no key of FIELD_ENCRYPTION_KEYS opens a sealed value")  # noqa: TRY400  whose key is gone is not for a trace
        raise UnreadableSecret("a sealed value", "") from None


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    descriptor_class = _Opened

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:  # noqa: ARG002
        return None if value is None else key_ring().encrypt(str(value).encode()).decode()

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> str | Unreadable | None:
        if value is None:
            return None
        try:
            return key_ring().decrypt(value.encode()).decode()
        except InvalidToken:
            return Unreadable(value)

    def get_lookup(self, lookup_name: str) -> Any:
        if lookup_name == "isnull":
            return super().get_lookup(lookup_name)
        raise FieldError(f"{self.name} is encrypted and cannot be searched for.")


def kind_of(model: type[models.Model], field: Any) -> str:
    return f"{model._meta.label}.{field.name}"


def encrypted_fields() -> list[tuple[type[models.Model], EncryptedTextField]]:
    return [
        (model, field)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, EncryptedTextField)
    ]

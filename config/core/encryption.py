"""Text that is encrypted in the database: MultiFernet over `FIELD_ENCRYPTION_KEYS`.

The first key encrypts, every key decrypts. docs/operate/keys.md gives the order in which a key is replaced while
several processes run.

A value that no key opens does not stand in the way of its row: the row is read as any other, and whoever asks for the
value gets UnreadableSecret. `config.ops.unreadable` keeps the list of such values.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.core.exceptions import FieldError
from django.db import models, transaction
from django.db.models.query_utils import DeferredAttribute

from config.core.errors import Unavailable

_BATCH_ROWS = 500


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


class _Opened(DeferredAttribute):
    """The attribute of an encrypted column: raises UnreadableSecret when it is asked for what no key opens."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, Unreadable):
            raise UnreadableSecret(kind_of(type(instance), self.field), str(instance.pk))
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        # Without this the attribute would be looked up in the instance first, and `__get__` never called.
        instance.__dict__[self.field.attname] = value


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


def encrypt_again() -> tuple[int, list[UnreadableSecret]]:
    """Encrypt every encrypted value with the first key; return how many it was, and those that no key opens.

    Rows are locked in batches, so that it can run while traffic does, and can be run again after an interruption.
    """
    written, unreadable = 0, []
    for model, field in encrypted_fields():
        kind = kind_of(model, field)
        rows = batch = model._default_manager.filter(**{f"{field.name}__isnull": False}).order_by("pk")
        while True:
            with transaction.atomic():
                found = list(batch.select_for_update().values_list("pk", field.name)[:_BATCH_ROWS])
                for pk, value in found:
                    if isinstance(value, Unreadable):
                        unreadable.append(UnreadableSecret(kind, str(pk)))
                        continue
                    model._default_manager.filter(pk=pk).update(**{field.name: value})
                    written += 1
            if not found:
                break
            batch = rows.filter(pk__gt=found[-1][0])
    return written, unreadable

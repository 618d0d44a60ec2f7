"""Text that is encrypted in the database: MultiFernet over `FIELD_ENCRYPTION_KEYS`.

The first key encrypts, every key decrypts, so a key is rotated by putting a new one in front, running
`rotate_encryption_key`, and taking the old one away.
"""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db import models, transaction

_BATCH_ROWS = 500


@lru_cache(maxsize=8)
def _fernet_of(keys: tuple[str, ...]) -> MultiFernet:
    """Build the key ring once per set of keys."""
    return MultiFernet([Fernet(key) for key in keys])


def key_ring() -> MultiFernet:
    """Return the key ring of the settings."""
    return _fernet_of(tuple(settings.FIELD_ENCRYPTION_KEYS))


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    """A text that only this process can read; it cannot be searched for."""

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:  # noqa: ARG002
        """Encrypt on the way in."""
        return None if value is None else key_ring().encrypt(str(value).encode()).decode()

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> str | None:
        """Decrypt on the way out."""
        if value is None:
            return None
        try:
            return key_ring().decrypt(value.encode()).decode()
        except InvalidToken as error:
            raise ImproperlyConfigured(
                f"{self.model.__name__}.{self.name} was encrypted with a key that FIELD_ENCRYPTION_KEYS does not hold."
            ) from error

    def get_lookup(self, lookup_name: str) -> Any:
        """Refuse look-ups: equal texts have different ciphertexts."""
        if lookup_name == "isnull":
            return super().get_lookup(lookup_name)
        raise FieldError(f"{self.name} is encrypted and cannot be searched for.")


def encrypted_fields() -> list[tuple[type[models.Model], EncryptedTextField]]:
    """Return every encrypted column of the project."""
    return [
        (model, field)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, EncryptedTextField)
    ]


def encrypt_again() -> int:
    """Encrypt every encrypted value with the first key; return how many rows were written.

    Rows are locked in batches, so that it can run while traffic does, and can be run again after an interruption.
    """
    rows = 0
    for model, field in encrypted_fields():
        last: Any = None
        while True:
            with transaction.atomic():
                batch = model._default_manager.filter(**{f"{field.name}__isnull": False}).order_by("pk")
                if last is not None:
                    batch = batch.filter(pk__gt=last)
                found = list(batch.select_for_update().only("pk", field.name)[:_BATCH_ROWS])
                for record in found:
                    model._default_manager.filter(pk=record.pk).update(**{field.name: getattr(record, field.attname)})
            if not found:
                break
            rows += len(found)
            last = found[-1].pk
    return rows

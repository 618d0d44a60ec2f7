"""Encryption of responses that are stored under an Idempotency-Key. Service B does not use this module."""

from typing import Any

from config.api.idempotency import Seal
from config.core.encryption import is_sealed, opened, seal


class SecretAnswer:
    """Mixin for a response with secret or personal data. Use the mixin as the first base class."""

    @classmethod
    def seal_of(cls, thing: Any) -> Seal | None:
        return seal if cls.is_secret(thing) else None

    @classmethod
    def is_secret(cls, thing: Any) -> bool:  # noqa: ARG003
        """Check whether the response for `thing` must be encrypted."""
        return True

    @classmethod
    def opened(cls, kept: bytes, place: str) -> bytes:
        if not is_sealed(kept):
            return kept
        owner_id, key = place.split("|")[-2:]
        return opened(kept, place, kind="a response under an Idempotency-Key", record_id=f"account {owner_id}, {key}")

"""What may be staged for the bank tables, and how approved payloads get into them.

A client may stage such payloads too, so what we staged ourselves carries a seal: an HMAC over the payload and its
owner. A row says `from_provider` only when the seal is ours. Staging puts it on what we stage and drops it from what a
client sends: a seal that was read there and sent again counts for nothing.
"""

import hmac
import re
from collections.abc import Sequence
from datetime import date, datetime
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models

from config.api.fields import FlagField, IdField, Int64Field, TextField
from config.api.serializers import RequestSerializer
from config.core.ids import uuid7
from config.core.json_text import canonical_json
from config.core.lifecycle import Actor
from identity.bank.models import BankAccount, BankTransaction

ACCOUNT_KIND, TRANSACTION_KIND = "bank_account", "bank_transaction"
SEAL = "seal"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class DayField(TextField):
    """A calendar day, `2026-01-31`."""

    default_error_messages = {"day": "Must be a day such as 2026-01-31."}

    def to_internal_value(self, data: Any) -> str:
        """Return the day as text, which is how payloads are kept."""
        text = super().to_internal_value(data)
        try:
            known = _DAY.fullmatch(text) is not None and date.fromisoformat(text) is not None
        except ValueError:
            known = False
        if not known:
            self.fail("day")
        return text


class BankAccountPayload(RequestSerializer):
    """A bank account; amounts are cents."""

    account_id = IdField()
    name = IdField()
    type = IdField(max_length=64)
    item_id = IdField(allow_null=True, required=False)
    official_name = TextField(max_length=255, allow_null=True, required=False)
    mask = TextField(max_length=16, allow_null=True, required=False)
    subtype = TextField(max_length=64, allow_null=True, required=False)
    currency = TextField(max_length=16, allow_null=True, required=False)
    available_cents = Int64Field(allow_null=True, required=False)
    current_cents = Int64Field(allow_null=True, required=False)
    limit_cents = Int64Field(allow_null=True, required=False)


class BankTransactionPayload(RequestSerializer):
    """A booking; `amount_cents` is positive when money left the account."""

    transaction_id = IdField()
    account_id = IdField()
    amount_cents = Int64Field()
    date = DayField()
    name = IdField()
    item_id = IdField(allow_null=True, required=False)
    currency = TextField(max_length=16, allow_null=True, required=False)
    merchant_name = TextField(max_length=255, allow_null=True, required=False)
    category = TextField(max_length=255, allow_null=True, required=False)
    pending = FlagField(required=False)


def _seal_of(payload: dict[str, Any], user_id: int) -> str:
    """Return the HMAC-SHA256, in hex, of a payload of this owner."""
    message = b"bank payload/%d/" % user_id + canonical_json(payload)
    return hmac.new(settings.SECRET_KEY.encode(), message, sha256).hexdigest()


def attested(payload: dict[str, Any], user_id: int) -> dict[str, Any]:
    """Return the payload with our seal: this is what the bank said about `user_id`'s account."""
    return {**payload, SEAL: _seal_of(payload, user_id)}


def _columns(payload: dict[str, Any], user_id: int) -> dict[str, Any]:
    """Return a row's columns from an approved payload."""
    members = dict(payload)
    seal = str(members.pop(SEAL, ""))
    is_ours = hmac.compare_digest(seal.encode(), _seal_of(members, user_id).encode())
    return {**members, "from_provider": is_ours}


def _store(
    model: type[models.Model], reference: str, payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime
) -> list[Any]:
    """Write rows, newer payloads over older rows of the same reference; two statements whatever their number."""
    user_id = actor.user.pk
    # One statement may write a row once: the latest payload of each reference counts.
    latest = {payload[reference]: payload for payload in payloads}
    rows = [
        model(id=uuid7(), user_id=user_id, created_at=now, updated_at=now, **_columns(payload, user_id))
        for payload in latest.values()
    ]
    kept = {"id", "user", "created_at", reference}
    model._default_manager.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["user", reference],
        update_fields=[field.name for field in model._meta.concrete_fields if field.name not in kept],
    )
    stored = dict(
        model._default_manager.filter(**{"user_id": user_id, f"{reference}__in": list(latest)}).values_list(
            reference, "id"
        )
    )
    return [stored[payload[reference]] for payload in payloads]


def store_accounts(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[Any]:
    """Store approved accounts of `actor.user`; return their rows' ids in the payloads' order."""
    return _store(BankAccount, "account_id", payloads, actor=actor, now=now)


def store_transactions(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[Any]:
    """Store approved bookings of `actor.user`; return their rows' ids in the payloads' order."""
    return _store(BankTransaction, "transaction_id", payloads, actor=actor, now=now)

"""Payment methods. The platform stores them only with `PAYMENT_METHODS=persistent`, the default in production."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from config.core.encryption import UnreadableSecret
from config.core.errors import NotFound, ValidationFailed
from config.core.ids import get_by_uuid, parse_uuid
from config.webhooks.events import record_event
from payments.cards.models import PaymentMethod

PROCESSOR_TYPES = ("crypto", "card", "stripe")
ID_MAX_LENGTH = 255
_SHOWN_CHARACTERS = 4
_UNUSABLE = "This payment method can't be charged. Send the id of one of your active methods, or a processor's token."


def are_stored() -> bool:
    return bool(settings.PAYMENT_METHODS == "persistent")


def add_method(*, user: Any, processor_type: str, account_id: str, now: datetime) -> PaymentMethod:
    """Store a payment method. The user's first method is the default."""
    with transaction.atomic():
        method = PaymentMethod.objects.create(
            user=user,
            processor_type=processor_type,
            account_token=account_id,
            account_hint="…" + (account_id[-_SHOWN_CHARACTERS:] if len(account_id) > 2 * _SHOWN_CHARACTERS else ""),
            is_default=not PaymentMethod.objects.filter(user=user, is_default=True).exists(),
            created_at=now,
        )
        record_event("payment_method.added", account_id=user.pk, now=now, payment_method_id=str(method.pk))
    return method


ACKNOWLEDGED = {"acknowledged": True, "persisted": False}


def acknowledge(method_id: str) -> dict[str, Any]:
    """Acknowledge a request without storing anything. Raises ValidationFailed for an invalid ID."""
    if "\0" in method_id or len(method_id) > ID_MAX_LENGTH:
        raise ValidationFailed(f"A payment method's id must have 1 to {ID_MAX_LENGTH} characters.")
    return {"id": method_id, **ACKNOWLEDGED}


def own_method(method_id: str, *, user: Any) -> PaymentMethod:
    own = PaymentMethod.objects.filter(user=user)
    return get_by_uuid(own, method_id, NotFound("Payment method not found."))


def make_default(method: PaymentMethod) -> PaymentMethod:
    if not method.is_active:
        raise ValidationFailed("The payment method is disabled, so it can't be the default. Enable it first.")
    with transaction.atomic():
        # Lock the user's rows in a fixed order, so that concurrent requests wait for each other.
        own = PaymentMethod.objects.filter(user=method.user_id)
        list(own.select_for_update().order_by("pk").values_list("pk"))
        own.filter(is_default=True).exclude(pk=method.pk).update(is_default=False)
        PaymentMethod.objects.filter(pk=method.pk).update(is_default=True)
    method.is_default = True
    return method


def toggle(method: PaymentMethod) -> PaymentMethod:
    with transaction.atomic():
        stored = PaymentMethod.objects.select_for_update().get(pk=method.pk)
        stored.is_active = not stored.is_active
        stored.is_default = stored.is_default and stored.is_active
        stored.save(update_fields=["is_active", "is_default"])
    return stored


def chargeable_token(payment_method_id: str, *, user: Any) -> str:
    """Return the token that the processor charges.

    For a stored method, the function returns the token of that method. Any other string is already a processor token.
    Raises ValidationFailed if the stored method is inactive or belongs to another user.
    """
    identifier = parse_uuid(payment_method_id) if are_stored() else None
    method = PaymentMethod.objects.filter(pk=identifier).first() if identifier else None
    if method is None:
        return payment_method_id
    if method.user_id != user.pk or not method.is_active:
        raise ValidationFailed.of_member("payment_method_id", _UNUSABLE)
    try:
        return str(method.account_token)
    except UnreadableSecret as found:
        raise ValidationFailed.of_member("payment_method_id", _UNUSABLE) from found

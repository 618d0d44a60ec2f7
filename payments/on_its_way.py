"""Check an account for in-flight payments."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from config.core.erasure import Ends
from payments.cards.models import OPEN, Payment
from payments.crypto.machine import AWAITING_SIGNATURE, BROADCASTING, SUBMITTED
from payments.crypto.models import CryptoPayment, CryptoTransaction


def why_not_closed(user_id: int) -> str:
    """Return why an account can't be closed now, "" if no payment is in flight."""
    if Payment.objects.filter(user_id=user_id, status__in=OPEN).exists():
        return "A card payment is in flight. Wait until its status is Completed or Failed."
    is_signed = Exists(CryptoTransaction.objects.filter(payment=OuterRef("pk")))
    on_its_way = Q(status__in=(BROADCASTING, SUBMITTED)) | Q(is_signed, status=AWAITING_SIGNATURE)
    if CryptoPayment.objects.filter(on_its_way, user_id=user_id).exists():
        return "A signed crypto payment is in flight. Wait until it has settled."
    return ""


def kept_payments(user_id: int, *, now: datetime) -> Ends:  # noqa: ARG001  the signature of grounds
    """Retain all payments of an account while one is in flight, until an unknown day."""
    return {None: None} if why_not_closed(user_id) else {}


GROUNDS = {"money_in_flight": kept_payments}

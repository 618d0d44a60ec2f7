"""Report in-flight payments, which prevent the closure and erasure of an account."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from config.core.erasure import Ends
from payments.cards.models import OPEN, Payment
from payments.crypto.machine import AWAITING_SIGNATURE, BROADCASTING, SUBMITTED
from payments.crypto.models import CryptoPayment, CryptoTransaction


def why_not_closed(user_id: int) -> str:
    """Return why the account can't be closed now, or "" if no payment is in flight."""
    if Payment.objects.filter(user_id=user_id, status__in=OPEN).exists():
        return "A card payment is in flight. Wait until its status is Completed or Failed."
    is_signed = Exists(CryptoTransaction.objects.filter(payment=OuterRef("pk")))
    in_flight = Q(status__in=(BROADCASTING, SUBMITTED)) | Q(is_signed, status=AWAITING_SIGNATURE)
    if CryptoPayment.objects.filter(in_flight, user_id=user_id).exists():
        return "A signed crypto payment is in flight. Wait until it has settled."
    return ""


def retained_payments(user_id: int, *, now: datetime) -> Ends:  # noqa: ARG001  grounds have this signature
    """While a payment is in flight, retain all payments of the account, without an end date."""
    return {None: None} if why_not_closed(user_id) else {}


GROUNDS = {"money_in_flight": retained_payments}

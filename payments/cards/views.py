from typing import Any

from django.conf import settings
from django.utils import timezone

from config.api.credentials import FIRST_PARTY, PUBLIC, InvalidSignature
from config.api.idempotency import Outcome, ReservableKey
from config.api.parsers import parse_json, read_body
from config.api.views import ApiRequest, endpoint, require_self
from config.core.errors import MalformedJSON, NotFound, UserMismatch, ValidationFailed
from config.core.ids import parse_positive_int64
from payments.cards import methods, serializers
from payments.cards import services as card
from payments.cards.fees import FeeQuote, quote_fee
from payments.cards.models import Payment, PaymentMethod
from payments.cards.pan import PaymentsViewSet
from payments.cards.processors.stripe import signature_holds
from payments.cards.reconciliation import receive
from payments.errors import CardDataRefused, CardDeclined, InvalidAmount, PaymentNotFound, ProcessorUnavailable

DEFAULT_CURRENCY = "usd"


class FeeViewSet(PaymentsViewSet):
    @endpoint(access=FIRST_PARTY, query=serializers.FeeQuery, answer=serializers.FeeAnswer, errors=(InvalidAmount,))
    def quote(self, request: ApiRequest, query: dict[str, Any]) -> FeeQuote:  # noqa: ARG002
        """Quote the processing fee for an amount in cents."""
        return quote_fee(query["amount"])


class CardPaymentViewSet(PaymentsViewSet):
    """Payments by card and in crypto: fees, attempts, receipts, saved cards."""

    @endpoint(
        access=FIRST_PARTY,
        body=serializers.ProcessBody,
        answer=serializers.ProcessedAnswer,
        idempotent=True,
        reserves=True,
        errors=(UserMismatch, CardDataRefused, CardDeclined, ProcessorUnavailable),
    )
    def process(self, request: ApiRequest, body: dict[str, Any], key: ReservableKey | None) -> Outcome:
        """Charge a payment method.

        With an Idempotency-Key the request may be sent again as often as needed: it goes on where it was, and nobody is
        charged twice. 502 with E5001 is final, nothing was charged; 502 with E5002 means that the outcome is not known
        yet: the same request with the same key will find it out. Without a key do not send it again, it would be
        another payment; the answer names the payment to ask for.
        """
        require_self(request, body.pop("user_id"))
        body["currency"] = card.check_currency(body["currency"] or DEFAULT_CURRENCY)
        return card.process(body, user=request.user, key=key)

    @endpoint(access=FIRST_PARTY, answer=serializers.PaymentAnswer, errors=(PaymentNotFound, CardDataRefused))
    def retrieve(self, request: ApiRequest, payment_id: str) -> Payment:
        """Return a payment of the caller's own."""
        number = parse_positive_int64(payment_id)
        payment = Payment.objects.filter(pk=number, user=request.user).first() if number else None
        if payment is None:
            raise PaymentNotFound
        return payment

    @endpoint(access=PUBLIC, errors=(InvalidSignature, MalformedJSON, ValidationFailed))
    def events(self, request: ApiRequest) -> dict[str, Any]:
        """Take an event from the card processor, signed in `Stripe-Signature` within the last five minutes.

        Events may come twice, late and in any order; each works once, and none takes a completed payment back.
        """
        raw = read_body(request)
        signature = request.META.get("HTTP_STRIPE_SIGNATURE", "")
        if not signature_holds(raw, signature, secret=settings.STRIPE_WEBHOOK_SECRET):
            raise InvalidSignature("The Stripe-Signature header does not sign this body now.")
        event = parse_json(raw)
        if not isinstance(event, dict):
            raise ValidationFailed("The event is not an object.")
        receive(event, now=timezone.now())
        return {"received": True}


class PaymentMethodViewSet(PaymentsViewSet):
    @endpoint(
        access=FIRST_PARTY,
        body=serializers.AddMethodBody,
        answer=serializers.AddedAnswer,
        idempotent=True,
        errors=(UserMismatch, CardDataRefused),
    )
    def add(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Add a payment method: a processor's token, never a card number.

        Unless the operator keeps methods (`PAYMENT_METHODS=persistent`) this is acknowledged and nothing is kept.
        """
        user_id = body.pop("user_id")
        require_self(request, user_id)
        if methods.are_kept():
            return _shown(methods.add_method(user=request.user, now=timezone.now(), **body))
        kind = body["processor_type"]
        return {"user_id": user_id, "processor_type": kind, "acknowledged": True, "persisted": False}

    @endpoint(access=FIRST_PARTY, answer=serializers.MethodAnswer, errors=(NotFound, ValidationFailed, CardDataRefused))
    def make_default(self, request: ApiRequest, method_id: str) -> dict[str, Any]:
        """Make a payment method the default, where methods are kept; elsewhere acknowledge."""
        if not methods.are_kept():
            return _acknowledge(method_id)
        return _shown(methods.make_default(methods.own_method(method_id, user=request.user)))

    @endpoint(access=FIRST_PARTY, answer=serializers.MethodAnswer, errors=(NotFound, ValidationFailed, CardDataRefused))
    def toggle(self, request: ApiRequest, method_id: str) -> dict[str, Any]:
        """Switch a payment method off or on, where methods are kept; elsewhere acknowledge."""
        if not methods.are_kept():
            return _acknowledge(method_id)
        return _shown(methods.toggle(methods.own_method(method_id, user=request.user)))

    @endpoint(access=FIRST_PARTY, answer=serializers.MethodsAnswer, errors=(UserMismatch, CardDataRefused))
    def page(self, request: ApiRequest, user_id: str) -> dict[str, Any]:
        """List the caller's payment methods; empty unless they are kept."""
        require_self(request, user_id)
        kept = PaymentMethod.objects.filter(user=request.user) if methods.are_kept() else []
        shown = [_shown(method) for method in kept]
        return {"payment_methods": shown, "total": len(shown)}


def _shown(method: PaymentMethod) -> dict[str, Any]:
    return {
        "id": str(method.pk),
        "user_id": method.user_id,
        "processor_type": method.processor_type,
        "account_id": method.account_hint,
        "is_default": method.is_default,
        "is_active": method.is_active,
        "created_at": method.created_at,
    }


def _acknowledge(method_id: str) -> dict[str, Any]:
    """Acknowledge what is not kept; raises ValidationFailed for an id that nobody can have."""
    if "\0" in method_id or len(method_id) > methods.ID_MAX_LENGTH:
        raise ValidationFailed(f"A payment method's id has 1 to {methods.ID_MAX_LENGTH} characters.")
    return {"id": method_id, "acknowledged": True, "persisted": False}

from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from config.api.idempotency import Outcome, ReservableKey
from config.api.views import ApiRequest, endpoint, require_self
from config.core.credentials import FIRST_PARTY, PUBLIC, InvalidSignature
from config.core.errors import MalformedJSON, NotFound, UserMismatch, ValidationFailed
from config.core.ids import parse_positive_int64
from config.core.json_bodies import parse_json, read_body
from payments.cards import methods, serializers
from payments.cards import services as card
from payments.cards.fees import quote_fee
from payments.cards.models import Payment, PaymentMethod
from payments.cards.processors.stripe import is_signature_valid
from payments.cards.reconciliation import receive
from payments.errors import CardDataRefused, CardDeclined, InvalidAmount, PaymentNotFound, ProcessorUnavailable
from payments.views import PaymentsViewSet

_own = partial(endpoint, access=FIRST_PARTY)
_changes = partial(endpoint, access=FIRST_PARTY, idempotent=True)
DEFAULT_CURRENCY = "usd"


class FeeViewSet(PaymentsViewSet):
    @_own(query=serializers.FeeQuery, answer=serializers.FeeSerializer, errors=(InvalidAmount,))
    def quote(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Calculate a processing fee.

        The amount and the fee are in the currency's minor unit.
        """
        return quote_fee(query["amount"])


class CardPaymentViewSet(PaymentsViewSet):
    """Payments by card and in crypto: fees, charges, receipts, and saved methods."""

    @_changes(
        body=serializers.ProcessRequestSerializer,
        answer=serializers.ProcessedSerializer,
        errors=(UserMismatch, CardDataRefused, CardDeclined, ProcessorUnavailable),
        reserves_key=True,
    )
    def process(self, request: ApiRequest, body: dict[str, Any], key: ReservableKey | None) -> Outcome:
        """Charge a payment method.

        With an Idempotency-Key, you can retry the request any number of times without a second charge. After the error
        `E5001` (502), no amount was charged. After `E5002` (502), the outcome is not known yet. To get the outcome,
        send the same request with the same key again. Don't repeat a request without a key: the API would charge a
        second payment. Query the payment `details.payment_id` instead.
        """
        require_self(request, body.pop("user_id"))
        body["currency"] = card.check_currency(body["currency"] or DEFAULT_CURRENCY)
        return card.process(body, user=request.user, key=key)

    @_own(answer=serializers.PaymentSerializer, errors=(PaymentNotFound, CardDataRefused))
    def retrieve(self, request: ApiRequest, payment_id: str) -> Payment:
        """Get a card payment.

        You can get only your own payments.
        """
        number = parse_positive_int64(payment_id)
        payment = Payment.objects.filter(pk=number, user=request.user).first() if number else None
        if payment is None:
            raise PaymentNotFound
        return payment

    @endpoint(access=PUBLIC, errors=(InvalidSignature, MalformedJSON, ValidationFailed))
    def events(self, request: ApiRequest) -> dict[str, bool]:
        """Receive an event of the card processor.

        The processor signs the event in `Stripe-Signature`. The time of the signature must be within 5 minutes of the
        server's clock.

        Events can arrive twice, late, or out of order. The API applies each event once, and no event reopens a
        completed payment.
        """
        raw = read_body(request)
        signature = request.META.get("HTTP_STRIPE_SIGNATURE", "")
        if not is_signature_valid(raw, signature, secret=settings.STRIPE_WEBHOOK_SECRET):
            raise InvalidSignature(
                "`Stripe-Signature` is not a valid signature of this body, or is older than 5 minutes."
            )
        event = parse_json(raw)
        if not isinstance(event, dict):
            raise ValidationFailed("The event must be an object.")
        receive(event, now=timezone.now())
        return {"received": True}


class PaymentMethodViewSet(PaymentsViewSet):
    @_changes(
        body=serializers.AddMethodRequestSerializer,
        answer=serializers.AddedSerializer,
        errors=(UserMismatch, CardDataRefused),
    )
    def add(self, request: ApiRequest, body: dict[str, Any]) -> PaymentMethod | dict[str, Any]:
        """Add a payment method.

        The request has a processor's token, never a card number.

        With `PAYMENT_METHODS=documented`, the default in development, the API acknowledges the request without storing
        the method.
        """
        user_id = body.pop("user_id")
        require_self(request, user_id)
        if methods.are_stored():
            return methods.add_method(user=request.user, now=timezone.now(), **body)
        return {"user_id": user_id, "processor_type": body["processor_type"], **methods.ACKNOWLEDGED}

    @_own(answer=serializers.MethodSerializer, idempotent=True, errors=(NotFound, ValidationFailed, CardDataRefused))
    def make_default(self, request: ApiRequest, method_id: str) -> PaymentMethod | dict[str, Any]:
        """Set the default payment method.

        If the installation does not store payment methods, the API acknowledges the request without an effect.
        """
        if not methods.are_stored():
            return methods.acknowledge(method_id)
        return methods.make_default(methods.own_method(method_id, user=request.user))

    @_own(answer=serializers.MethodSerializer, idempotent=True, errors=(NotFound, ValidationFailed, CardDataRefused))
    def toggle(self, request: ApiRequest, method_id: str) -> PaymentMethod | dict[str, Any]:
        """Enable or disable a payment method.

        The request enables a disabled method, and disables an enabled method. A disabled method is not the default. If
        the installation does not store payment methods, the API acknowledges the request without an effect.
        """
        if not methods.are_stored():
            return methods.acknowledge(method_id)
        return methods.toggle(methods.own_method(method_id, user=request.user))

    @_own(answer=serializers.MethodsSerializer, errors=(UserMismatch, CardDataRefused))
    def list(self, request: ApiRequest, user_id: str) -> QuerySet[PaymentMethod]:
        """List payment methods.

        The list is empty if the installation does not store payment methods.
        """
        require_self(request, user_id)
        own = PaymentMethod.objects.filter(user=request.user)
        return own if methods.are_stored() else own.none()

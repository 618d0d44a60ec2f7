"""Charge cards with Stripe's PaymentIntents API.

Each request contains the payment's ID in `metadata[payment_id]` and the payment's idempotency key, so a retry never
charges twice. If a response has another payment, amount, or currency, the outcome stays unknown.
"""

import hashlib
import hmac
import time
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.conf import settings

from config.clients.provider import ProviderAnswer, ProviderError, call
from config.core.adapters import is_text
from payments.cards.models import Payment
from payments.cards.processors.base import ABSENT, DECLINED, SUCCEEDED, UNKNOWN, ChargeResult

API_VERSION = "2024-06-20"
READ_TIMEOUT_SECONDS = 20.0
SIGNATURE_TOLERANCE_SECONDS = 300
_PAGE = 100
_ID_MAX_LENGTH = 255
_CLOCKS_APART = timedelta(minutes=5)
# The time for which Stripe can still process the last request.
_IN_FLIGHT = timedelta(seconds=60)


class StripeProcessor:
    """Charge cards with Stripe. `charge` and `find` return an unknown outcome instead of raising ProviderError."""

    name = "stripe"

    def charge(self, payment: Payment, *, method_token: str) -> ChargeResult:
        form: dict[str, str] = {
            "amount": str(payment.amount_cents),
            "currency": payment.currency,
            "payment_method": method_token,
            "confirm": "true",
            "metadata[payment_id]": str(payment.pk),
            # Another installation on the Stripe account may use the same payment IDs, but never this key.
            "metadata[payment_key]": payment.processor_key,
            # A redirect requires the payer, who is not present.
            "automatic_payment_methods[enabled]": "true",
            "automatic_payment_methods[allow_redirects]": "never",
        }
        if payment.description is not None:
            form["description"] = payment.description
        if payment.provider_account_id is not None:
            form["transfer_data[destination]"] = payment.provider_account_id
            form["application_fee_amount"] = str(payment.fee_amount_cents)
        try:
            answer = self._call("POST", "/v1/payment_intents", form=form, key=payment.processor_key)
            result = self._result_of_charge(payment, answer)
        except ProviderError as error:
            return ChargeResult(UNKNOWN, answered=not error.outcome_unknown, detail={"error": error.word})
        # For 24 hours, Stripe repeats its first response to a retry, so read the current status from the intent.
        return self._read_again(payment, result) if result.detail.get("intent_status") == "processing" else result

    def find(self, payment: Payment, *, now: datetime) -> ChargeResult:
        """Find the payment's intent with Stripe's search, or in the list of intents if the search index lags."""
        try:
            for intent in self._candidates(payment, now):
                if _is_about(payment, intent):
                    return self._read_intent(payment, intent)
        except ProviderError as error:
            return ChargeResult(UNKNOWN, answered=False, detail={"error": error.word})
        if payment.unanswered_since is not None and now - payment.unanswered_since < _IN_FLIGHT:
            return ChargeResult(UNKNOWN, answered=False, detail={"error": "may be in flight"})
        return ChargeResult(ABSENT)

    def _read_again(self, payment: Payment, known: ChargeResult) -> ChargeResult:
        try:
            answer = self._call("GET", f"/v1/payment_intents/{quote(known.detail['intent'], safe='')}")
            content = answer.json() if answer.status == HTTPStatus.OK else None
            return self._read_intent(payment, content, known.detail) if isinstance(content, dict) else known
        except ProviderError:
            return known

    def _candidates(self, payment: Payment, now: datetime) -> Any:
        query = {"query": f"metadata['payment_id']:'{payment.pk}'", "limit": "10"}
        answer = self._call("GET", "/v1/payment_intents/search", params=query)
        if answer.status == HTTPStatus.OK:
            yield from _list_items(answer)
        page: dict[str, str] = {
            "created[gte]": str(int((payment.created_at - _CLOCKS_APART).timestamp())),
            "created[lte]": str(int((now + _CLOCKS_APART).timestamp())),
            "limit": str(_PAGE),
        }
        for _ in range(50):
            answer = self._call("GET", "/v1/payment_intents", params=page)
            if answer.status != HTTPStatus.OK:
                raise ProviderError(f"status {answer.status}", outcome_unknown=True)
            intents = _list_items(answer)
            yield from intents
            if not answer.json().get("has_more") or not intents:
                return
            page["starting_after"] = str(intents[-1].get("id"))
        raise ProviderError("too many intents", outcome_unknown=True)

    def _result_of_charge(self, payment: Payment, answer: ProviderAnswer) -> ChargeResult:
        """Convert the response of a charge request. Raises ProviderError for an unreadable response."""
        detail: dict[str, Any] = {"status": answer.status, "request": answer.headers.get("request-id", "")}
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            # A 500 from Stripe and a replayed response are final for the request. Other 5xx may come from a gateway.
            replayed = "idempotent-replayed" in answer.headers
            ended = replayed or answer.status == HTTPStatus.INTERNAL_SERVER_ERROR
            return ChargeResult(UNKNOWN, server_error=True, answered=ended, detail=detail)
        content = answer.json()
        if not isinstance(content, dict):
            raise ProviderError("unreadable", outcome_unknown=True)
        if answer.status == HTTPStatus.OK:
            return self._read_intent(payment, content, detail)
        error = content.get("error")
        if not isinstance(error, dict):
            raise ProviderError("unreadable", outcome_unknown=True)
        detail |= {"type": _word(error, "type"), "code": _word(error, "code")}
        if answer.status in {402, 400, 404} and detail["type"] in {"card_error", "invalid_request_error"}:
            words = (_word(error, name) for name in ("decline_code", "code", "type"))
            return ChargeResult(DECLINED, failure=next(filter(None, words)), detail=detail)
        # With 401, 403, 409, or 429, this request charged nothing. An earlier request may have charged the card.
        return ChargeResult(UNKNOWN, detail=detail)

    def _read_intent(
        self, payment: Payment, intent: dict[str, Any], detail: dict[str, Any] | None = None
    ) -> ChargeResult:
        detail = {
            **(detail or {}),
            "intent": _word(intent, "id", longest=_ID_MAX_LENGTH),
            "intent_status": _word(intent, "status"),
        }
        stated = (intent.get("amount"), str(intent.get("currency")).lower())
        if stated != (payment.amount_cents, payment.currency) or not _is_about(payment, intent) or not detail["intent"]:
            return ChargeResult(UNKNOWN, detail={**detail, "error": "contradiction"})
        status = detail["intent_status"]
        if status == "succeeded":
            if intent.get("amount_received", payment.amount_cents) != payment.amount_cents:
                return ChargeResult(UNKNOWN, detail={**detail, "error": "contradiction"})
            return ChargeResult(SUCCEEDED, transaction_id=detail["intent"], detail=detail)
        if status == "requires_action":
            return self._cancel(detail["intent"], detail)
        if status in {"canceled", "requires_payment_method"}:
            return ChargeResult(DECLINED, failure=status, detail=detail)
        return ChargeResult(UNKNOWN, detail=detail)

    def _cancel(self, intent_id: str, detail: dict[str, Any]) -> ChargeResult:
        """Cancel an intent that requires an action by the payer, who is absent.

        Only a successful cancellation declines the charge.
        """
        address, key = f"/v1/payment_intents/{quote(intent_id, safe='')}/cancel", f"cancel-{intent_id}"
        answer = self._call("POST", address, form={}, key=key)
        content = answer.json() if answer.status == HTTPStatus.OK else None
        if isinstance(content, dict) and content.get("status") == "canceled":
            return ChargeResult(DECLINED, failure="authentication_required", detail={**detail, "canceled": True})
        return ChargeResult(UNKNOWN, detail={**detail, "error": "not canceled"})

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        key: str = "",
    ) -> ProviderAnswer:
        headers = {"Authorization": f"Bearer {settings.STRIPE_SECRET_KEY}", "Stripe-Version": API_VERSION}
        if key:
            headers["Idempotency-Key"] = key
        address = settings.STRIPE_BASE_URL + path
        return call(method, address, params=params, form=form, headers=headers, seconds=READ_TIMEOUT_SECONDS)


def _word(document: dict[str, Any], name: str, *, longest: int = 64) -> str | None:
    """Return a string of a Stripe object, or None if the database can't store it."""
    value = document.get(name)
    return value if is_text(value, longest) else None


def _is_about(payment: Payment, intent: dict[str, Any]) -> bool:
    metadata = intent.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("payment_id") != str(payment.pk):
        return False
    return bool(metadata.get("payment_key", payment.processor_key) == payment.processor_key)


def _list_items(answer: ProviderAnswer) -> list[dict[str, Any]]:
    """Return the items of a Stripe list. Raises ProviderError for any other response."""
    content = answer.json()
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, list) or not all(isinstance(member, dict) for member in data):
        raise ProviderError("unreadable", outcome_unknown=True)
    return data


def is_signature_valid(body: bytes, header: str, *, secret: str) -> bool:
    """Return whether a `Stripe-Signature` header signs `body` with a timestamp within 5 minutes of now."""
    parts = [part.strip().partition("=") for part in header.split(",")]
    timestamps = [value for name, _, value in parts if name == "t"]
    if not secret or len(timestamps) != 1 or not (timestamps[0].isascii() and timestamps[0].isdigit()):
        return False
    if abs(time.time() - int(timestamps[0][:18])) > SIGNATURE_TOLERANCE_SECONDS:
        return False
    expected = hmac.new(secret.encode(), timestamps[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(name == "v1" and hmac.compare_digest(expected.encode(), digest.encode()) for name, _, digest in parts)

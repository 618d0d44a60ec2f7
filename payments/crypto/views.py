from functools import partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from config.api.idempotency import Outcome, ReservableKey, run_once
from config.api.views import ApiRequest, endpoint, require_self
from config.clients.provider import ProviderUnavailable
from config.core.credentials import FIRST_PARTY
from config.core.errors import UserMismatch, ValidationFailed
from config.core.json_text import render_json
from config.core.lifecycle import actor_of
from payments.crypto import broadcast as crypto
from payments.crypto import queries, serializers
from payments.crypto.models import CryptoPayment
from payments.errors import (
    BroadcastRefused,
    CardDataRefused,
    PaymentExpired,
    PaymentNotFound,
    SignedTransactionMismatch,
    TransferWouldFail,
    WalletNotFound,
)
from payments.views import PaymentsViewSet

_SIGNING_ERRORS = (SignedTransactionMismatch, PaymentExpired)
_READING_ERRORS = (ValidationFailed, CardDataRefused, ProviderUnavailable)
_changes = partial(endpoint, access=FIRST_PARTY, idempotent=True)


class CryptoPaymentViewSet(PaymentsViewSet):
    @_changes(
        body=serializers.InitiateRequestSerializer,
        answer=serializers.InitiatedSerializer,
        reserves_key=True,
        errors=(UserMismatch, CardDataRefused, WalletNotFound, TransferWouldFail, ProviderUnavailable),
    )
    def initiate(self, request: ApiRequest, body: dict[str, Any], key: ReservableKey | None) -> Outcome:
        """Initiate a crypto payment.

        The API stores the payment and returns the transaction that the wallet must sign.

        Without a settlement chain, the transaction is a placeholder, and `simulated` is true.
        """
        stored = None if key is None else key.stored()
        if stored is not None:
            return stored
        require_self(request, body.pop("user_id"))
        body["network"] = body["network"] or settings.SETTLEMENT_NETWORK
        payment = crypto.prepare_payment(owner=request.user, now=timezone.now(), **body)

        def work() -> Outcome:
            crypto.store_payment(payment)
            return Outcome(200, render_json(serializers.InitiatedSerializer.represent(payment)))

        return run_once(key, work)

    @_changes(
        body=serializers.ConfirmRequestSerializer,
        answer=serializers.ConfirmedSerializer,
        leased=True,
        errors=(CardDataRefused, PaymentNotFound, *_SIGNING_ERRORS, BroadcastRefused, ProviderUnavailable),
    )
    def confirm(self, request: ApiRequest, body: dict[str, Any]) -> CryptoPayment:
        """Confirm a crypto payment.

        The API sends the signed transaction to the network. The transaction must be exactly the initiated transfer. If
        you send a submitted transaction again, the API returns the payment with its current status.

        Without a settlement chain, the API does not check the transaction, and simulates its submission.
        """
        return crypto.confirm_payment(body.pop("payment_id"), actor=actor_of(request), now=timezone.now(), **body)

    @endpoint(access="wallet:read", answer=serializers.TransactionStatusSerializer, errors=_READING_ERRORS)
    def status(self, request: ApiRequest, tx_hash: str) -> dict[str, Any]:  # noqa: ARG002  any caller may read the chain
        """Get the status of a transaction.

        Without a settlement chain, `status` is always `confirmed`, and `simulated` is true.
        """
        return queries.transaction_status(queries.read_hash(tx_hash))

    @endpoint(access=FIRST_PARTY, answer=serializers.ReceiptSerializer, errors=_READING_ERRORS)
    def receipt(self, request: ApiRequest, tx_hash: str) -> dict[str, Any]:  # noqa: ARG002
        """Check for the receipt of a transfer.

        Without a settlement chain, `verified` is always false.
        """
        return queries.transaction_receipt(queries.read_hash(tx_hash))

    @endpoint(access=FIRST_PARTY, answer=serializers.ReceiptDetailsSerializer, errors=_READING_ERRORS)
    def receipt_details(self, request: ApiRequest, tx_hash: str) -> dict[str, Any]:  # noqa: ARG002
        """Get the receipt of a transfer.

        Fields that are not known yet are null.
        """
        return queries.transaction_details(queries.read_hash(tx_hash))

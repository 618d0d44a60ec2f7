from config.core.errors import ApiError


class PaymentNotFound(ApiError):
    status, error, code, message, stored = 404, "payment_not_found", "E4010", "Payment not found.", True


class InvalidAmount(ApiError):
    error, code = "invalid_amount", "E1003"
    message = "`amount` must be a number of cents from 1 to 9223372036854775807."


class CardDataRefused(ApiError):
    error, code = "card_data_refused", "E1012"
    message = (
        "The request contains a card number. Send the processor's token instead. The API did not store the number."
    )


class CardDeclined(ApiError):
    status, error, code, stored = 502, "card_declined", "E5001", True
    message = "No amount was charged. `details.failure` has the reason."


class ProcessorUnavailable(ApiError):
    """The outcome is unknown. A retry with the same idempotency key determines the outcome.

    Without a key, a retry would create a new payment.
    """

    status, error, code = 502, "processor_unavailable", "E5002"
    message = "The card processor returned no clear result. Send the same request with the same Idempotency-Key again."


class WalletNotFound(ApiError):
    status, error, code, message, stored = 404, "wallet_not_found", "E4006", "Wallet not found.", True


class SignedTransactionMismatch(ApiError):
    error, code = "signed_transaction_mismatch", "E3007"
    message = "The signed transaction differs from the initiated transaction. The API sent nothing to the network."


class PaymentExpired(ApiError):
    error, code = "payment_expired", "E3008"
    message = "The payment was not signed in time. Initiate a new payment."


class TransferWouldFail(ApiError):
    error, code = "transfer_would_fail", "E3017"
    message = "The network reports that this transfer would fail."


class BroadcastRefused(ApiError):
    error, code = "broadcast_refused", "E3009"
    message = "The network rejects the signed transaction."

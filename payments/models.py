"""Tables of this room: card payments and their attempts, payment methods; wallets and crypto payments stand apart."""

from payments.card_models import (
    Payment,
    PaymentAttempt,
    PaymentMethod,
    ProcessorEvent,
    SandboxCharge,
)
from payments.crypto_models import CryptoPayment, CryptoPaymentHistory, CryptoTransaction
from payments.wallet_models import CustodyAccount, Wallet

__all__ = [
    "CryptoPayment",
    "CryptoPaymentHistory",
    "CryptoTransaction",
    "CustodyAccount",
    "Payment",
    "PaymentAttempt",
    "PaymentMethod",
    "ProcessorEvent",
    "SandboxCharge",
    "Wallet",
]

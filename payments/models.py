from payments.cards.models import Payment, PaymentAttempt, PaymentMethod, ProcessorEvent, SandboxCharge
from payments.crypto.models import CryptoPayment, CryptoPaymentHistory, CryptoTransaction
from payments.wallets.models import CustodyAccount, Wallet

__all__ = [
    "CryptoPayment", "CryptoPaymentHistory", "CryptoTransaction", "CustodyAccount", "Payment", "PaymentAttempt",
    "PaymentMethod", "ProcessorEvent", "SandboxCharge", "Wallet",
]  # fmt: skip

"""A deterministic offline card processor. It stores its charges in a database table.

The processor declines `pm_sandbox_declined`. It charges `pm_sandbox_timeout`, but the first response is lost. It
rejects `pm_sandbox_error` with a server error before the charge. It charges all other tokens.
"""

import hashlib
from datetime import datetime

from payments.cards.models import Payment, SandboxCharge
from payments.cards.processors.base import ABSENT, DECLINED, SUCCEEDED, UNKNOWN, ChargeResult

TOKENS = {"declined": "pm_sandbox_declined", "timeout": "pm_sandbox_timeout", "error": "pm_sandbox_error"}


class SandboxProcessor:
    name = "sandbox"

    def charge(self, payment: Payment, *, method_token: str) -> ChargeResult:
        if method_token == TOKENS["declined"]:
            return ChargeResult(DECLINED, failure="card_declined")
        if method_token == TOKENS["error"]:
            return ChargeResult(UNKNOWN, server_error=True, detail={"status": 500})
        charge, is_new = SandboxCharge.objects.get_or_create(
            key=payment.processor_key,
            defaults={
                "payment_id": payment.pk,
                "transaction_id": f"sandbox_{hashlib.sha256(payment.processor_key.encode()).hexdigest()[:24]}",
                "amount_cents": payment.amount_cents,
                "currency": payment.currency,
            },
        )
        if is_new and method_token == TOKENS["timeout"]:
            return ChargeResult(UNKNOWN, answered=False, detail={"error": "timeout"})
        return ChargeResult(SUCCEEDED, transaction_id=charge.transaction_id)

    def find(self, payment: Payment, *, now: datetime) -> ChargeResult:  # noqa: ARG002
        charge = SandboxCharge.objects.filter(payment_id=payment.pk, key=payment.processor_key).first()
        if charge is None:
            return ChargeResult(ABSENT)
        return ChargeResult(SUCCEEDED, transaction_id=charge.transaction_id)

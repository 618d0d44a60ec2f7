"""The built-in processor: deterministic, offline, with a memory of its own.

`pm_sandbox_declined` is declined. `pm_sandbox_timeout` is charged and the answer is lost, the first time.
`pm_sandbox_error` fails before it charges, every time. Anything else is charged.
"""

import hashlib
from datetime import datetime

from payments.cards.models import SandboxCharge
from payments.cards.processors.base import ABSENT, DECLINED, SUCCEEDED, UNKNOWN, ChargeRequest, ChargeResult

TOKENS = {"declined": "pm_sandbox_declined", "timeout": "pm_sandbox_timeout", "error": "pm_sandbox_error"}


class SandboxProcessor:
    """A processor for development and tests; it moves no money."""

    name = "sandbox"

    def charge(self, request: ChargeRequest) -> ChargeResult:
        if request.method_token == TOKENS["declined"]:
            return ChargeResult(DECLINED, failure="card_declined")
        if request.method_token == TOKENS["error"]:
            return ChargeResult(UNKNOWN, server_error=True, detail={"status": 500})
        charge, is_new = SandboxCharge.objects.get_or_create(
            key=request.key,
            defaults={
                "payment_id": request.payment_id,
                "transaction_id": f"sandbox_{hashlib.sha256(request.key.encode()).hexdigest()[:24]}",
                "amount_cents": request.amount_cents,
                "currency": request.currency,
            },
        )
        if is_new and request.method_token == TOKENS["timeout"]:
            return ChargeResult(UNKNOWN, answered=False, detail={"error": "timeout"})
        return ChargeResult(SUCCEEDED, transaction_id=charge.transaction_id)

    def find(self, request: ChargeRequest, *, now: datetime) -> ChargeResult:  # noqa: ARG002
        charge = SandboxCharge.objects.filter(payment_id=request.payment_id, key=request.key).first()
        if charge is None:
            return ChargeResult(ABSENT)
        return ChargeResult(SUCCEEDED, transaction_id=charge.transaction_id)

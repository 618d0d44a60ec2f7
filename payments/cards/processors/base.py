"""What card payments ask of a processor.

A processor has a `name`, `charge`, which may be called again with the same request and then charges nothing new, and
`find`, which says what became of a charge. Both return a `ChargeResult`; what cannot be known is one, too.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

SUCCEEDED, DECLINED, UNKNOWN, ABSENT = "succeeded", "declined", "unknown", "absent"


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """What to charge. `key` makes repeating it harmless.

    `unanswered_since` is when it was last asked for without an answer that ended the request, None when nothing is
    open: until some time after that, a charge may still come of it.
    """

    payment_id: int
    key: str
    amount_cents: int
    currency: str
    method_token: str
    fee_cents: int
    description: str | None
    destination: str | None
    created_at: datetime
    unanswered_since: datetime | None


@dataclass(frozen=True, slots=True)
class ChargeResult:
    """What a processor said.

    `outcome` is one of the four words above: `absent` (from `find` alone) means that there is certainly no charge and
    that none can come of what was sent. `server_error` marks an answer of 5xx, `answered` is False when what was asked
    may still be under way. `detail` is for the log: no secrets.
    """

    outcome: str
    transaction_id: str | None = None
    failure: str | None = None
    server_error: bool = False
    answered: bool = True
    detail: dict[str, Any] = field(default_factory=dict)


class CardProcessor(Protocol):
    """A card processor."""

    name: str

    def charge(self, request: ChargeRequest) -> ChargeResult:
        """Ask for the charge, under its key."""

    def find(self, request: ChargeRequest, *, now: datetime) -> ChargeResult:
        """Look for the charge by the payment's id."""

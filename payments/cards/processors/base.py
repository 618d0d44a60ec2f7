"""The API that a processor for card payments implements.

A processor has a `name`, `charge`, and `find`. `charge` may be called again with the same payment and then never
charges twice (its `processor_key` ensures it). `find` returns the outcome of a charge: until some time after
`unanswered_since` an earlier request may still result in one. Both return a `ChargeResult`; what cannot be known is
one, too.
"""

from dataclasses import dataclass, field
from typing import Any

SUCCEEDED, DECLINED, UNKNOWN, ABSENT = "succeeded", "declined", "unknown", "absent"


@dataclass(frozen=True, slots=True)
class ChargeResult:
    """`outcome` is one of the four words above: `absent` (from `find` alone) means that there is certainly no charge
    and that none can result from an earlier request. `server_error` marks an answer of 5xx, `answered` is False if the
    request may still be in flight. `detail` is for the log: no secrets.
    """

    outcome: str
    transaction_id: str | None = None
    failure: str | None = None
    server_error: bool = False
    answered: bool = True
    detail: dict[str, Any] = field(default_factory=dict)

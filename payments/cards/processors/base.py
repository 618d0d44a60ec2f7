"""The API that a processor for card payments implements.

A processor has a `name`, `charge`, and `find`. `charge` is idempotent for a payment: its `processor_key` prevents a
second charge. `find` returns the outcome of an earlier charge. For some time after `unanswered_since`, an earlier
request may still result in a charge. Both return a `ChargeResult`, also for an unknown outcome.
"""

from dataclasses import dataclass, field
from typing import Any

SUCCEEDED, DECLINED, UNKNOWN, ABSENT = "succeeded", "declined", "unknown", "absent"


@dataclass(frozen=True, slots=True)
class ChargeResult:
    """The result of a charge or a search.

    `outcome` is one of the four values above. `absent` (only from `find`) means that no charge exists, and that no
    earlier request can still result in one. `server_error` marks a 5xx response. `answered` is False if the request may
    still be in flight. `detail` is for the log, without secrets.
    """

    outcome: str
    transaction_id: str | None = None
    failure: str | None = None
    server_error: bool = False
    answered: bool = True
    detail: dict[str, Any] = field(default_factory=dict)

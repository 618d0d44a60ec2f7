"""Base definitions for card processors.

A processor has a `name`, `charge`, and `find`. `charge` is idempotent: the payment's `processor_key` prevents a second
charge. `find` returns the outcome of an earlier charge request. For some time after `unanswered_since`, an unanswered
charge request may still create a charge. `charge` and `find` return a `ChargeResult`, even if the outcome is unknown.
"""

from dataclasses import dataclass, field
from typing import Any

SUCCEEDED, DECLINED, UNKNOWN, ABSENT = "succeeded", "declined", "unknown", "absent"


@dataclass(frozen=True, slots=True)
class ChargeResult:
    """The result of a charge or a search.

    `outcome` is `succeeded`, `declined`, `unknown`, or `absent`. Only `find` returns `absent`: no charge exists, and no
    earlier request can still create a charge. `server_error` is true for a 5xx response. `answered` is false if the
    request may still be in flight. `detail` is logged and contains no secrets.
    """

    outcome: str
    transaction_id: str | None = None
    failure: str | None = None
    server_error: bool = False
    answered: bool = True
    detail: dict[str, Any] = field(default_factory=dict)

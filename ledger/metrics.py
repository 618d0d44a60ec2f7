"""How far the log has come."""

from collections.abc import Iterator
from datetime import UTC, datetime

from config.api.metrics import Reading
from ledger import log
from ledger.errors import LogUnavailableError


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    """Read the log's head."""
    head = log.read_head(using)
    yield Reading("platform_ledger_height", "Sealed blocks.", head.number)
    yield Reading("platform_ledger_entries", "Anchored entries: the size of the tree.", head.tree_size)
    sealed_at = datetime.fromisoformat(head.timestamp).replace(tzinfo=UTC) if head.timestamp else now
    yield Reading(
        "platform_ledger_last_block_seconds", "Age of the last block.", max(0.0, (now - sealed_at).total_seconds())
    )
    try:
        may_sign = not log.is_behind_guard(head, using=using)
    except LogUnavailableError:
        may_sign = False
    yield Reading(
        "platform_ledger_may_sign",
        "0 when the database is behind what was signed on this machine, or the guard file is damaged.",
        may_sign,
    )

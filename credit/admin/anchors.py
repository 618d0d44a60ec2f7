from collections.abc import Iterable

from config.backoffice.timeline import TimelineEntry
from credit.models import DecisionAnchor


def anchor_entries(anchor: DecisionAnchor | None, what: str) -> Iterable[TimelineEntry]:
    """Yield the entry of what has arrived in the ledger, nothing while it is on its way."""
    if anchor is not None and anchor.anchored_at is not None:
        yield TimelineEntry(
            at=anchor.anchored_at,
            title=f"{what} anchored in the ledger",
            facts=(("block", str(anchor.block_number)), ("record SHA-256", anchor.record_sha256)),
        )

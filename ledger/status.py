"""The status of the ledger's node, for `/health` and `/stats`."""

import logging
from dataclasses import dataclass, replace

from django.utils import timezone

from config.ops.health import CHECK_SECONDS, Checkup, examine, in_time
from ledger import log, signing, witnessing
from ledger.group_commit import group_commit
from ledger.models import database

logger = logging.getLogger("platform.health")


@dataclass(frozen=True)
class NodeStatus:
    is_healthy: bool = False
    block_height: int = 0
    tree_size: int = 0
    is_syncing: bool = False
    peers: int = 0  # the number of witnesses that cosigned within the last hour

    @property
    def status(self) -> str:
        return "healthy" if self.is_healthy else "degraded"


def node_status() -> NodeStatus:
    """Check the log and its signing. Raises DatabaseError if the log can't be read."""
    head = log.read_head()
    peers = witnessing.count_peers(timezone.now())
    return NodeStatus(signing.may_sign(head), head.number, head.tree_size, group_commit.is_busy, peers)


def _examined_status() -> NodeStatus | None:
    """Check the database and the log. Returns None if migrations are pending. A read-only standby is degraded."""
    vitals = examine(database().alias)
    if not vitals.is_migrated:
        logger.warning("unhealthy: migrations are pending on %s", database().alias)
        return None
    status = node_status()
    return replace(status, is_healthy=status.is_healthy and vitals.is_writable)


_checkup = Checkup(_examined_status)


def status_in_time() -> NodeStatus | None:
    """Return the node's status, or None if the database does not respond within CHECK_SECONDS."""
    return in_time(_checkup, seconds=CHECK_SECONDS)

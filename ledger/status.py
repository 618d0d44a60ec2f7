"""How this node is: what `/health` and `/stats` say."""

from dataclasses import dataclass

from ledger import log
from ledger.errors import LogUnavailableError
from ledger.group_commit import group_commit


@dataclass(frozen=True)
class NodeStatus:
    """The state of this process and of the log it reads."""

    is_healthy: bool
    block_height: int
    tree_size: int
    is_syncing: bool


def node_status() -> NodeStatus:
    """Look at the log and its guard. Raises DatabaseError when the log cannot be read."""
    head = log.read_head()
    try:
        may_sign = not log.is_behind_guard(head)
    except LogUnavailableError:
        may_sign = False
    return NodeStatus(may_sign, head.number, head.tree_size, group_commit.is_busy)


def unreachable() -> NodeStatus:
    """The status of a node whose database does not answer."""
    return NodeStatus(is_healthy=False, block_height=0, tree_size=0, is_syncing=group_commit.is_busy)

"""Signing of blocks, and the checks before signing.

A log has a single history only if the signer knows the newest head. So nothing is signed if the guard file is missing
or contradicts the head, or if a different key signed the head. An operator must then intervene (`adopt_ledger_head`).
"""

from ledger import guard, log, merkle
from ledger.checkpoint import Checkpoint, NoteError, Signer, open_checkpoint
from ledger.errors import ForeignHeadError, GuardMissingError, LogBehindError, LogUnavailableError
from ledger.keys import signer
from ledger.models import Block

# The newest head that this process has signed or verified, and the key. The cache avoids a slow verification.
_known: tuple[log.Head, Signer] | None = None


def may_sign(head: log.Head, *, using: str | None = None, with_key: bool = True) -> bool:
    """Check whether `check_guard` passes. If this machine has the key, `check_key` must also pass."""
    try:
        check_guard(head, using=using)
        if with_key:
            check_key(head)
    except LogUnavailableError:
        return False
    return True


def check_guard(head: log.Head, before: log.Head | None = None, *, using: str | None = None) -> None:
    """Raise an error unless the guard file exists, is writable, and matches the log. An empty log needs no guard file.

    `before` is the previous head. If it is available, it often saves a query. Raises GuardMissingError,
    GuardDamagedError, GuardOutOfReachError, and LogBehindError.
    """
    mark = guard.probe()
    if mark is None:
        if head.number:
            raise GuardMissingError
    elif not _contains(mark, head, before, using):
        raise LogBehindError


def check_key(head: log.Head) -> None:
    """Raise ForeignHeadError unless the configured key and origin signed this head. An empty head passes."""
    global _known  # noqa: PLW0603  a cache of one item that any thread may replace
    key = signer()
    if head.number == 0 or _known == (head, key):
        return
    try:
        checkpoint = open_checkpoint(head.checkpoint, key.verifier)
    except NoteError as error:
        raise ForeignHeadError from error
    if checkpoint != Checkpoint(key.name, head.tree_size, head.root):
        raise ForeignHeadError
    _known = head, key


def _contains(mark: guard.Mark, head: log.Head, before: log.Head | None, using: str | None) -> bool:
    if any((mark.size, mark.root) == (known.tree_size, known.root) for known in (log.Head(), before or head, head)):
        return True
    if mark.size >= head.tree_size:
        return False
    # Another process may have committed a block, but not yet updated the guard file.
    return Block.objects.using(using).filter(tree_size=mark.size, root=mark.root).exists()


def sign_block(head: log.Head, frontier: merkle.Frontier, timestamp: str) -> log.Head:
    """Return the signed block that follows `head`, over the tree with this `frontier`."""
    global _known  # noqa: PLW0603
    number, size, root, key = head.number + 1, frontier.size, frontier.root(), signer()
    block_hash = log.block_hash(number=number, previous=head.block_hash, root=root, timestamp=timestamp, tree_size=size)
    checkpoint = key.sign(Checkpoint(key.name, size, root).text())
    new_head = log.Head(number, size, root, block_hash, timestamp, frontier.packed(), checkpoint)
    _known = new_head, key
    return new_head

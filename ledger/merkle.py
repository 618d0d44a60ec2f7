"""The Merkle tree of RFC 6962 section 2.1 (the same as RFC 9162 section 2.1) with SHA-256.

This module contains only arithmetic and hashing. The first step of a proof computes half-open ranges of entries
(`inclusion_ranges`, `consistency_ranges`). The second step splits each range into complete subtrees (`complete_nodes`).
The caller then loads the hashes of the subtrees, and `fold` combines them.

An *index* numbers entries from 0. A *level* is the number of a row of the tree: 0 for the leaves, and higher toward the
root. A *node* is `(level, index within the level)`, and covers entries `index << level` to `(index + 1) << level`.
"""

from collections.abc import Sequence
from hashlib import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()

Node = tuple[int, int]
Range = tuple[int, int]


class InvalidProofError(ValueError):
    """A proof is invalid. The message describes the failed check."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of an entry. The prefix 0x00 distinguishes leaves from inner nodes (second-preimage attacks)."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node from its two children, 32 bytes each."""
    return sha256(b"\x01" + left + right).digest()


def fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root of adjacent complete subtrees.

    `hashes` starts with the leftmost subtree, which is the largest.
    """
    if not hashes:
        return EMPTY_ROOT
    digest = hashes[-1]
    for left in reversed(hashes[:-1]):
        digest = node_hash(left, digest)
    return digest


def complete_nodes(start: int, end: int) -> list[Node]:
    """Split entries `start`..`end` of one subtree into complete subtrees, largest first.

    `start` must be aligned to the subtree. All ranges from this module's planning functions are aligned.
    """
    nodes = []
    while start < end:
        level = (end - start).bit_length() - 1
        nodes.append((level, start >> level))
        start += 1 << level
    return nodes


def _split(width: int) -> int:
    """Return the largest power of two below `width` (k in RFC 6962). `width` is at least 2."""
    return 1 << ((width - 1).bit_length() - 1)


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Return the ranges whose roots are the audit path of entry `index` in a tree of `size`, from the leaf upward.

    Raises ValueError if the tree has no such entry.
    """
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} entries has no entry {index}")
    start, end, ranges = 0, size, []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    ranges.reverse()
    return ranges


def consistency_ranges(old_size: int, new_size: int) -> list[Range]:
    """Return the ranges whose roots prove that the tree of `old_size` is a prefix of the tree of `new_size`.

    The list is empty for equal sizes, and for `old_size` 0, because every tree extends the empty tree. Raises
    ValueError if `old_size` is larger.
    """
    if not 0 <= old_size <= new_size:
        raise ValueError(f"a tree of {old_size} entries cannot be a prefix of a tree of {new_size}")
    if old_size == 0:
        return []
    start, end, ranges = 0, new_size, []
    while end != old_size:
        middle = start + _split(end - start)
        if old_size <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    if start > 0:
        # `start` is 0 if the old tree is one complete subtree. The verifier already has the hash of this subtree.
        ranges.append((start, end))
    ranges.reverse()
    return ranges


def verify_inclusion(digest: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Raise InvalidProofError if `path` does not prove a leaf hash under `root` (RFC 9162 section 2.1.3.2)."""
    if not 0 <= index < size:
        raise InvalidProofError(f"a tree of {size} entries has no entry {index}")
    position, last = index, size - 1
    for sibling in path:
        if last == 0:
            raise InvalidProofError("the audit path is too long")
        if position & 1 or position == last:
            digest = node_hash(sibling, digest)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            digest = node_hash(digest, sibling)
        position, last = position >> 1, last >> 1
    if last:
        raise InvalidProofError("the audit path is too short")
    if digest != root:
        raise InvalidProofError("the audit path leads to another root")


def verify_consistency(old_size: int, new_size: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> None:
    """Raise InvalidProofError if the new tree does not extend the old tree (RFC 9162 section 2.1.4.2).

    Two trees of the same size must be identical. Every tree extends the empty tree.
    """
    if not 0 <= old_size <= new_size:
        raise InvalidProofError("the older tree is the larger one")
    if old_size in (0, new_size):
        expected = EMPTY_ROOT if old_size == 0 else new_root
        if proof or old_root != expected:
            raise InvalidProofError("the proof or the older root is not the one for these sizes")
        return
    # The proof omits the root of an old tree that is a complete subtree.
    hashes = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    old, new = _roots_of_consistency(old_size - 1, new_size - 1, hashes)
    if old != old_root:
        raise InvalidProofError("the consistency proof leads to another old root")
    if new != new_root:
        raise InvalidProofError("the consistency proof leads to another new root")


def _roots_of_consistency(position: int, last: int, hashes: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Compute the old and the new root from the hashes. `position` and `last` are the last indexes of the trees."""
    if not hashes:
        raise InvalidProofError("the consistency proof is too short")
    while position & 1:
        position, last = position >> 1, last >> 1
    old = new = hashes[0]
    for digest in hashes[1:]:
        if last == 0:
            raise InvalidProofError("the consistency proof is too long")
        if position & 1 or position == last:
            old, new = node_hash(digest, old), node_hash(digest, new)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            new = node_hash(new, digest)
        position, last = position >> 1, last >> 1
    if last:
        raise InvalidProofError("the consistency proof is too short")
    return old, new


class Frontier:
    """The right edge of a growing tree, with one hash per complete subtree, largest first.

    Appending an entry needs only the frontier. A frontier has at most one hash per bit of the size. Every block stores
    the frontier in packed form. So sealing and proving never compute the frontier from tiles.
    """

    def __init__(self, size: int = 0, packed: bytes = b"") -> None:
        """Parse `packed`, the concatenation of the hashes. Raises ValueError if it doesn't match `size`."""
        if size < 0 or len(packed) != HASH_BYTES * size.bit_count():
            raise ValueError(f"a frontier of {len(packed)} bytes does not fit a tree of {size} entries")
        self.size = size
        self.hashes = [packed[at : at + HASH_BYTES] for at in range(0, len(packed), HASH_BYTES)]

    def push(self, digest: bytes) -> list[tuple[int, bytes]]:
        """Append a leaf hash. Return every `(level, hash)` that the leaf completes, beginning with the leaf itself."""
        level, formed = 0, [(0, digest)]
        while self.size >> level & 1:
            digest = node_hash(self.hashes.pop(), digest)
            level += 1
            formed.append((level, digest))
        self.hashes.append(digest)
        self.size += 1
        return formed

    def nodes(self) -> dict[Node, bytes]:
        return dict(zip(complete_nodes(0, self.size), self.hashes, strict=True))

    def packed(self) -> bytes:
        return b"".join(self.hashes)

    def root(self) -> bytes:
        return fold(self.hashes)

"""Check the platform's proofs with independent implementations."""

from collections.abc import Sequence

import metamorphic_log.metamorphic_log as metamorphic
from pymerkle import InmemoryTree


def accepts_inclusion(index: int, size: int, leaf: bytes, path: Sequence[bytes], root: bytes) -> bool:
    """Return whether metamorphic-log accepts an audit path."""
    try:
        metamorphic.verify_inclusion(index, size, leaf, list(path), root)
    except metamorphic.VerifyError:
        return False
    return True


def accepts_consistency(old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> bool:
    """Return whether metamorphic-log accepts a consistency proof."""
    try:
        metamorphic.verify_consistency(old, new, list(proof), old_root, new_root)
    except metamorphic.VerifyError:
        return False
    return True


def open_checkpoint(note: str, vkey: str) -> metamorphic.CheckpointHead:
    """Return the head of a checkpoint with a valid signature; raises metamorphic-log's VerifyError."""
    return metamorphic.checkpoint_verify(note, [vkey])


def accepts_proof_file(text: str, leaf: bytes, vkey: str) -> bool:
    """Return whether metamorphic-log accepts the parts of a tlog-proof file; this function only splits the file."""
    import base64

    head, note = text.split("\n\n", 1)
    lines = head.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("index "))
    path = [base64.b64decode(line) for line in lines[at + 1 :]]
    try:
        metamorphic.checkpoint_verify_inclusion(note, [vkey], int(lines[at][6:]), leaf, path)
    except metamorphic.VerifyError:
        return False
    return True


def pymerkle_tree(entries: Sequence[bytes]) -> InmemoryTree:
    """Return pymerkle's tree over the same entries."""
    tree = InmemoryTree(algorithm="sha256")
    for entry in entries:
        tree.append_entry(entry)
    return tree

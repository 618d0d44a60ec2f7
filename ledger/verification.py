"""Checking a proof file with the log at hand: the offline steps, and one that only the log can take."""

from ledger import log, proofs
from ledger.checkpoint import Checkpoint, open_checkpoint
from ledger.keys import signer
from ledger.proofs import Step


def verify_proof(text: str, report_hash: bytes) -> list[Step]:
    """Every step up to the first that fails; the report is proven when the last one is ok."""
    verifier = signer().verifier
    steps = proofs.check_proof(text, report_hash, verifier)
    if not steps[-1].ok:
        return steps
    checkpoint = open_checkpoint(proofs.ProofFile.from_text(text).checkpoint_note, verifier)
    return [*steps, _consistency_step(checkpoint)]


def _consistency_step(checkpoint: Checkpoint) -> Step:
    """Whether the log still contains the tree that the checkpoint signed."""
    head = log.read_head()
    if checkpoint.size > head.tree_size:
        detail = f"This log has only {head.tree_size} entries: it forgot some, or its database is old."
        return Step("consistency", ok=False, detail=detail)
    if log.root_at(checkpoint.size, head) != checkpoint.root:
        detail = "This log's tree had another root at that size: it shows two histories."
        return Step("consistency", ok=False, detail=detail)
    detail = f"The log of today, {head.tree_size} entries, still begins with that tree."
    return Step("consistency", ok=True, detail=detail)

"""Erasure of a person's metadata; hashes and proofs stay."""

from datetime import datetime

from config.core import audit
from ledger.models import Entry


def erase_metadata(user_id: str | int, *, now: datetime) -> dict[str, int]:  # noqa: ARG001  the signature of erasure steps
    """Delete nonce and metadata of every entry of this user; the one change that an entry may undergo.

    The tree keeps the report's hash and a commitment that can no longer be opened, so every proof stays valid and
    `verify_ledger` accepts the entry. Safe to run twice.
    """
    entries = Entry.objects.filter(user_id=str(user_id)).update(nonce=None, user_id=None, report_type=None)
    if entries:
        # The command has no session: the operating system knows who ran it. The erased id is in no line.
        actor, erased = {"app_name": "command:erase_subject"}, audit.entity(Entry._meta.label_lower)
        audit.emit("erasure", actor=actor, entity=erased, unmapped={"entries": entries})
    return {"entries": entries}

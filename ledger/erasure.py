from datetime import datetime

from config.core import audit
from ledger.models import Entry


def erase_metadata(user_id: str | int, *, now: datetime) -> dict[str, int]:  # noqa: ARG001  the signature of erasure steps
    """Delete the nonce and the metadata of all entries of a user. Idempotent.

    The tree retains the report's hash and the commitment. So every proof stays valid.
    """
    entries = Entry.objects.filter(user_id=str(user_id)).update(nonce=None, user_id=None, report_type=None)
    if entries:
        # The command has no session, so the actor is not an account. The audit log must not contain the erased ID.
        actor, erased = {"app_name": "command:erase_subject"}, audit.entity(Entry._meta.label_lower)
        audit.emit("erasure", actor=actor, entity=erased, unmapped={"entries": entries})
    return {"entries": entries}

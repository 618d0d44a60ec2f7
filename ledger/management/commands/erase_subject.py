from argparse import ArgumentParser
from typing import Any

from config.core import audit
from config.ops.commands import JsonCommand
from ledger.models import Entry


class Command(JsonCommand):
    help = "Erase a user's metadata from the ledger; hashes and proofs stay."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user_id", help="The user_id exactly as it was anchored.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Delete nonce and metadata of every entry of this user; the one change that an entry may undergo.

        The tree keeps the report's hash and a commitment that can no longer be opened, so every proof stays valid and
        `verify_ledger` accepts the entry. Safe to run twice.
        """
        theirs = Entry.objects.filter(user_id=options["user_id"])
        entries = theirs.update(nonce=None, user_id=None, report_type=None)
        if entries:
            # The command has no session: the operating system knows who ran it. The erased id is in no line.
            actor, erased = {"app_name": "command:erase_subject"}, audit.entity(Entry._meta.label_lower)
            audit.emit("erasure", actor=actor, entity=erased, unmapped={"entries": entries})
        return {"user_id": options["user_id"], "entries": entries}

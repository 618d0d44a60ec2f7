import sys
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from config.ops.commands import JsonCommand
from ledger import log
from ledger.audit import FaultError, verify_log
from ledger.keys import signer


class Command(JsonCommand):
    """Exit with 0 if all stored data matches the entries. Otherwise, print the first fault and exit with 1."""

    help = "Recompute the ledger from its entries: tiles, roots, blocks, signatures, guard file."

    def run(self, **_options: Any) -> dict[str, Any]:
        total = log.read_head().tree_size
        with tqdm(total=total, unit=" entries", disable=not sys.stderr.isatty(), smoothing=0.05) as bar:
            try:
                entries, blocks = verify_log(signer().verifier, progress=bar.update)
            except FaultError as fault:
                raise CommandError(f"First fault: {fault}") from fault
        return {"entries": entries, "blocks": blocks, "ok": True}

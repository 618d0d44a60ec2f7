import json
from argparse import ArgumentParser
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError

from config.core.outgoing import NoAnswer, exchange
from config.ops.commands import JsonCommand
from ledger import keys, log
from ledger.checkpoint import MAX_NOTE_BYTES, NoteError, Verifier
from ledger.policy import Policy, PolicyError
from ledger.proofs import check_proof

KEY_SECONDS = 5.0  # that the configured ledger may take to give its key


class Command(JsonCommand):
    """Exit 0 when the report is proven; else 1, with the step that failed."""

    help = (
        "Check a proof file against a report and the log's public key; with --policy also that a quorum of witnesses "
        "cosigned. Without --key it is a key of the policy's, or the key on this machine, or else the one that the "
        "ledger at CHAIN_URL gives."
    )
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("proof", type=Path, help="The .tlog-proof file.")
        parser.add_argument("--report", type=Path, required=True, help="The report, byte for byte.")
        parser.add_argument("--key", help="The log's verifier key (name+id+base64), as its page and its /key show it.")
        parser.add_argument("--policy", type=Path, metavar="FILE", help="Which logs and witnesses to trust (C2SP).")

    def run(self, **options: Any) -> dict[str, Any]:
        try:
            policy = _read_policy(options["policy"]) if options["policy"] else None
            if options["key"]:
                verifiers = iter([Verifier.from_vkey(options["key"])])
            else:
                verifiers = iter([one.verifier for one in policy.logs]) if policy and policy.logs else _configured()
            with options["proof"].open("rb") as file:
                text = file.read(MAX_NOTE_BYTES + 1).decode()
            with options["report"].open("rb") as file:
                report_hash = file_digest(file, "sha256").digest()
        except (NoteError, OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        for verifier in verifiers:
            steps = check_proof(text, report_hash, verifier, policy)
            if steps[-1].name != "checkpoint":  # where a key that does not fit ends the check
                break
        for step in steps:
            self.note_step("ok" if step.ok else "FAIL", step.name, step.detail)
        if steps[-1].name == "checkpoint" and not options["key"]:
            hint = "If another log signed it, give that log's key with --key."
            raise CommandError(f"The proof does not hold with the key {verifier.vkey}. {hint}")
        if not steps[-1].ok:
            raise CommandError("The proof does not hold.")
        return {"verified": True, "hash": report_hash.hex(), "key": verifier.vkey}


def _read_policy(path: Path) -> Policy:
    """Raises OSError, or CommandError in a sentence for a file that is no policy."""
    try:
        return Policy.read(path)
    except PolicyError as error:
        raise CommandError(f"{path} is no policy in C2SP's format: {error}.") from error


def _configured() -> Iterator[Verifier]:
    """Yield the key of the configured ledger, under each name that it may have signed with.

    On the ledger's machine the second name is the one in its newest checkpoint: with other ports than the usual ones
    `make run` gives its log another name than the one that this command finds in its environment.
    """
    if not keys.is_here():
        yield _fetch()
        return
    own = keys.signer().verifier
    yield own
    try:
        name = log.read_head().checkpoint.partition("\n")[0]
    except DatabaseError:
        return
    if name not in {"", own.name}:
        yield Verifier(name, own.public_key)


def _fetch() -> Verifier:
    """Ask the ledger at CHAIN_URL for its key; CommandError when it does not give one."""
    address = f"{settings.CHAIN_URL}/key"
    try:
        answer = exchange(
            "GET", address, seconds=KEY_SECONDS, max_bytes=MAX_NOTE_BYTES, ca_file=settings.LEDGER_CA_FILE
        )
        return Verifier.from_vkey(json.loads(answer.body)["vkey"])
    except (NoAnswer, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(
            f"There is no key of a log on this machine, and {address} gives none: give the log's key with --key."
        ) from error

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError

from config.core import audit
from config.core.outgoing import NoAnswer, exchange
from config.ops.commands import JsonCommand
from credit.anchoring import verify_decision
from credit.anchoring.verify_decision import FAIL, FILE_MAX_BYTES, OK, SKIPPED, STATUS, UNKNOWN, VERIFIED
from ledger import keys, log, proof_file
from ledger.checkpoint import MAX_NOTE_BYTES, NoteError, Verifier
from ledger.policy import Policy, PolicyError
from ledger.releases.checking import Release

KEY_SECONDS = 5.0  # the timeout of the request for the ledger's key
PROOF, DECISION, RELEASE, AUDIT = "proof", "decision", "release", "audit"
_OPTIONS = {
    PROOF: {"report", "ledger_key", "policy"},
    DECISION: {"ledger_key", "platform_key"},
    RELEASE: {"ledger_key", "policy"},
    AUDIT: set(),
}
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class _Verification:
    """The steps of a check as `(state, name, detail)`, up to the first failure, and the ledger's key."""

    kind: str
    steps: Sequence[tuple[str, str, str]]
    ledger_key: str | None
    outcome: str
    sentence: str


class Command(JsonCommand):
    """Exit with 0 if the file is verified, 1 if a step fails, 3 if a key is missing, or 4 if a decision is unsigned."""

    help = (
        "Verify a proof file with its report, a decision bundle, a log with lines of the audit stream, or the "
        "archive of a release with the files next to it. The command works offline, except for a proof without "
        "--ledger-key and --policy. It then uses the key on this machine, or the key of the ledger at CHAIN_URL."
    )
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="A .tlog-proof, a decision bundle, a log with audit lines, or credit-platform-VERSION.tar.gz.",
        )
        parser.add_argument("--report", type=Path, metavar="FILE", help="for a proof: the report, byte for byte")
        parser.add_argument(
            "--policy", type=Path, metavar="FILE", help="for a proof or release: trusted logs and witnesses (C2SP)"
        )
        verify_decision.add_keys(parser)

    def handle(self, *arguments: Any, **options: Any) -> None:
        try:
            done = _verify(**options)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error
        except PolicyError as error:
            raise CommandError(f"{options['policy']} must be a policy in C2SP's format: {error}.") from error
        except (NoteError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        super().handle(*arguments, **options, verification=done)
        if done.outcome != VERIFIED:
            raise CommandError(done.sentence, returncode=STATUS[done.outcome])

    def run(self, **options: Any) -> dict[str, Any]:
        done: _Verification = options["verification"]
        for state, name, detail in done.steps:
            self.note(f"{state:4} {name}: {detail}", fault=state == "FAIL")
        states = {name: state for state, name, _detail in done.steps}
        return {
            "kind": done.kind,
            "verified": {VERIFIED: True, UNKNOWN: None}.get(done.outcome, False),
            "outcome": done.outcome,
            "failed": next((name for name, state in states.items() if state == FAIL), None),
            "not_checked": [name for name, state in states.items() if state == SKIPPED],
            "ledger_key": done.ledger_key,
        }


def _verify(*, file: Path, **options: Any) -> _Verification:
    """Detect the kind of a file by its first bytes, or by an audit line in the file, and verify the file.

    Raises CommandError, OSError, NoteError, and PolicyError.
    """
    with file.open("rb") as opened:
        content = opened.read(len(_GZIP))
        if content != _GZIP:
            content += opened.read(FILE_MAX_BYTES + 1 - len(content))
    kind = _kind(content)
    if kind in {None, DECISION} and len(content) > FILE_MAX_BYTES and _has_audit_lines(file):
        kind = AUDIT
    if kind is None:
        raise CommandError(
            f"{file} is not a proof file, a decision bundle, a log with audit lines, or the archive of a release."
        )
    _refuse_others(file, kind, options)
    if kind == AUDIT:
        return _verify_audit(file)
    if kind == DECISION:
        return _verify_decision(content, options)
    policy = Policy.read(options["policy"]) if options["policy"] else None
    verifiers = [log.verifier for log in policy.logs] if policy else []
    if options["ledger_key"]:
        verifiers = [Verifier.from_vkey(options["ledger_key"])]
    if kind == RELEASE:
        if not verifiers:
            raise CommandError(
                "A release requires the ledger's key with --ledger-key, or a policy with logs with --policy."
            )
        release = Release(file, verifiers, policy)
        return _of_ledger(RELEASE, [*release.check()], release.verifier)
    if not options["report"]:
        raise CommandError("A proof requires its report with --report.")
    with options["report"].open("rb") as opened:
        report_hash = file_digest(opened, "sha256").digest()
    text = content[: MAX_NOTE_BYTES + 1].decode()
    steps, verifier = proof_file.check_with_any(text, report_hash, verifiers or _configured(), policy)
    return _of_ledger(PROOF, steps, verifier)


def _refuse_others(file: Path, kind: str, options: dict[str, Any]) -> None:
    """Raise CommandError for an option that doesn't apply to this kind of file."""
    for name in {"report", "ledger_key", "policy", "platform_key"} - _OPTIONS[kind]:
        if options[name]:
            raise CommandError(f"{file} is a {kind}: --{name.replace('_', '-')} does not apply.")


def _kind(content: bytes) -> str | None:
    if content.startswith(_GZIP):
        return RELEASE
    if content.startswith(proof_file.HEADER.encode()):
        return PROOF
    if audit.START in content:
        return AUDIT
    return DECISION if content.lstrip()[:1] == b"{" else None


def _has_audit_lines(file: Path) -> bool:
    """Return whether any line of the file is an audit line. Other lines may precede the audit lines."""
    end = b""
    with file.open("rb") as opened:
        while block := opened.read(FILE_MAX_BYTES):
            if audit.START in end + block:
                return True
            end = block[-len(audit.START) :]
    return False


def _verify_audit(file: Path) -> _Verification:
    """Verify the chain of each process in a log. Missing lines at the end of a chain can't be detected."""
    rows: list[tuple[str, str, str]] = []
    with file.open("rb") as lines:
        chains = audit.check(lines, report=lambda fault: rows.append((FAIL, "line", fault)))
    for chain in chains:
        until = datetime.fromtimestamp(chain.time / 1000, UTC).isoformat(timespec="milliseconds")
        whole = f"whole up to line {chain.last}, {until}" if chain.last else "no line can be checked"
        detail = f"{whole}; {chain.fault}" if chain.fault else whole
        rows.append((FAIL if chain.fault else OK, _printable(chain.process), detail))
    faults = sum(state == FAIL for state, _name, _detail in rows)
    outcome = verify_decision.FAILED if faults else VERIFIED
    return _Verification(AUDIT, rows, None, outcome, f"The audit lines have {faults} faults.")


def _verify_decision(content: bytes, options: dict[str, Any]) -> _Verification:
    platform_keys = verify_decision.read_keys(options["platform_key"])
    steps = verify_decision.verify(content, options["ledger_key"], platform_keys)
    rows = [(step.state, step.name, _printable(step.detail)) for step in steps]
    sentence = verify_decision.sentence_about(steps)
    return _Verification(DECISION, rows, options["ledger_key"], verify_decision.outcome_of(steps), sentence)


def _of_ledger(kind: str, steps: Iterable[proof_file.Step], verifier: Verifier | None) -> _Verification:
    rows = [(OK if step.ok else FAIL, step.name, _printable(step.detail)) for step in steps]
    state, name, detail = rows[-1]
    key = verifier.vkey if verifier else None
    outcome = VERIFIED if state == OK else verify_decision.FAILED
    hint = f" The key was {key}: pass another with --ledger-key." if name == "checkpoint" else ""
    return _Verification(kind, rows, key, outcome, f"The {kind} does not hold. {name}: {detail}{hint}")


def _printable(detail: str) -> str:
    """Escape control sequences of terminals, because the file is not trusted."""
    return ascii(detail)[1:-1]


def _configured() -> Iterator[Verifier]:
    """Yield the key of the configured ledger, with each possible name of the ledger.

    The first name comes from this environment. On the ledger's machine, the newest checkpoint can have another name,
    because `make run` can use other ports.
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
    """Get the key of the ledger at CHAIN_URL. Raises CommandError for an invalid response."""
    address = f"{settings.CHAIN_URL}/key"
    try:
        answer = exchange(
            "GET", address, seconds=KEY_SECONDS, max_bytes=MAX_NOTE_BYTES, ca_file=settings.LEDGER_CA_FILE
        )
        return Verifier.from_vkey(json.loads(answer.body)["vkey"])
    except (NoAnswer, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(
            f"This machine has no key of a log, and {address} returns none: give the log's key with --ledger-key."
        ) from error

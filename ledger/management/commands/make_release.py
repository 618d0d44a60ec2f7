import json
import os
import secrets
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management.base import CommandError

from config.core.outgoing import NoAnswer, exchange
from config.ops.commands import JsonCommand
from config.ops.supervisor import BASE_DIR, LOCAL, CannotStart, Processes, bind, manage, start, stop, wait_until_healthy
from ledger.releases import contents
from ledger.releases.contents import CannotRelease, Names, Source

SECONDS = 60.0  # the ledger may wait 20 s for its witnesses before it responds
MAX_BYTES = 1024 * 1024
START_SECONDS = 120.0  # the start of a temporary ledger is slow on a busy machine
NO_PROOF = "CHAIN_URL is not set, so the command used a temporary ledger. Its proof has no value for others."


class Command(JsonCommand):
    """Creates a release, and rejects uncommitted changes. A commit's archive, SBOM, and statement are reproducible."""

    help = (
        "Create the files of a release from the checked-out commit, and anchor their statement in the ledger at "
        "CHAIN_URL."
    )
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--to", type=Path, default=BASE_DIR / "dist", metavar="FOLDER")
        parser.add_argument(
            "--tree", type=Path, default=BASE_DIR, metavar="FOLDER", help="The clone to release. Default: this clone."
        )
        parser.add_argument("--sbom", type=Path, metavar="FILE", help="Use this SBOM, and do not create an SBOM.")

    def run(self, **options: Any) -> dict[str, Any]:
        try:
            source = Source.of(options["tree"])
            names = Names(source.version())
            files = {
                names.archive: source.archive(names),
                names.sbom: options["sbom"].read_bytes() if options["sbom"] else source.sbom(),
            }
            files[names.statement] = source.statement(names, contents.digests_of(files))
            with _ledger() as ledger:
                files[names.proof], opening = ledger.anchor(files[names.statement])
                key = json.loads(ledger.request("GET", "/key"))["vkey"]
        except (CannotRelease, CannotStart, OSError) as error:
            raise CommandError(str(error)) from error
        files[contents.SUMS] = contents.sums(names, contents.digests_of(files), opening)
        folder: Path = options["to"]
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        if not ledger.counts:
            self.stderr.write(NO_PROOF)
        return {
            "archive": str(folder / names.archive),
            "sha256": sha256(files[names.archive]).hexdigest(),
            "commit": source.commit,
            "ledger": ledger.url if ledger.counts else None,
            "key": key,
        }


class Ledger(NamedTuple):
    """The ledger that anchors the statement. `counts` is False for a temporary ledger, whose proofs have no value."""

    url: str
    client_key: str
    counts: bool

    def anchor(self, statement: bytes) -> tuple[bytes, dict[str, str]]:
        """Anchor the statement once. Return its proof, and the values that open the commitment of its entry.

        If the log's policy has witnesses, the proof is cosigned.
        """
        metadata = {"user_id": settings.PROVIDER_ID, "report_type": contents.REPORT_TYPE}
        body = json.dumps({**metadata, "report_data": statement.decode()}).encode()
        receipt = json.loads(self.request("POST", "/anchor", body))
        has_witnesses = any(line.startswith(b"witness ") for line in self.request("GET", "/policy").splitlines())
        of = f"?index={receipt['index']}" + ("&witnessed=1" if has_witnesses else "")
        stands = json.loads(self.request("GET", f"/proof/{receipt['hash']}{of}"))
        proof = self.request("GET", f"/proof/{receipt['hash']}.tlog-proof{of}")
        return proof, {**metadata, "nonce": receipt["nonce"], "timestamp": stands["timestamp"]}

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        headers = {"X-API-Key": self.client_key} | ({"Content-Type": "application/json"} if body else {})
        try:
            answer = exchange(
                method, self.url + path, seconds=SECONDS, max_bytes=MAX_BYTES, body=body, headers=headers,
                ca_file=settings.LEDGER_CA_FILE,
            )  # fmt: skip
        except NoAnswer as error:
            raise CannotRelease(f"The ledger at {self.url} does not answer ({error.word}).") from error
        if answer.status != HTTPStatus.OK:
            text = answer.body[:300].decode(errors="replace")
            operation = f"{method} {path.partition('?')[0]}"
            raise CannotRelease(f"The ledger at {self.url} answers {operation} with {answer.status}: {text}")
        return answer.body


@contextmanager
def _ledger() -> Iterator[Ledger]:
    """Yield the ledger at CHAIN_URL, or a temporary ledger that is deleted at the end of the `with` block.

    Raises CannotStart.
    """
    if os.environ.get("CHAIN_URL", "").strip():
        yield Ledger(settings.CHAIN_URL, settings.LEDGER_CLIENT_KEY, counts=True)
        return
    with tempfile.TemporaryDirectory(prefix="throw-away-ledger-") as folder:
        port = bind(LOCAL, 0)
        ledger = Ledger(f"http://{LOCAL}:{port}", secrets.token_urlsafe(32), counts=False)
        environment = {
            "PATH": os.defpath, "VAR_DIR": folder, "CHAIN_URL": ledger.url, "LEDGER_ORIGIN": "throw-away.invalid",
            "LEDGER_CLIENT_KEY": ledger.client_key,
        }  # fmt: skip
        manage(environment, "migrate", "-v0")
        gunicorn = [sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "--workers", "1"]
        running: Processes = {}
        try:
            command = [*gunicorn, "--bind", f"{LOCAL}:{port}", "ledger.wsgi"]
            running["The temporary ledger"] = start(command, environment)
            wait_until_healthy(running, f"{ledger.url}/key", seconds=START_SECONDS)
            yield ledger
        finally:
            stop(running)

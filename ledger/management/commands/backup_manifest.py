import hashlib
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from config.core.json_text import rfc3339
from config.core.registration import declared
from config.ops.commands import JsonCommand
from ledger import guard, log
from ledger.errors import LogUnavailableError
from ledger.keys import signer
from ledger.models import database


class Command(JsonCommand):
    """Describe the databases and the guard file. For each secret, print the start of its SHA-256."""

    help = (
        "Print a manifest of the parts that a backup must contain, as JSON. --check compares a restored machine with "
        "a manifest."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", type=Path, metavar="FILE", help="The manifest from the time of the backup.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Describe this machine. With `--check`, raise CommandError if an item of the manifest is missing."""
        manifest = _manifest()
        if options["check"] is None:
            return manifest
        try:
            expected = json.loads(options["check"].read_text())
            faults = _compare(expected, manifest)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandError(
                f"{options['check']} must be a manifest that `backup_manifest --json` printed."
            ) from error
        if faults:
            raise CommandError(" ".join(faults))
        return {"ok": True, "made_at": expected["made_at"], "ledger_entries": manifest["ledger"]["entries"]}


def _manifest() -> dict[str, Any]:
    head = log.read_head(using=database().alias)
    try:
        mark = guard.read()
        signed: int | str | None = mark.size if mark is not None else None
    except LogUnavailableError as error:
        signed = str(error)
    file = Path(settings.LEDGER_GUARD_FILE)
    return {
        "made_at": rfc3339(timezone.now()),
        "databases": {alias: _database(alias) for alias in connections},
        "ledger": {"entries": head.tree_size, "root": head.root.hex(), "origin": settings.LEDGER_ORIGIN},
        "guard": {
            "file": str(file),
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None,
            "signed_entries": signed,
        },
        "secrets": {
            "SECRET_KEY": _fingerprint(settings.SECRET_KEY),
            "FIELD_ENCRYPTION_KEYS": [_fingerprint(key) for key in settings.FIELD_ENCRYPTION_KEYS],
            "LEDGER_SIGNING_KEY": signer().verifier.vkey,
        },
        **{name: describe() for name, (describe, _faults) in declared("backup_parts")},
    }


def _database(alias: str) -> dict[str, Any]:
    connection = connections[alias]
    applied = sorted(".".join(name) for name in MigrationRecorder(connection).applied_migrations())
    digest = hashlib.sha256("\n".join(applied).encode()).hexdigest()
    return {"engine": connection.vendor, "name": str(connection.settings_dict["NAME"]), "migrations_sha256": digest}


def _fingerprint(secret: str) -> str:
    """Return the start of the SHA-256, which identifies a long random key without revealing it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:16]


def _compare(expected: dict[str, Any], manifest: dict[str, Any]) -> list[str]:
    """Return a sentence for each item that a restored machine lacks."""
    faults = []
    for alias, known in expected["databases"].items():
        here = manifest["databases"].get(alias)
        if here is None or here["migrations_sha256"] != known["migrations_sha256"]:
            faults.append(f"Database {alias}: other migrations are applied; use the version that made the backup.")
    if missing := set(expected["secrets"]["FIELD_ENCRYPTION_KEYS"]) - set(manifest["secrets"]["FIELD_ENCRYPTION_KEYS"]):
        faults.append(f"FIELD_ENCRYPTION_KEYS lacks {len(missing)} keys that the backup was encrypted with.")
    faults += [
        f"{name} differs from the {name} of the backup." for name in ("SECRET_KEY", "LEDGER_SIGNING_KEY")
        if expected["secrets"][name] != manifest["secrets"][name]
    ]  # fmt: skip
    if expected["ledger"]["origin"] != manifest["ledger"]["origin"]:
        faults.append(f"LEDGER_ORIGIN must be {expected['ledger']['origin']}.")
    entries, known = manifest["ledger"]["entries"], expected["ledger"]["entries"]
    if entries < known or (entries == known and manifest["ledger"]["root"] != expected["ledger"]["root"]):
        faults.append(f"The ledger has {entries} entries, and had {known}: this is an older backup, or another log.")
    signed = manifest["guard"]["signed_entries"]
    if signed is None and not entries:
        signed = 0  # a log without entries has no guard file
    if not isinstance(signed, int):
        faults.append(f"The guard file {manifest['guard']['file']} is missing or damaged: put the newest one back.")
    elif signed > entries:
        faults.append(f"The guard file remembers {signed} entries, {signed - entries} more than the ledger has.")
    return faults + [fault for _, (_, faults_of_part) in declared("backup_parts") for fault in faults_of_part()]

"""The file of erasures, outside the database: a restored backup does not know the erasures that came after it.

Each line is JSON with the subject key of an account and the time of the request. The file has no personal data.
"""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info

from config.core.json_text import render_json, rfc3339
from config.ops.backup import Part
from identity.accounts.models import Erasure

_LINE_MAX = 512  # bytes


def path() -> Path:
    return Path(settings.VAR_DIR) / "erasures.jsonl"


def append(subject_key: str, requested_at: datetime) -> None:
    """Write the line of an erasure, to the disk. A line that is there twice counts once."""
    line = render_json({"subject_key": subject_key, "requested_at": rfc3339(requested_at)}) + b"\n"
    path().parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path(), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(file: Path) -> Iterator[tuple[str, datetime]]:
    """Yield subject key and time of each line. Raises OSError, and ValueError for a line that is no erasure."""
    with file.open(encoding="ascii") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                yield str(entry["subject_key"]), datetime.fromisoformat(entry["requested_at"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"Line {number} of {file} must be a line of erasures.jsonl.") from error


def newest() -> str | None:
    """Return the subject key of the last line; None without a file or a complete line."""
    try:
        with path().open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LINE_MAX))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return None
    return str(json.loads(lines[-1])["subject_key"]) if lines else None


def check_newest_erasure(**_options: Any) -> list[CheckMessage]:
    """Look for the newest erasure in the database: an older backup does not have it."""
    key = newest()
    if key is None or not settings.PRODUCTION or Erasure.objects.filter(subject_key=key).exists():
        return [Info("the database has the newest erasure")]
    return [
        Error(
            f"The database lacks the newest erasure of {path()}: it is a restored backup. Erase these accounts again: "
            f"`manage.py apply_erasures {path()}`."
        )
    ]


def _describe() -> dict[str, Any]:
    return {"file": str(path()), "bytes": path().stat().st_size if path().exists() else 0, "newest": newest()}


def _faults() -> list[str]:
    key = newest()
    is_missing = key is not None and not Erasure.objects.filter(subject_key=key).exists()
    return [f"The database lacks the newest erasure: run `manage.py apply_erasures {path()}`."] if is_missing else []


BACKUP_PARTS = {"erasures": Part(_describe, _faults)}

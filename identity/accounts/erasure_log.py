"""The file of erasures, which is stored outside of the database, because a restored backup lacks later erasures.

Each line is JSON with the subject key of an account and the time of the request. The file contains no personal data.
"""

import errno
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info

from config.core.json_text import render_json, rfc3339
from identity.accounts.models import Erasure

_KEYS_MAX = 500  # the maximum number of keys per statement


def path() -> Path:
    return Path(settings.VAR_DIR) / "erasures.jsonl"


def append(subject_key: str, requested_at: datetime) -> None:
    """Append the line of an erasure, and sync the file to disk. Repeated lines have no effect. Raises OSError."""
    line = render_json({"subject_key": subject_key, "requested_at": rfc3339(requested_at)}) + b"\n"
    path().parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path(), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        # Workers read the file as another system user at startup. The services' umask would prevent this.
        os.fchmod(descriptor, 0o644)
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line  # the previous line is incomplete
        if os.write(descriptor, line) != len(line):
            raise OSError(errno.ENOSPC, "The line was written in part", str(path()))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(file: Path) -> tuple[dict[str, datetime], int]:
    """Return the times of requests by subject key, in the order of the lines, and the number of unreadable lines.

    Raises OSError. Raises ValueError if the file has lines but none is valid.
    """
    requested: dict[str, datetime] = {}
    unreadable = 0
    with file.open("rb") as lines:
        for line in lines:
            try:
                entry = json.loads(line)
                requested[str(entry["subject_key"])] = datetime.fromisoformat(entry["requested_at"])
            except (ValueError, KeyError, TypeError, RecursionError):
                unreadable += bool(line.strip())
    if unreadable and not requested:
        raise ValueError(f"No line of {file} is a line of erasures.jsonl.")
    return requested, unreadable


def newest() -> str | None:
    """Return the subject key of the last complete line, or None if no line is complete."""
    try:
        return next(reversed(read(path())[0]), None)
    except (FileNotFoundError, ValueError):
        return None


def missing() -> int:
    """Return the number of erasures that are in the file but not in the database.

    A missing file counts as a file without erasures. Raises the errors of `read`.
    """
    try:
        keys = list(read(path())[0])
    except FileNotFoundError:
        return 0
    chunks = (keys[start : start + _KEYS_MAX] for start in range(0, len(keys), _KEYS_MAX))
    stored = (Erasure.objects.filter(subject_key__in=chunk).values("subject_key").distinct() for chunk in chunks)
    return len(keys) - sum(rows.count() for rows in stored)


def check_erasures(**_options: Any) -> list[CheckMessage]:
    """Check that the database has each erasure in the file. A restored backup may lack erasures."""
    if not settings.PRODUCTION:
        return [Info("only production looks for the erasures")]
    faults = _faults()
    return [Error(fault) for fault in faults] or [Info("the database has every erasure of the file")]


def _describe() -> dict[str, Any]:
    return {"file": str(path()), "bytes": path().stat().st_size if path().exists() else 0, "newest": newest()}


def _faults() -> list[str]:
    try:
        count = missing()
    except (OSError, ValueError) as error:
        return [f"{path()} can't be read: {error}. Restore it from its copy on the other machine."]
    command = f"`manage.py apply_erasures {path()}`"
    message = f"The database lacks {count} erasures of {path()}: it is a restored backup. Run {command}."
    return [message] if count else []


BACKUP_PARTS = {"erasures": (_describe, _faults)}

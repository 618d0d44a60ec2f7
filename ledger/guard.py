"""The guard file: the last signed tree head, kept outside the database.

A database that was restored from a backup is a tree that forgot entries; signing from there on would give
one log two histories. The guard remembers how far this machine has signed, and sealing refuses to go on from
anything behind it. It is written after the commit and before the answer, and never backwards. One machine
writes a log, so a file is enough; any number of machines may read it.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ledger.errors import LogUnavailableError
from ledger.merkle import HASH_BYTES

# One write of one small sector: after a crash it is there or it is not. It is not flushed to the disk at
# every block: a guard that is some blocks late after a power cut still refuses every older backup.
_RECORD_BYTES = 128


class GuardDamagedError(LogUnavailableError):
    """The guard file cannot be understood; an operator has to look before anything is signed."""


@dataclass(frozen=True)
class Mark:
    """A tree head that was signed: its size in entries and its root."""

    size: int
    root: bytes


def read() -> Mark | None:
    """The last head signed on this machine, or None when none was; GuardDamagedError if unreadable."""
    try:
        descriptor = os.open(settings.LEDGER_GUARD_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            record = os.read(descriptor, _RECORD_BYTES)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GuardDamagedError(f"The log's guard file cannot be read ({error.strerror}).") from error
    return _parse(record)


def advance(mark: Mark) -> None:
    """Remember that this head was signed, unless a larger one is remembered already.

    Raises GuardDamagedError when the file cannot be read or written.
    """
    try:
        with _locked() as descriptor:
            known = _parse(os.pread(descriptor, _RECORD_BYTES, 0))
            if known is None or known.size < mark.size:
                content = json.dumps({"size": mark.size, "root": mark.root.hex()}).encode()
                os.pwrite(descriptor, content.ljust(_RECORD_BYTES - 1) + b"\n", 0)
    except OSError as error:
        raise GuardDamagedError(f"The log's guard file cannot be written ({error.strerror}).") from error


@contextmanager
def _locked() -> Iterator[int]:
    """The file's descriptor, with the other processes of this machine kept out."""
    path, flags = settings.LEDGER_GUARD_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _parse(record: bytes) -> Mark | None:
    if not record:
        return None
    try:
        document = json.loads(record)
        mark = Mark(document["size"], bytes.fromhex(document["root"]))
    except (ValueError, TypeError, KeyError) as error:
        raise GuardDamagedError("The log's guard file is damaged.") from error
    if type(mark.size) is not int or mark.size < 1 or len(mark.root) != HASH_BYTES:
        raise GuardDamagedError("The log's guard file is damaged.")
    return mark

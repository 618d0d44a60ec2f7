"""The guard file: the last signed tree head, kept outside the database.

A database that was restored from a backup is a tree that forgot entries; signing from there on would give one log two
histories. The guard remembers how far this machine has signed, and sealing refuses to go on from anything behind it. It
is created before the first block (size 0), so a log without one has lost it. From then on it is written after the
commit and before the response, and never backwards. One machine writes a log, so a file is enough; any number of
machines may read it.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ledger.errors import GuardDamagedError, GuardOutOfReachError
from ledger.merkle import HASH_BYTES

# One write of one small sector: after a crash it is there or it is not. It is flushed to the disk when it is made, and
# not at every block: a guard that is some blocks late after a power cut still refuses every older backup.
_RECORD_BYTES = 128


@dataclass(frozen=True)
class Mark:
    """A tree head that was signed: its size in entries and its root."""

    size: int
    root: bytes


def read() -> Mark | None:
    """The last head signed on this machine; None when the file is missing or empty.

    Raises GuardOutOfReachError or GuardDamagedError.
    """
    try:
        descriptor = os.open(settings.LEDGER_GUARD_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            record = os.read(descriptor, _RECORD_BYTES)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GuardOutOfReachError(f"The log's guard file cannot be read ({error.strerror}).") from error
    return _parse(record)


def probe() -> Mark | None:
    """Read like `read`, and see that the file can be written: its bytes are put back where they are.

    Makes an empty file where there is none. Raises GuardOutOfReachError or GuardDamagedError.
    """
    with _locked() as descriptor:
        record = os.pread(descriptor, _RECORD_BYTES, 0)
        if record:
            os.pwrite(descriptor, record, 0)
    return _parse(record)


def advance(mark: Mark) -> None:
    """Remember that this head was signed, unless a larger one is remembered already.

    Raises GuardOutOfReachError or GuardDamagedError.
    """
    with _locked() as descriptor:
        known = _parse(os.pread(descriptor, _RECORD_BYTES, 0))
        if known is None or known.size < mark.size:
            _write(descriptor, mark)
        if known is None:
            os.fsync(descriptor)


def replace(mark: Mark) -> None:
    """Store this head regardless of the file's content, at an operator's request. Raises GuardOutOfReachError."""
    with _locked() as descriptor:
        os.ftruncate(descriptor, 0)
        _write(descriptor, mark)
        os.fsync(descriptor)


def _write(descriptor: int, mark: Mark) -> None:
    content = json.dumps({"size": mark.size, "root": mark.root.hex()}).encode()
    os.pwrite(descriptor, content.ljust(_RECORD_BYTES - 1) + b"\n", 0)


@contextmanager
def _locked() -> Iterator[int]:
    """The file's descriptor, with the other processes of this machine kept out; OSError as GuardOutOfReachError."""
    try:
        Path(settings.LEDGER_GUARD_FILE).parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(settings.LEDGER_GUARD_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise GuardOutOfReachError(f"The log's guard file cannot be written ({error.strerror}).") from error


def _parse(record: bytes) -> Mark | None:
    if not record:
        return None
    try:
        document = json.loads(record)
        mark = Mark(document["size"], bytes.fromhex(document["root"]))
    except (ValueError, TypeError, KeyError) as error:
        raise GuardDamagedError from error
    if type(mark.size) is not int or mark.size < 0 or len(mark.root) != HASH_BYTES:
        raise GuardDamagedError
    return mark

"""Mount a small file system, and fill it."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def small_disk(mib: int) -> Iterator[Path | None]:
    """Yield a separate file system of this size, or None if it can't be mounted."""
    with tempfile.TemporaryDirectory(prefix="faults-disk-") as folder:
        options = ["-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", folder]
        if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)


def fill(folder: Path) -> Path:
    """Write a file until the disk is full; return it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        free = os.statvfs(folder)
        # A single step, because small writes take long on a busy machine.
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        file.seek(0, os.SEEK_END)
        with contextlib.suppress(OSError):
            while file.write(b"\0" * 4096) == 4096:
                pass
    return filler

"""Checks of the free disk space in this installation's folders."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.files.storage import FileSystemStorage, storages

MIB = 1 << 20
FREE_BYTES_MIN = 64 * MIB  # below it, the service is unhealthy
FREE_BYTES_LOW = 1024 * MIB  # below it, `doctor` warns


def folders() -> Iterator[tuple[str, Path]]:
    yield "VAR_DIR", settings.VAR_DIR
    if settings.SERVICE == "platform":
        documents = storages["documents"]
        if isinstance(documents, FileSystemStorage):
            yield "DOCUMENT_STORAGE", Path(documents.location)


def disk_faults() -> list[str]:
    return [fault for name, folder in folders() if (fault := _fault_of(name, _existing(folder)))]


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _fault_of(name: str, folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"can't write to {name}: {error.strerror}."
    return f"{name} has {free // MIB} MiB of free space left." if free < FREE_BYTES_MIN else ""


def check_disk_space(**_options: Any) -> list[checks.CheckMessage]:
    if faults := disk_faults():
        return [checks.Error(fault) for fault in faults]
    free = {name: shutil.disk_usage(_existing(folder)).free for name, folder in folders()}
    low = [f"{name} has {size // MIB} MiB of free space left." for name, size in free.items() if size < FREE_BYTES_LOW]
    return [checks.Warning(text) for text in low] or [
        checks.Info(", ".join(f"{name} {size // MIB} MiB free" for name, size in free.items()))
    ]

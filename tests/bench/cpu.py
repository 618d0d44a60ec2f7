"""Read the CPU time and the resident memory of processes from /proc."""

import contextlib
import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def members_of(group: int) -> list[int]:
    """Return the process IDs of a process group."""
    results = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                results.append(int(status.parent.name))
    return results


def cpu_seconds(processes: list[int]) -> float:
    """Return the user plus system time of these processes in s, including all their threads."""
    ticks = 0
    for process in processes:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS


def largest_resident_mib(processes: list[int]) -> float:
    """Return the resident memory of the largest of these processes in MiB."""
    pages = [0]
    for process in processes:
        with contextlib.suppress(OSError):
            pages.append(int(Path(f"/proc/{process}/statm").read_text().split()[1]))
    return max(pages) * _PAGE_BYTES / 2**20

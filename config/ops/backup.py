from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a backup besides databases, guard file and secrets (`Declarations.backup_parts`).

    `describe` returns the current state of the part; `faults` returns a message for each missing file on this machine.
    """

    describe: Callable[[], dict[str, Any]]
    faults: Callable[[], list[str]]

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a backup in addition to databases, guard file and secrets (`Declarations.backup_parts`).

    `describe` returns the part as it is now; `faults` a sentence for each thing that is missing on this machine.
    """

    describe: Callable[[], dict[str, Any]]
    faults: Callable[[], list[str]]

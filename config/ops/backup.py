from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """Data that a backup must include in addition to databases, guard file, and secrets (`Declarations.backup_parts`).

    `describe` returns the current state of the data. `faults` returns a message for each file that is missing on this
    machine.
    """

    describe: Callable[[], dict[str, Any]]
    faults: Callable[[], list[str]]

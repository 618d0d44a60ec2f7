from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """Data of a backup, in addition to databases, guard file, and secrets (`Declarations.backup_parts`).

    `describe` returns the data's current state. `faults` returns a message for each file that this machine lacks.
    """

    describe: Callable[[], dict[str, Any]]
    faults: Callable[[], list[str]]

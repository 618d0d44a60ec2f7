from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """What a backup must hold beside databases, guard file and secrets (`Declarations.backup_parts`).

    `describe` returns the part as it is now; `faults` a sentence for each thing that is missing on this machine.
    """

    describe: Callable[[], dict[str, Any]]
    faults: Callable[[], list[str]]

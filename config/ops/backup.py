"""What a backup must hold beside databases, guard file and secrets: an app that keeps more says so in its `ready()`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """`describe` returns the part as it is now; `faults` a sentence for each thing that this machine lacks of it."""

    describe: Callable[[], dict[str, Any]]
    faults: Callable[[], list[str]]


# By the name that it has in the manifest.
parts: dict[str, Part] = {}

"""How many examples a property test draws: the same few at each run; many new ones, HYPOTHESIS_PROFILE=thorough."""

import os
from typing import Any

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
_TIMES = 100


def register_profiles() -> None:
    """Let hypothesis draw the same examples at every run, unless it is asked to be thorough; no test has a deadline."""
    settings.register_profile("quick", derandomize=True, deadline=None)
    settings.register_profile("thorough", deadline=None, print_blob=True)
    settings.load_profile("thorough" if THOROUGH else "quick")


def examples(count: int, **options: Any) -> settings:
    """Return settings with so many examples, and many times that when thorough."""
    return settings(max_examples=count * _TIMES if THOROUGH else count, **options)

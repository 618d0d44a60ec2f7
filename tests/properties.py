"""How many examples a property test draws: some in `make test`, all in `make test-all`, always the same ones; a hundred
times as many new ones with HYPOTHESIS_PROFILE=thorough.
"""

import os
from typing import Any

from hypothesis import settings

# The share of a test's examples that each profile draws.
_SHARES = {"quick": 0.25, "full": 1, "thorough": 100}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
_LEAST = 5


def register_profiles() -> None:
    """Let hypothesis draw the same examples at every run, unless it is asked to be thorough; no test has a deadline."""
    settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
    settings.register_profile("full", parent=settings.get_profile("quick"), max_examples=100)
    settings.register_profile("thorough", deadline=None, print_blob=True)
    settings.load_profile(PROFILE)


def share_of(count: int) -> int:
    """Return the profile's share of the random cases that `make test-all` draws."""
    return max(int(count * _SHARES[PROFILE]), min(count, _LEAST))


def examples(count: int, **options: Any) -> settings:
    """Return settings with so many examples in `make test-all`, and the profile's share of them elsewhere."""
    return settings(max_examples=share_of(count), **options)

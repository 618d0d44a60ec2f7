"""The number of examples of property tests.

`make test` draws a tenth of the examples, and `make test-all` draws all. The examples are the same in every run.
HYPOTHESIS_PROFILE=thorough draws 100 times as many new examples.
"""

import os
from collections.abc import Sequence
from typing import Any

from hypothesis import settings

# Each profile has a share of a test's examples.
_SHARES = {"quick": 0.1, "full": 1, "thorough": 100}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
_LEAST = 5


def register_profiles() -> None:
    """Make hypothesis draw the same examples at every run, except in the thorough profile; no test has a deadline."""
    settings.register_profile("quick", max_examples=10, derandomize=True, deadline=None, database=None)
    settings.register_profile("full", parent=settings.get_profile("quick"), max_examples=100)
    settings.register_profile("thorough", deadline=None, print_blob=True)
    settings.load_profile(PROFILE)


def quick_or_full(quick: Sequence[Any], full: Sequence[Any]) -> Sequence[Any]:
    """Return the cases of a test: `quick` in `make test`, and `full` in `make test-all`."""
    return quick if PROFILE == "quick" else full


def share_of(count: int) -> int:
    """Return the profile's share of the random cases of `make test-all`."""
    return max(int(count * _SHARES[PROFILE]), min(count, _LEAST))


def examples(count: int, **options: Any) -> settings:
    """Return settings with this many examples in `make test-all`, and the profile's share of them otherwise."""
    return settings(max_examples=share_of(count), **options)

"""Demo data: each app registers what makes its own, `seed_demo` calls all of it.

    demo.register(seed)                                     # in AppConfig.ready

`seed(consumer=…, staff=…, now=…)` makes its records for these two accounts unless they are there. It asks nothing of
the others' records, so the order does not matter.
"""

from collections.abc import Callable

Seed = Callable[..., None]

seeds: list[Seed] = []


def register(seed: Seed) -> None:
    """Have `seed_demo` call `seed`."""
    seeds.append(seed)

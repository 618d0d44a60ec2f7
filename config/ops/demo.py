"""Demo data: each app registers in its `ready()` what makes its own, and `seed_demo` calls all of it.

`seed(consumer=…, staff=…, now=…)` makes its records for these two accounts unless they are there, under the ids of
`demo_ids`: what has such an id may belong to another account by now. It asks nothing of the others' records, so the
order does not matter.
"""

from collections.abc import Callable

seeds: list[Callable[..., None]] = []
register = seeds.append

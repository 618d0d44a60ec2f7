"""Ten thousand generated requests against both services on PostgreSQL, and how many answers were wrong.

It takes minutes, so it runs only when it is named: `make bench ARGS="--only fuzz"`. The seed is printed and drawn anew
each time; FUZZ_SEED and FUZZ_CASES set it and the number of cases.
"""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.report import Line
from tests.bench.seeding import SERVER
from tests.config.server import manage
from tests.processes import temporary_database

NAMES = ("fuzz",)
CASES, QUICK_CASES = 10_000, 1


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Run a campaign with a seed of chance; nothing may be answered otherwise than the documents say."""
    if not only & set(NAMES):
        return
    from tests.fuzz import campaign, services

    seed = int(os.environ.get("FUZZ_SEED", "0")) or random.randrange(1, 2**32)
    cases = int(os.environ.get("FUZZ_CASES", "0")) or (QUICK_CASES if quick else CASES)
    print(f"fuzz: seed {seed}", flush=True)
    with (
        temporary_database(SERVER, f"fuzz_{os.getpid()}_{seed}") as address,
        tempfile.TemporaryDirectory() as folder,
    ):
        manage(address, folder, "migrate", "-v0")
        with services.serve(address, Path(folder), threads=8) as serving:
            found = campaign.run(serving, seed=seed, cases=cases)
    if found.faults:
        print(found.examples(), flush=True)
    for figure, value in found.figures().items():
        yield Line("generated requests", figure, value=float(value), goal=None if figure == "cases" else 0.0)

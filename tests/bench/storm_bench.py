"""The storm over card payments with 1,000 keys: what it did, and what must have come to nothing."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.report import Line
from tests.payments.card_storm import COUNTS, Storm

NAMES = ("storm",)
KEYS, QUICK_KEYS = 1_000, 60


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Let the storm blow; nothing may be charged twice, lost or left open."""
    if only and not only & set(NAMES):
        return
    database = urlsplit(os.environ.get("BENCH_DATABASE_URL", "postgres://postgres@127.0.0.1/bench_platform"))
    with tempfile.TemporaryDirectory() as folder:
        keys = QUICK_KEYS if quick else KEYS
        storm = Storm(f"{database.scheme}://{database.netloc}", Path(folder), keys=keys, deadline_seconds=1_200.0)
        figures = storm.run()
    for name, value in figures.items():
        goal = None if name in COUNTS else 0.0
        yield Line("card payments under kills, stops and faults", name, value=float(value), goal=goal)

"""Faults: responses to callers, stored data, and the time to recover. They are long, so they run only when named.

`faults` runs all of them. Each starts what it breaks: a PostgreSQL cluster in a temporary folder, both services as in
production (`config/gunicorn.py`), the workers, and nginx with the configuration of docs/operate/deploying.md.
"""

from collections.abc import Callable, Iterator

from tests.bench.faults import deploy, slow
from tests.bench.report import Line

PARTS: dict[str, Callable[[bool], Iterator[Line]]] = {
    "fault-slow": slow.run,
    "fault-deploy": deploy.run,
}
NAMES = ("faults", *PARTS)


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Run the faults named in `only`, one after another."""
    for name, part in PARTS.items():
        if only & {"faults", name}:
            yield from part(quick)

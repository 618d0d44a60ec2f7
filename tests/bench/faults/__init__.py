"""Faults: what callers see, what is kept, and how soon all is well again. They run when they are named: they are long.

`faults` is all of them. Each starts what it breaks itself: a PostgreSQL cluster in a temporary folder, both services as
in production (`config/gunicorn.py`), the workers, nginx with the configuration of docs/operate/deploying.md.
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
    """Break what `only` names, one after the other."""
    for name, part in PARTS.items():
        if only & {"faults", name}:
            yield from part(quick)

"""Faults of servers and clients: check responses and stored data. They run only if `--only` lists them: they are long.

`faults` runs all of them. Each starts its own PostgreSQL cluster in a temporary folder, the platform as in production
(`config/gunicorn.py`), and nginx with the configuration of docs/operate/deploying.md.
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
    """Run the faults in `only`, one after another."""
    for name, part in PARTS.items():
        if only & {"faults", name}:
            yield from part(quick)

"""The primary dies, again and again, while callers write: what is lost, what is done twice, when writes are back.

`tests/system/availability` has the rig, and a short form that continuous integration runs. The histories of all
applications are kept in `var/bench/histories.log`, for `python -m tests.system.availability.histories`.
"""

import os
from collections.abc import Iterator

from tests.bench.report import Line, counts
from tests.processes import ROOT
from tests.system.availability import faults
from tests.system.availability.nodes import missing

NAMES = ("failover",)
FAULTS, QUICK_FAULTS = 200, 11


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Play 200 faults, or as many as FAILOVER_FAULTS says."""
    if "failover" not in only:
        return
    if missing():
        print(f"    Not run: it {missing()}.", flush=True)
        return
    count = QUICK_FAULTS if quick else int(os.environ.get("FAILOVER_FAULTS", FAULTS))
    outcome = faults.run(faults.shuffled(count))
    kept = ROOT / "var" / "bench" / "histories.log"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("".join(outcome.lines))
    for fault in faults.FAULTS:
        seconds = sorted(outcome.back_seconds.get(fault.name, []))
        if not seconds:
            print(f"    Not run: {fault.name}.", flush=True)
            continue
        yield Line(fault.name, "how many", value=float(len(seconds)))
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            yield Line(
                fault.name, f"writes are back, {name}", value=seconds[int(share * (len(seconds) - 1))], unit=" s"
            )
        yield Line(fault.name, "at worst", value=seconds[-1], goal=fault.promised_seconds, unit=" s")
    work = f"{outcome.faults} faults"
    yield from counts(work, {"requests": outcome.operations, "histories": outcome.histories})
    bad = {"not linearizable": len(outcome.not_linearizable), "acknowledged writes lost": outcome.lost}
    bad |= {"keys executed twice": outcome.doubled, "answers other than promised": len(outcome.improper)}
    yield from counts(work, bad | {"processes restarted or ended": outcome.restarted}, goal=0.0)
    yield Line(work, "slowest answer", value=outcome.slowest_answer, goal=30.0, unit=" s")
    yield Line(work, "reports anchored", value=float(outcome.anchors))
    yield Line(work, "ledger verified", value=float(outcome.ledger_ok), goal=1.0, at_most=False)
    for text in [*outcome.not_linearizable[:3], *outcome.late, *outcome.improper[:5]]:
        print(f"    {text}", flush=True)

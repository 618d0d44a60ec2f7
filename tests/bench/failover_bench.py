"""Faults of database nodes during writes: count lost and repeated writes, and measure the time until writes succeed.

`tests/system/availability` implements the nodes, and runs a short form in continuous integration. The long form runs in
portions, each on new nodes. It stores the outcome of each portion in `var/bench/failover/`, with the histories of its
applications for `python -m tests.system.availability.histories`. If a run is interrupted, the next run continues after
the last stored portion. To start again, delete the folder.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict

from tests.bench.report import Line, counts
from tests.processes import ROOT
from tests.system.availability import faults
from tests.system.availability.nodes import missing

NAMES = ("failover",)
FAULTS, QUICK_FAULTS, PORTION = 200, 11, 40
GROUPS = 6  # the number of caller groups that two cores can run
STORED = ROOT / "var" / "bench" / "failover"


def _portion(first: int, last: int, count: int) -> faults.Outcome:
    """Run the faults from `first` to `last`, or return their stored outcome."""
    stored = STORED / f"{first + 1}-{last}-of-{count}.json"
    if stored.exists():
        print(f"    Skipped, because its outcome is stored: {stored.relative_to(ROOT)}.", flush=True)
        return faults.Outcome(**json.loads(stored.read_text()))
    print(f"    Faults {first + 1} to {last} of {count}:", flush=True)
    outcome = faults.run(lambda rig: faults.shuffled(count)(rig)[first:last], groups=GROUPS)
    STORED.mkdir(parents=True, exist_ok=True)
    stored.with_suffix(".log").write_text("".join(outcome.lines))
    outcome.lines = []
    stored.write_text(json.dumps(asdict(outcome)))
    return outcome


def _run_portions(count: int) -> faults.Outcome:
    """Run `count` faults in portions; return the combined outcome."""
    whole = faults.Outcome(ledger_ok=True)
    for first in range(0, count, PORTION):
        item = _portion(first, min(first + PORTION, count), count)
        for name, seconds in item.back_seconds.items():
            whole.back_seconds.setdefault(name, []).extend(seconds)
        for name in ("late", "not_linearizable", "undocumented", "lost", "doubled", "histories", "operations",
                     "anchors", "restarted", "faults"):  # fmt: skip
            setattr(whole, name, getattr(whole, name) + getattr(item, name))
        whole.slowest_response = max(whole.slowest_response, item.slowest_response)
        whole.ledger_ok = whole.ledger_ok and item.ledger_ok
    return whole


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Run 200 faults, or the number in FAILOVER_FAULTS."""
    if "failover" not in only:
        return
    if missing():
        print(f"    Not run: this measurement {missing()}.", flush=True)
        return
    count = QUICK_FAULTS if quick else int(os.environ.get("FAILOVER_FAULTS", FAULTS))
    outcome = _run_portions(count)
    for fault in faults.FAULTS:
        seconds = sorted(outcome.back_seconds.get(fault.name, []))
        if not seconds:
            print(f"    Not run: {fault.name}.", flush=True)
            continue
        yield Line(fault.name, "count", value=float(len(seconds)))
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            yield Line(
                fault.name,
                f"writes succeed again after, {name}",
                value=seconds[int(share * (len(seconds) - 1))],
                unit=" s",
            )
        yield Line(fault.name, "at worst", value=seconds[-1], goal=fault.promised_seconds, unit=" s")
    work = f"{outcome.faults} faults"
    yield from counts(work, {"requests": outcome.operations, "histories": outcome.histories})
    bad = {"not linearizable": len(outcome.not_linearizable), "acknowledged writes lost": outcome.lost}
    bad |= {"keys executed twice": outcome.doubled, "undocumented responses": len(outcome.undocumented)}
    yield from counts(work, bad | {"processes restarted or ended": outcome.restarted}, goal=0.0)
    yield Line(work, "slowest response", value=outcome.slowest_response, goal=30.0, unit=" s")
    yield Line(work, "reports anchored", value=float(outcome.anchors))
    yield Line(work, "ledger verified", value=float(outcome.ledger_ok), goal=1.0, at_most=False)
    for text in [*outcome.not_linearizable[:3], *outcome.late, *outcome.undocumented[:5]]:
        print(f"    {text}", flush=True)

"""Anchors per second when each COMMIT waits for a synchronous standby that is 2 ms away, there and back.

The standby hears of the primary through a process that holds back what passes by a millisecond each way: `tc netem`
would do the same, where a kernel has it. The primary flushes to its disk as ever.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.faults.cluster import Cluster, cluster
from tests.bench.ledger_bench import bench_anchors
from tests.bench.report import Line
from tests.processes import ROOT, free_port, listens, wait_until

NAMES = ("anchors-standby",)
CLIENTS, ROUND_TRIP_MS = 32, 2.0
OF_BARE, OF_ONE = 4.0, 16.0  # goals

_DELAYING = """
import asyncio, sys

listening, primary, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])

async def carry(reader, writer):
    held, loop = asyncio.Queue(), asyncio.get_running_loop()

    async def send():
        while True:
            due, data = await held.get()
            await asyncio.sleep(due - loop.time())
            writer.write(data)

    sending = asyncio.create_task(send())
    while data := await reader.read(1 << 20):
        held.put_nowait((loop.time() + seconds, data))
    sending.cancel()
    writer.close()

async def meet(reader, writer):
    there, back = await asyncio.open_connection("127.0.0.1", primary)
    await asyncio.gather(carry(reader, back), carry(there, writer))

async def main():
    await (await asyncio.start_server(meet, "127.0.0.1", listening)).serve_forever()

asyncio.run(main())
"""


@contextlib.contextmanager
def synchronous() -> Iterator[Cluster]:
    """Run a primary whose COMMITs wait for a standby at that distance."""
    with cluster() as primary, tempfile.TemporaryDirectory(prefix="standby-") as folder:
        Path(folder).chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        port = free_port()
        delay = [sys.executable, "-c", _DELAYING, str(port), str(primary.port), str(ROUND_TRIP_MS / 2_000)]
        between = subprocess.Popen(delay, cwd=ROOT)
        standby = Cluster(Path(folder) / "data")
        try:
            wait_until(lambda: listens(port))
            standby.follow(primary, port)
            standby.start()
            with primary.connect("postgres") as session:
                session.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
                session.execute("SELECT pg_reload_conf()")
                state = "SELECT sync_state FROM pg_stat_replication WHERE application_name = 'standby'"
                wait_until(lambda: session.execute(state).fetchone() == ("sync",))
                yield primary
                session.execute("ALTER SYSTEM RESET synchronous_standby_names")
                session.execute("SELECT pg_reload_conf()")
        finally:
            with contextlib.suppress(RuntimeError):
                standby.stop()
            between.kill()
            between.wait()


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Compare the ledger with a bare view that commits a row for each request, in turns."""
    if "anchors-standby" not in only:
        return
    with synchronous() as primary:
        turns = (0.5, 1) if quick else (4.0, 3)
        alone, outcome = (
            bench_anchors([clients], *turns, server=primary.address("x", "postgres")) for clients in (1, CLIENTS)
        )
    (of_one, _), _ = alone["anchors"][1].values()
    (ours, its_cost), (rate, cost) = outcome["anchors"][CLIENTS].values()
    work = f"anchors, {CLIENTS} clients, a standby {ROUND_TRIP_MS:g} ms away"
    yield Line(work, "the ledger", per_second=ours, cpu_us=its_cost)
    yield Line(work, "the ledger, one client", per_second=of_one, value=ours / of_one, goal=OF_ONE, at_most=False)
    yield Line(work, "bare Django, commit per row", per_second=rate, cpu_us=cost, value=ours / rate, goal=OF_BARE,
               at_most=False)  # fmt: skip
    yield Line(work, "anchors of one COMMIT", value=float(outcome["entries_per_block"]))

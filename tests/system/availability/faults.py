"""Run faults of database nodes while callers write, and check the effects.

Before each fault all three nodes are healthy. A fault ends when they are healthy again and writes are acknowledged.
"""

import itertools
import json
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.bench.faults.disk import fill
from tests.bench.faults.stand import WORKERS, Stand, stand
from tests.bench.server import Server, gunicorn, serve
from tests.processes import wait_until
from tests.system.availability import histories
from tests.system.availability.callers import Crowd, Records
from tests.system.availability.nodes import DATABASES, Node, Nodes, nodes

TTL_SECONDS = 20
# If a fault has `waits`, the lease of a silent primary must expire first. Patroni detects other faults immediately.
PROMISED_SECONDS, WAITS_SECONDS = 10.0, 30.0
HEALTHY_SECONDS = 240.0
# Before this time, Patroni may not have noticed the fault.
NOTICED_SECONDS = 4.0


def kill_postgres(rig: Nodes, victim: Node) -> None:
    """Kill every PostgreSQL process of the node with SIGKILL; Patroni restarts PostgreSQL."""
    victim.signal(signal.SIGKILL, victim.postgres_processes())


def kill_node(rig: Nodes, victim: Node) -> None:
    """Kill every process of the machine with SIGKILL; `play` restarts the machine."""
    victim.kill()


def pause_node(rig: Nodes, victim: Node) -> None:
    """Pause every process of the machine with SIGSTOP for longer than its lease, then continue the processes."""
    stopped = victim.stop_processes()
    time.sleep(TTL_SECONDS + 5)
    victim.signal(signal.SIGCONT, stopped)


def switch_over(rig: Nodes, victim: Node) -> None:
    """Move the primary role to another node, as for maintenance."""
    rig.switch_over(rig.standby())


def fill_disk(rig: Nodes, victim: Node) -> None:
    """Fill the machine's disk, and empty it when another node leads."""
    filler = fill(victim.disk.parent)
    with suppress(RuntimeError):
        wait_until(lambda: not rig.leads(victim))
    filler.unlink()


def cut_network(rig: Nodes, victim: Node) -> None:
    """Disconnect the machine, and reconnect it after its lease has expired."""
    rig.network.pull(victim.number)
    time.sleep(TTL_SECONDS + 5)
    rig.network.plug(victim.number)


def cut_network_shortly(rig: Nodes, victim: Node) -> None:
    """Disconnect the machine for 4 s, less than its lease."""
    rig.network.pull(victim.number)
    time.sleep(4)
    rig.network.plug(victim.number)


@dataclass(frozen=True)
class Fault:
    """A kind of fault. It affects the primary, or with `to_standby` the standby; with `waits`, a lease must expire."""

    name: str
    do: Callable[[Nodes, Node], None]
    to_standby: bool = False
    waits: bool = False

    @property
    def promised_seconds(self) -> float:
        return WAITS_SECONDS if self.waits else PROMISED_SECONDS


FAULTS = (
    Fault("switch-over", switch_over),
    Fault("PostgreSQL of the primary killed", kill_postgres),
    Fault("machine of the primary killed", kill_node, waits=True),
    Fault("machine of the primary paused for 25 s", pause_node, waits=True),
    Fault("cable of the primary pulled for 25 s", cut_network, waits=True),
    Fault("cable of the primary pulled for 4 s", cut_network_shortly),
    Fault("disk of the primary full", fill_disk),
    Fault("PostgreSQL of the standby killed", kill_postgres, to_standby=True),
    Fault("machine of the standby killed", kill_node, to_standby=True),
    Fault("machine of the standby paused for 25 s", pause_node, to_standby=True),
    Fault("cable of the standby pulled for 25 s", cut_network, to_standby=True),
)


@dataclass
class Outcome:
    """The counts and problems of a run."""

    back_seconds: dict[str, list[float]] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    histories: int = 0
    not_linearizable: list[str] = field(default_factory=list)
    operations: int = 0
    anchors: int = 0
    undocumented: list[str] = field(default_factory=list)
    slowest_response: float = 0.0
    restarted: int = 0
    ledger_ok: bool = False
    faults: int = 0
    lines: list[str] = field(default_factory=list)  # the lines of all histories


@dataclass
class Scene:
    """The nodes, and two servers of each service that use them."""

    rig: Nodes
    services: Stand
    platforms: list[Server]
    ledgers: list[Server]

    def crowd(self, **options: Any) -> Crowd:
        return Crowd(
            [platform.port for platform in self.platforms], [ledger.port for ledger in self.ledgers],
            user_id=self.services.user_id, api_key=self.services.api_key, **options,
        )  # fmt: skip


@contextmanager
def start_scene() -> Iterator[Scene]:
    """Start the nodes, migrate the databases, and start two servers of each service and the workers."""
    with nodes() as rig, ExitStack() as running:
        ledger = rig.address(DATABASES[1])
        printed = running.enter_context((rig.folder / "services.log").open("ab"))
        created = running.enter_context(stand(rig, LEDGER_DATABASE_URL=ledger))
        created.manage("migrate", "ledger", "--database", "ledger", "-v0")
        created.environment |= {
            "DATABASE_URL": rig.pooled(), "LEDGER_DATABASE_URL": rig.pooled(DATABASES[1]), "METRICS": "0",
        }  # fmt: skip
        options = {
            "config.wsgi": ("--workers", "1", "--threads", "12"),
            "ledger.wsgi": ("--workers", "1", "--threads", "16"),
        }

        def served(module: str) -> list[Server]:
            command = gunicorn(module, *options[module])
            return [
                running.enter_context(serve(module, command, created.environment, output=printed)) for _ in range(2)
            ]

        platforms, ledgers = served("config.wsgi"), served("ledger.wsgi")
        created.environment["CHAIN_URL"] = f"http://127.0.0.1:{ledgers[0].port}"
        created.work(*WORKERS, "decide_applications", output=printed)
        yield Scene(rig, created, platforms, ledgers)


Plan = Callable[[Nodes], list[Fault]]


def is_possible(fault: Fault, rig: Nodes) -> bool:
    """Return whether this machine supports a fault, which may need network namespaces or mounted disks."""
    if fault.do in (cut_network, cut_network_shortly):
        return bool(rig.network.namespaces)
    return rig.has_disks or fault.do is not fill_disk


def shuffled(count: int, *, seed: int = 1) -> Plan:
    """Return a function that plans `count` faults in random order, with each kind equally often."""

    def plan(rig: Nodes) -> list[Fault]:
        possible = [fault for fault in FAULTS if is_possible(fault, rig)]
        order = (possible * (count // len(possible) + 1))[:count]
        random.Random(seed).shuffle(order)
        return order

    return plan


def play(scene: Scene, plan: list[Fault], outcome: Outcome, records: Records) -> None:
    """Run each fault, and measure the time without acknowledged writes."""
    for number, fault in enumerate(plan, 1):
        victim = scene.rig.standby() if fault.to_standby else scene.rig.primary()
        time.sleep(0.5)
        began = time.monotonic()
        fault.do(scene.rig, victim)
        if victim.patroni is None:
            with suppress(RuntimeError):  # the machine restarts after another node has become the leader
                wait_until(lambda victim=victim: not scene.rig.leads(victim))
            victim.start()
        time.sleep(max(0.0, began + NOTICED_SECONDS - time.monotonic()))
        scene.rig.wait_until_healthy(HEALTHY_SECONDS)
        since = time.monotonic()
        wait_until(lambda since=since: any(at > since for at in records.acknowledged[-20:]))
        back = longest_gap(records.acknowledged, began)
        outcome.faults += 1
        outcome.back_seconds.setdefault(fault.name, []).append(back)
        if back > fault.promised_seconds:
            outcome.late.append(f"{fault.name}: {back:.1f} s")
        healthy = time.monotonic() - began
        print(
            f"    {number}: {fault.name}: writes succeed after {back:.1f} s, nodes are healthy after {healthy:.1f} s",
            flush=True,
        )


def longest_gap(acknowledged: list[float], began: float) -> float:
    """Return the seconds from `began` to the end of the longest gap between acknowledged writes, or 0 below 0.5 s."""
    moments = [began, *sorted(at for at in acknowledged if at >= began)]
    gaps = [(after - before, after) for before, after in itertools.pairwise(moments)]
    length, end = max(gaps, default=(0.0, time.monotonic()))
    return end - began if length > 0.5 else 0.0


def judge(scene: Scene, outcome: Outcome, records: Records) -> None:
    """Check the callers' responses against each other and against the stored rows."""
    with scene.rig.connect() as session:
        stored = dict(session.execute("SELECT application_data::jsonb ->> 'key', status FROM credit_application"))
        twice = session.execute(
            "SELECT count(*) FROM (SELECT 1 FROM credit_application GROUP BY application_data::jsonb ->> 'key'"
            " HAVING count(*) > 1) AS created"
        ).fetchone()[0]
        moved_twice = session.execute(
            "SELECT count(*) FROM (SELECT 1 FROM credit_applicationhistory GROUP BY reason"
            " HAVING count(*) > 1) AS moved"
        ).fetchone()[0]
    with scene.rig.connect(DATABASES[1]) as session:
        hashes = {bytes(row[0]).hex() for row in session.execute("SELECT hash FROM ledger_entry").fetchall()}
    acknowledged = {line.partition(" ")[0] for line in records.lines if ":ok :write" in line}
    outcome.lost = len(acknowledged - stored.keys()) + len(records.anchored - hashes)
    outcome.doubled = twice + moved_twice
    # Add a final read of each register. If an acknowledged write is lost, this read makes its history not linearizable.
    for name in acknowledged:
        process = records.process()
        records.note(name, process, "invoke", "read", "nil")
        records.note(name, process, "ok", "read", stored.get(name, "nil"))
    read_histories = histories.read(records.lines)
    outcome.histories = len(read_histories)
    outcome.not_linearizable = [name for name, history in read_histories.items() if not history.is_linearizable()]
    outcome.operations, outcome.anchors = len(records.responses), len(records.anchored)
    undocumented = [response.text for response in records.responses if not response.is_documented]
    outcome.undocumented = undocumented + records.wrong
    outcome.slowest_response = max(response.seconds for response in records.responses)
    outcome.ledger_ok = json.loads(scene.services.manage("verify_ledger", "--json"))["ok"]


def run(plan: Plan, **options: Any) -> Outcome:
    """Run the faults of a plan while a crowd with these options writes; return the checked outcome."""
    outcome = Outcome()
    with start_scene() as scene:
        servers = (*scene.platforms, *scene.ledgers)
        before = [set(server.processes()) for server in servers]
        with scene.crowd(**options) as records:
            time.sleep(1.0)
            play(scene, plan(scene.rig), outcome, records)
            time.sleep(1.0)
        judge(scene, outcome, records)
        outcome.restarted = sum(old != set(server.processes()) for old, server in zip(before, servers, strict=True))
        outcome.restarted += scene.services.stop_workers()
        outcome.lines = records.lines
    return outcome

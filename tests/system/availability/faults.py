"""The faults of nodes while callers write, and their effects.

Each fault starts while all three nodes are well, and ends when they are well again and writes are acknowledged.
"""

import itertools
import json
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from tests.bench.faults.disk import fill
from tests.bench.faults.stand import WORKERS, Stand, stand
from tests.bench.server import Server, gunicorn, serve
from tests.processes import wait_until
from tests.system.availability import histories
from tests.system.availability.callers import Crowd, Records
from tests.system.availability.nodes import DATABASES, Node, Nodes, nodes

TTL_SECONDS = 20
# With `waits`, the lease of a silent primary has to expire first; the other faults are detected immediately.
PROMISED_SECONDS, WAITS_SECONDS = 10.0, 30.0
WELL_SECONDS = 240.0
# Earlier, Patroni may still report that all is well.
NOTICED_SECONDS = 4.0


def kill_postgres(rig: Nodes, victim: Node) -> None:
    """Kill every process of PostgreSQL with SIGKILL; Patroni detects it."""
    victim.signal(signal.SIGKILL, victim.postgres_processes())


def kill_node(rig: Nodes, victim: Node) -> None:
    """Kill every process of the machine with SIGKILL; the machine restarts later."""
    victim.kill()


def pause_node(rig: Nodes, victim: Node) -> None:
    """Stop every process of the machine with SIGSTOP for longer than its lease, then continue them."""
    stopped = victim.stop_processes()
    time.sleep(TTL_SECONDS + 5)
    victim.signal(signal.SIGCONT, stopped)


def switch_over(rig: Nodes, victim: Node) -> None:
    """Move the primary role to another node, as for maintenance."""
    rig.switch_over(rig.standby())


def fill_disk(rig: Nodes, victim: Node) -> None:
    """Fill the machine's disk until another node leads."""
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
    """Disconnect the machine for less than its lease."""
    rig.network.pull(victim.number)
    time.sleep(4)
    rig.network.plug(victim.number)


@dataclass(frozen=True)
class Fault:
    """A kind of fault: its function, whether it affects the primary or the standby, and whether a lease expires."""

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
    """The result of a run."""

    back_seconds: dict[str, list[float]] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    histories: int = 0
    not_linearizable: list[str] = field(default_factory=list)
    operations: int = 0
    anchors: int = 0
    improper: list[str] = field(default_factory=list)
    slowest_answer: float = 0.0
    restarted: int = 0
    ledger_ok: bool = False
    faults: int = 0
    lines: list[str] = field(default_factory=list)  # of all histories


@dataclass
class Scene:
    """The nodes, and two servers of each service on them."""

    rig: Nodes
    made: Stand
    platforms: list[Server]
    ledgers: list[Server]

    def crowd(self, **options: int) -> Crowd:
        return Crowd(
            [platform.port for platform in self.platforms], [ledger.port for ledger in self.ledgers],
            user_id=self.made.user_id, api_key=self.made.api_key, **options,
        )  # fmt: skip


@contextmanager
def scene() -> Iterator[Scene]:
    """Start everything: the nodes, the tables, two servers of each service, the workers."""
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
    """Return whether this machine supports a fault: disconnecting needs network namespaces, a small disk a mount."""
    if fault.do in (cut_network, cut_network_shortly):
        return bool(rig.network.namespaces)
    return rig.has_disks or fault.do is not fill_disk


def shuffled(count: int, *, seed: int = 1) -> Plan:
    """Return a function that plans `count` faults: each kind equally often, in random order."""

    def plan(rig: Nodes) -> list[Fault]:
        possible = [fault for fault in FAULTS if is_possible(fault, rig)]
        order = (possible * (count // len(possible) + 1))[:count]
        random.Random(seed).shuffle(order)
        return order

    return plan


def play(one: Scene, plan: list[Fault], outcome: Outcome, records: Records) -> None:
    """Run each fault, and measure how long no write was acknowledged."""
    for number, fault in enumerate(plan, 1):
        victim = one.rig.standby() if fault.to_standby else one.rig.primary()
        time.sleep(0.5)
        began = time.monotonic()
        fault.do(one.rig, victim)
        if victim.patroni is None:
            with suppress(RuntimeError):  # a machine starts again only after another node leads
                wait_until(lambda victim=victim: not one.rig.leads(victim))
            victim.start()
        time.sleep(max(0.0, began + NOTICED_SECONDS - time.monotonic()))
        one.rig.wait_until_well(WELL_SECONDS)
        since = time.monotonic()
        wait_until(lambda since=since: any(at > since for at in records.acknowledged[-20:]))
        back = longest_gap(records.acknowledged, began)
        outcome.faults += 1
        outcome.back_seconds.setdefault(fault.name, []).append(back)
        if back > fault.promised_seconds:
            outcome.late.append(f"{fault.name}: {back:.1f} s")
        all_well = time.monotonic() - began
        print(f"    {number}: {fault.name}: writes are back after {back:.1f} s, all after {all_well:.1f} s", flush=True)


def longest_gap(acknowledged: list[float], began: float) -> float:
    """Return the seconds from `began` to the end of the longest time without an acknowledged write."""
    moments = [began, *sorted(at for at in acknowledged if at >= began)]
    gaps = [(after - before, after) for before, after in itertools.pairwise(moments)]
    length, end = max(gaps, default=(0.0, time.monotonic()))
    return end - began if length > 0.5 else 0.0


def judge(one: Scene, outcome: Outcome, records: Records) -> None:
    """Check the responses of callers against each other and against the stored rows."""
    with one.rig.connect() as session:
        stored = dict(session.execute("SELECT application_data::jsonb ->> 'key', status FROM credit_application"))
        twice = session.execute(
            "SELECT count(*) FROM (SELECT 1 FROM credit_application GROUP BY application_data::jsonb ->> 'key'"
            " HAVING count(*) > 1) AS made"
        ).fetchone()[0]
        moved_twice = session.execute(
            "SELECT count(*) FROM (SELECT 1 FROM credit_applicationhistory GROUP BY reason"
            " HAVING count(*) > 1) AS moved"
        ).fetchone()[0]
    with one.rig.connect(DATABASES[1]) as session:
        hashes = {bytes(row[0]).hex() for row in session.execute("SELECT hash FROM ledger_entry").fetchall()}
    acknowledged = {line.partition(" ")[0] for line in records.lines if ":ok :write" in line}
    outcome.lost = len(acknowledged - stored.keys()) + len(records.anchored - hashes)
    outcome.doubled = twice + moved_twice
    # A final read of each register: a lost acknowledged write makes its history not linearizable.
    for name in acknowledged:
        process = records.process()
        records.note(name, process, "invoke", "read", "nil")
        records.note(name, process, "ok", "read", stored.get(name, "nil"))
    settings_read = histories.read(records.lines)
    outcome.histories = len(settings_read)
    outcome.not_linearizable = [name for name, history in settings_read.items() if not history.is_linearizable()]
    outcome.operations, outcome.anchors = len(records.seen), len(records.anchored)
    outcome.improper = [seen.text for seen in records.seen if not seen.proper] + records.wrong
    outcome.slowest_answer = max(seen.seconds for seen in records.seen)
    outcome.ledger_ok = json.loads(one.made.manage("verify_ledger", "--json"))["ok"]


def run(plan: Plan, *, groups: int = 3) -> Outcome:
    """Run the faults of a plan while groups of callers write, and check the records."""
    outcome = Outcome()
    with scene() as first_scene:
        servers = (*first_scene.platforms, *first_scene.ledgers)
        before = [set(server.processes()) for server in servers]
        with first_scene.crowd(groups=groups) as records:
            time.sleep(1.0)
            play(first_scene, plan(first_scene.rig), outcome, records)
            time.sleep(1.0)
        judge(first_scene, outcome, records)
        outcome.restarted = sum(old != set(server.processes()) for old, server in zip(before, servers, strict=True))
        outcome.restarted += first_scene.made.stop_workers()
        outcome.lines = records.lines
    return outcome

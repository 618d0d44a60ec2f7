"""Service B: anchors per second beside a bare Django view and raw inserts, proofs beside pymerkle, verify_ledger.

Anchors are sent over HTTP at several numbers of clients; the ledger, a bare Django view that commits one row per
request, and single-row inserts by psycopg over as many connections take turns. A proof's time is taken at several
sizes, in process, beside pymerkle's SqliteTree. Databases are made for the run and dropped.
"""

import base64
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import psycopg

from tests.bench import cpu
from tests.bench.report import Line
from tests.bench.seeding import SERVER
from tests.bench.server import ROOT, STAYS, Server, gunicorn, serve, stock_gunicorn
from tests.processes import free_port, manage, temporary_database

HERE = Path(__file__).resolve().parent
NAMES = ["anchors", "proofs", "witnessed"]
# Per process, of which there are two: so many requests can wait for one block together.
THREADS = 32
BARE_TABLE = "CREATE TABLE bare (id bigserial PRIMARY KEY, hash bytea, user_id text, report_type text)"
BARE_INSERT = "INSERT INTO bare (hash, user_id, report_type) VALUES (%s, %s, %s)"


def environment_for(database: str, folder: str) -> dict[str, str]:
    """Environment in which the ledger runs on this database."""
    return {
        **os.environ,
        "SERVICE": "ledger",
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",
        "DATABASE_URL": database,
        "LEDGER_DATABASE_URL": "",
        "LEDGER_BENCH_URL": database,
        "LEDGER_GUARD_FILE": f"{folder}/guard",
        "VAR_DIR": folder,
        "PYTHONPATH": f"{ROOT}:{HERE}",
        "PYTHONWARNINGS": "ignore",
    }


def server(module: str, environment: dict[str, str]) -> contextlib.AbstractContextManager[Server]:
    """The ledger as it is served, or another module on gunicorn as it comes; both with more threads."""
    options = ("--threads", str(THREADS), "--backlog", "256")
    if module == "ledger.wsgi":
        return serve(module, gunicorn(module, *STAYS, *options), environment)
    environment = {name: value for name, value in environment.items() if name != "DJANGO_SETTINGS_MODULE"}
    return serve(module, stock_gunicorn(module, *options), environment)


def load(port: int, clients: int, seconds: float) -> float:
    """Anchors per second that one load run got; any other answer than 200 ends the bench."""
    command = [sys.executable, str(HERE / "ledger_load.py"), str(port), str(clients), str(seconds)]
    outcome = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    if outcome["failed"]:
        raise SystemExit(f"{outcome['failed']} requests failed")
    return float(outcome["per_second"])


def costed_load(served: Server, clients: int, seconds: float) -> tuple[float, float]:
    """Anchors per second that one load run got, and the server's CPU microseconds for each."""
    processes = served.processes()
    before = cpu.cpu_seconds(processes)
    rate = load(served.port, clients, seconds)
    return rate, (cpu.cpu_seconds(processes) - before) / (rate * seconds) * 1e6


def raw_inserts(database: str, clients: int, seconds: float) -> float:
    """Committed single-row inserts per second with this many connections."""
    counts = [0] * clients
    until = time.monotonic() + seconds

    def work(number: int) -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            while time.monotonic() < until:
                digest = sha256(f"{number} {counts[number]}".encode()).digest()
                connection.execute(BARE_INSERT, [digest, "42", "bench"])
                counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def bench_anchors(clients: list[int], seconds: float, rounds: int) -> dict[str, object]:
    """Medians of interleaved rounds (rate, CPU µs), by number of clients, and memory of a worker early and late."""
    with temporary_database(SERVER, f"ledger_bench_{os.getpid()}") as database, tempfile.TemporaryDirectory() as folder:
        environment = environment_for(database, folder)
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(BARE_TABLE)
        table, memory = {}, {"before": 0.0, "after": 0.0}
        for count in clients:
            measured: dict[str, list[tuple[float, float]]] = {"ledger": [], "bare": [], "psycopg": []}
            for _ in range(rounds):
                # Each server is up only for its own turn: together they would take all connections.
                with server("ledger.wsgi", environment) as served:
                    load(served.port, count, seconds / 4)
                    memory["before"] = memory["before"] or served.resident_mib()
                    measured["ledger"].append(costed_load(served, count, seconds))
                    memory["after"] = served.resident_mib()
                with server("ledger_bare", environment) as served:
                    load(served.port, count, seconds / 4)
                    measured["bare"].append(costed_load(served, count, seconds))
                measured["psycopg"].append((raw_inserts(database, count, seconds), 0.0))
            table[count] = {
                name: tuple(statistics.median(figures) for figures in zip(*values, strict=True))
                for name, values in measured.items()
            }
        return {"anchors": table, "memory_mib": memory}


WITNESSES = 3


@contextlib.contextmanager
def witnesses(environment: dict[str, str], folder: str) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Start three witnesses on this machine, and the worker that asks them for every checkpoint."""
    lines, commands = [], []
    for number in range(1, WITNESSES + 1):
        secret = base64.b64encode(bytes([number]) * 32).decode()
        who = ["--name", f"witness.example/w{number}", "--key", secret, "--port", str(free_port())]
        own = Path(f"{folder}/own{number}")
        manage(environment, "serve_witness", *who, "--write-policy", str(own))
        lines.append(own.read_text().splitlines()[1].replace("witness own", f"witness w{number}"))
        commands.append(["serve_witness", *who, "--database", f"{folder}/w{number}.sqlite3"])
    Path(f"{folder}/policy").write_text("\n".join([*lines, "group most 2 w1 w2 w3", "quorum most", ""]))
    environment["WITNESS_POLICY"] = f"{folder}/policy"
    running = [
        subprocess.Popen([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        for command in [*commands, ["ask_witnesses"]]
    ]
    try:
        yield running
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)


def bench_witnessed(clients: int, seconds: float, rounds: int) -> dict[str, float]:
    """Anchors per second with witnesses and without, in turns at one server, and the median of their ratios.

    For the turns without, the worker that asks is stopped (SIGSTOP) and goes on afterwards: nothing is loaded anew.
    """
    with temporary_database(SERVER, f"ledger_bench_{os.getpid()}") as database, tempfile.TemporaryDirectory() as folder:
        environment = environment_for(database, folder)
        manage(environment, "migrate", "--verbosity", "0")
        with (
            witnesses(environment, folder) as running,
            server("ledger.wsgi", environment) as served,
            psycopg.connect(database, autocommit=True) as connection,
        ):
            worker = running[-1]
            deadline = time.monotonic() + 60
            while cosignatures(connection) < WITNESSES:  # all of them are up
                load(served.port, 1, 0.5)
                if time.monotonic() > deadline:
                    raise SystemExit("the witnesses do not cosign")
            rates: dict[str, list[float]] = {"with": [], "without": []}
            for turn in range(rounds):
                # Who comes first changes, and so does what a busy machine does to both.
                for how in ("with", "without") if turn % 2 else ("without", "with"):
                    worker.send_signal(signal.SIGCONT if how == "with" else signal.SIGSTOP)
                    rates[how].append(load(served.port, clients, seconds))
            worker.send_signal(signal.SIGCONT)
            ratios = [watched / alone for watched, alone in zip(rates["with"], rates["without"], strict=True)]
            return {
                "with": statistics.median(rates["with"]),
                "without": statistics.median(rates["without"]),
                "ratio": statistics.median(ratios),
                "cosignatures": float(cosignatures(connection)),
            }


def cosignatures(connection: "psycopg.Connection[tuple[int]]") -> int:
    """Return how many cosignatures the log has kept."""
    row = connection.execute("SELECT count(*) FROM ledger_cosignature").fetchone()
    return row[0] if row else 0


def time_of(work: Callable[[int], object], indexes: list[int]) -> float:
    """Median time of one call, in microseconds."""
    taken = []
    for index in indexes:
        start = time.perf_counter()
        work(index)
        taken.append((time.perf_counter() - start) * 1e6)
    return statistics.median(taken)


def bench_proofs(sizes: list[int], *, verify: bool) -> dict[str, object]:
    """Time of a proof, ours on PostgreSQL and pymerkle's on SQLite, and entries verified per second."""
    with temporary_database(SERVER, f"ledger_bench_{os.getpid()}") as database, tempfile.TemporaryDirectory() as folder:
        environment = environment_for(database, folder)
        command = [sys.executable, "-m", "tests.bench.ledger_bench", ",".join(map(str, sizes)), str(int(verify))]
        run = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        outcome: dict[str, object] = json.loads(run.stdout.splitlines()[-1])
        return outcome


def inside(sizes: list[int], *, verify: bool) -> dict[str, object]:
    """What `bench_proofs` runs in a process of its own, set up for the fresh database."""
    import random
    import resource

    import django

    django.setup()
    from django.core.management import call_command
    from pymerkle import SqliteTree

    from ledger import log
    from ledger.audit import verify_log
    from ledger.entries import Submission
    from ledger.keys import signer
    from ledger.sealing import seal

    call_command("migrate", "ledger", verbosity=0)
    outcome: dict[str, object] = {"proofs": {}}
    with tempfile.TemporaryDirectory() as folder:
        foreign = SqliteTree(f"{folder}/tree.sqlite3")
        done = 0
        for size in sizes:
            while done < size:
                count = min(5_000, size - done)
                block = [Submission(os.urandom(32), str(at % 1000), "bench") for at in range(count)]
                foreign.append_entries([one.report_hash + one.nonce * 2 for one in seal(lambda block=block: block)])
                done += count
            indexes = random.Random(size).sample(range(size), 200)
            head = log.read_head()
            ours = time_of(lambda index, head=head: log.audit_path(index, head), indexes)
            # Not all 200: at a million entries each of theirs takes long.
            theirs = time_of(lambda index, size=size: foreign.prove_inclusion(index + 1, size), indexes[:20])
            outcome["proofs"][size] = {"ledger_us": ours, "pymerkle_us": theirs}  # type: ignore[index]
    if verify:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        verdict = verify_log(signer().verifier)
        outcome["verify"] = {
            "entries_per_second": verdict.entries / (time.perf_counter() - start),
            "entries": verdict.entries,
            "grew_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024,
        }
    return outcome


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Measure what `only` names, or everything; yield the lines of the table."""
    if not only or "anchors" in only:
        clients, seconds, rounds = ([1, 32], 0.5, 1) if quick else ([1, 32, 64], 4.0, 3)
        yield from _anchor_lines(bench_anchors(clients, seconds, rounds))
    if not only or "witnessed" in only:
        yield from _witnessed_lines(bench_witnessed(32, 1.0 if quick else 5.0, 2 if quick else 16))
    if not only or "proofs" in only:
        sizes = [1_000, 10_000] if quick else [10_000, 1_000_000]
        yield from _proof_lines(bench_proofs(sizes, verify=True))


def _anchor_lines(outcome: dict) -> Iterator[Line]:
    """Return the lines about anchors per second."""
    for count, row in outcome["anchors"].items():
        work = f"anchors, {count} client{'s' if count > 1 else ''}"
        ours, its_cost = row["ledger"]
        yield Line(work, "the ledger", per_second=ours, cpu_us=its_cost)
        for name, subject in (("bare", "bare Django, commit per row"), ("psycopg", "psycopg, commit per row")):
            goal = 0.8 if name == "bare" and count >= 32 else None
            rate, cost = row[name]
            yield Line(work, subject, per_second=rate, cpu_us=cost or None, value=ours / rate, goal=goal, at_most=False)
    few, many = outcome["anchors"][1]["ledger"][0], outcome["anchors"][32]["ledger"][0]
    yield Line("anchors, 32 clients ÷ 1", "the ledger", value=many / few, goal=4, at_most=False)
    for when, held in outcome["memory_mib"].items():
        yield Line("memory of a ledger worker, MiB", f"{when} the load", value=held)


def _witnessed_lines(outcome: dict[str, float]) -> Iterator[Line]:
    """Return the lines about anchoring while witnesses are asked."""
    work = "anchors, 32 clients, asking"
    yield Line(work, "no witnesses", per_second=outcome["without"])
    ratio = outcome["ratio"]
    yield Line(work, "three witnesses", per_second=outcome["with"], value=ratio, goal=0.97, at_most=False)
    yield Line("cosignatures kept meanwhile", "three witnesses", value=outcome["cosignatures"])


def _proof_lines(outcome: dict) -> Iterator[Line]:
    """Return the lines about proofs and verify_ledger."""
    sizes = {int(size): row for size, row in outcome["proofs"].items()}
    small, large = min(sizes), max(sizes)
    for size, row in sizes.items():
        work = f"inclusion proof, {size:,} entries (µs in process)"
        yield Line(work, "the ledger", cpu_us=row["ledger_us"])
        goal = 0.2 if size == 1_000_000 else None
        yield Line(work, "pymerkle", cpu_us=row["pymerkle_us"], value=row["ledger_us"] / row["pymerkle_us"], goal=goal)
    growth = sizes[large]["ledger_us"] / sizes[small]["ledger_us"]
    yield Line(f"inclusion proof, {large:,} ÷ {small:,}", "the ledger", value=growth, goal=1.6)
    verify = outcome["verify"]
    work = f"verify_ledger, {verify['entries']:,} entries (entries/s)"
    yield Line(work, "the ledger", per_second=verify["entries_per_second"])


if __name__ == "__main__":
    print(json.dumps(inside([int(size) for size in sys.argv[1].split(",")], verify=sys.argv[2] == "1")))

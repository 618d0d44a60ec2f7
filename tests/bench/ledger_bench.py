"""Bench of the ledger: `python tests/bench/ledger_bench.py [--quick] [--only anchors|proofs|verify]`.

Anchors per second over HTTP at several numbers of clients, beside what the machine gives anybody: single-row
inserts by raw psycopg with as many connections, and a bare Django view that commits one row per request.
All three take turns within one run. Then the time of a proof at several sizes beside pymerkle's SqliteTree,
verify_ledger's entries per second, and memory. Needs a PostgreSQL server: BENCH_DATABASE_URL, whose user may
create databases (default postgres://root@127.0.0.1:5432/postgres).
"""

import argparse
import contextlib
import json
import os
import signal
import socket
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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SERVER = os.environ.get("BENCH_DATABASE_URL", "postgres://root@127.0.0.1:5432/postgres")
# Per process, of which there are two: so many requests can wait for one block together.
THREADS = 32
BARE_TABLE = "CREATE TABLE bare (id bigserial PRIMARY KEY, hash bytea, user_id text, report_type text)"
BARE_INSERT = "INSERT INTO bare (hash, user_id, report_type) VALUES (%s, %s, %s)"


@contextlib.contextmanager
def fresh_database() -> Iterator[str]:
    """Address of an empty database, dropped afterwards."""
    name = f"ledger_bench_{os.getpid()}"
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{SERVER.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def environment_for(database: str, folder: str) -> dict[str, str]:
    """Environment in which the ledger runs on this database."""
    return {
        **os.environ,
        "SERVICE": "ledger",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database,
        "LEDGER_DATABASE_URL": "",
        "LEDGER_BENCH_URL": database,
        "LEDGER_GUARD_FILE": f"{folder}/guard",
        "VAR_DIR": folder,
        "PYTHONPATH": f"{ROOT}:{HERE}",
        "PYTHONWARNINGS": "ignore",
    }


@contextlib.contextmanager
def server(module: str, environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    """gunicorn with two processes; its port and the process id of its arbiter."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if module != "ledger.wsgi":
        environment = {name: value for name, value in environment.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        module,
        "--bind",
        f"127.0.0.1:{port}",
        "--worker-class",
        "gthread",
    ]
    command += ["--workers", "2", "--threads", str(THREADS), "--backlog", "256", "--keep-alive", "30"]
    command += ["--no-control-socket", "--log-level", "error"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def load(port: int, clients: int, seconds: float) -> float:
    """Anchors per second that one load run got; any other answer than 200 ends the bench."""
    command = [sys.executable, str(HERE / "ledger_load.py"), str(port), str(clients), str(seconds)]
    outcome = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    if outcome["failed"]:
        raise SystemExit(f"{outcome['failed']} requests failed")
    return float(outcome["per_second"])


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


def worker_memory(arbiter: int) -> int:
    """Largest resident memory of a worker, in MiB."""
    pages = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == arbiter:
                pages.append(int(fields[21]))
    return max(pages, default=0) * os.sysconf("SC_PAGE_SIZE") // 2**20


def bench_anchors(clients: list[int], seconds: float, rounds: int) -> dict[str, object]:
    """Medians of interleaved rounds, by number of clients, and memory of a worker early and late."""
    with fresh_database() as database, tempfile.TemporaryDirectory() as folder:
        environment = environment_for(database, folder)
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(BARE_TABLE)
        table, memory = {}, {"before": 0, "after": 0}
        for count in clients:
            measured: dict[str, list[float]] = {"ledger": [], "bare": [], "psycopg": []}
            for _ in range(rounds):
                # Each server is up only for its own turn: together they would take all connections.
                with server("ledger.wsgi", environment) as (port, arbiter):
                    load(port, count, 1.0)
                    memory["before"] = memory["before"] or worker_memory(arbiter)
                    measured["ledger"].append(load(port, count, seconds))
                    memory["after"] = worker_memory(arbiter)
                with server("ledger_bare", environment) as (port, _):
                    load(port, count, 1.0)
                    measured["bare"].append(load(port, count, seconds))
                measured["psycopg"].append(raw_inserts(database, count, seconds))
            table[count] = {name: statistics.median(values) for name, values in measured.items()}
        return {"anchors": table, "memory_mib": memory}


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
    with fresh_database() as database, tempfile.TemporaryDirectory() as folder:
        environment = environment_for(database, folder)
        command = [sys.executable, str(Path(__file__)), "--inside", ",".join(map(str, sizes))]
        command += ["--verify"] if verify else []
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


def show_anchors(outcome: dict) -> None:
    """Print the table of anchors per second."""
    print("anchors per second   ledger     bare  psycopg   ledger/bare")
    for count, row in outcome["anchors"].items():
        rates = " ".join(f"{row[name]:>8.0f}" for name in ("ledger", "bare", "psycopg"))
        print(f"{count:>11} clients {rates} {row['ledger'] / row['bare']:>13.2f}")
    counts = list(outcome["anchors"])
    if 1 in counts and 32 in counts:
        print(f"32 clients / 1 client: {outcome['anchors'][32]['ledger'] / outcome['anchors'][1]['ledger']:.1f}")
    memory = outcome["memory_mib"]
    print(f"memory of a worker: {memory['before']} MiB before, {memory['after']} MiB after")


def show_proofs(outcome: dict) -> None:
    """Print the table of proof times and what verifying took."""
    print("one proof, microseconds   ledger  pymerkle   ratio")
    for size, row in outcome["proofs"].items():
        ratio = row["ledger_us"] / row["pymerkle_us"]
        print(f"{int(size):>17} entries {row['ledger_us']:>8.0f} {row['pymerkle_us']:>9.0f} {ratio:>7.3f}")
    if "verify" in outcome:
        verify = outcome["verify"]
        print(f"verify_ledger: {verify['entries_per_second']:.0f} entries/s, grew by {verify['grew_mib']} MiB")


def main() -> None:
    """Run what was asked for and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", default="1,8,32,64", help="numbers of clients")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one load run")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="numbers of entries for proofs")
    parser.add_argument("--only", choices=["anchors", "proofs"])
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--verify", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        print(json.dumps(inside([int(size) for size in chosen.inside.split(",")], verify=chosen.verify)))
        return
    if chosen.only != "proofs":
        show_anchors(bench_anchors([int(count) for count in chosen.clients.split(",")], chosen.seconds, chosen.rounds))
    if chosen.only != "anchors":
        show_proofs(bench_proofs([int(size) for size in chosen.sizes.split(",")], verify=True))


if __name__ == "__main__":
    main()

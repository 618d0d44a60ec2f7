"""Both services and the worker from one command, while developing: `python -m config.ops.supervisor`.

It migrates, makes demo data once, starts every process in a session of its own, anchors two reports, prints what to
try, and ends them all within ten seconds of SIGINT or SIGTERM. A process that ends by itself is started again. In
production each of these processes is a service of the machine's own.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from config.env import var_dir
from config.ops import demo_ids

# glibc's own settings, for every process that serves: one heap instead of one for each thread, and large blocks go back
# to the system when they are freed.
STEADY_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "262144"}
BASE_DIR = Path(__file__).resolve().parents[2]
START_SECONDS = 40.0
STOP_SECONDS = 7.0  # after SIGTERM; then SIGKILL, so that everything ends within ten seconds
PORTS = {"PORT": 8000, "LEDGER_PORT": 8001, "METRICS_PORT": 8002}
INNER_PORTS = ("METRICS_PORT",)  # local to this machine; no user needs to know them
LOCAL = "127.0.0.1"
WORKERS = (
    "deliver_webhooks",
    "deliver_mail",
    "reconcile_payments",
    "decide_applications",
    "anchor_decisions",
    "issue_notices",
    "serve_metrics",
)
WELCOME = Path(__file__).with_name("welcome.txt")

Processes = dict[str, "subprocess.Popen[bytes]"]


class CannotStart(Exception):
    """The start failed; the message is for the person at the terminal."""


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  for the person at the terminal, at once also through a pipe


def bind(host: str, port: int) -> int:
    """Return the port that was taken, any free one for 0; raises OSError when nothing can listen there."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def _ports(host: str) -> dict[str, int]:
    ports = {}
    for name, default in PORTS.items():
        text = os.environ.get(name, "").strip() or str(default)
        if not text.isdigit() or not 0 < int(text) < 65536:
            raise CannotStart(f"{name}={text!r} must be a port: a number from 1 to 65535.")
        ports[name] = int(text)
    for name in INNER_PORTS:
        if not os.environ.get(name, "").strip():  # any free one will do
            others = {port for other, port in ports.items() if other != name}
            try:
                ports[name] = bind(LOCAL, 0 if PORTS[name] in others else PORTS[name])
            except OSError:
                ports[name] = bind(LOCAL, 0)
    if len(set(ports.values())) < len(ports):
        raise CannotStart("PORT, LEDGER_PORT and METRICS_PORT must be three ports: choose others.")
    for name, port in ports.items():
        where = LOCAL if name in INNER_PORTS else host
        try:
            bind(where, port)
        except OSError as error:
            raise CannotStart(
                f"Cannot listen on {where}:{port} ({error.strerror}). Choose another: make run {name}=…"
            ) from error
    return ports


def manage(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise CannotStart(f"`manage.py {arguments[0]}` failed: {reason[0]}")
    return done.stdout


def _start(running: Processes, environment: dict[str, str], host: str, ports: dict[str, int]) -> None:
    """Return the commands of both services and the workers."""
    gunicorn = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--bind"]
    platform, ledger = f"{host}:{ports['PORT']}", f"{host}:{ports['LEDGER_PORT']}"
    commands = {
        "service A": [*gunicorn, platform, "config.wsgi"],
        # A leader seals what its followers bring: many threads of one process make the largest blocks.
        "service B": [*gunicorn, ledger, "--workers", "1", "--threads", "32", "ledger.wsgi"],
    }
    workers = (*WORKERS, "ask_witnesses") if environment.get("WITNESS_POLICY", "").strip() else WORKERS
    for worker in workers:
        commands[worker] = ["manage.py", worker]
    for name, command in commands.items():
        running[name] = start(command, environment | ({"SERVICE": "ledger"} if name == "service B" else {}))


def start(command: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start one process of Python's in a session of its own; what a person needs to see goes to standard error.

    A Ctrl-C at the terminal does not reach it: processes are ended in order.
    """
    return subprocess.Popen(  # noqa: S603
        [sys.executable, *command], cwd=BASE_DIR, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )


def _check_alive(running: Processes) -> None:
    for name, process in running.items():
        if process.poll() is not None:
            raise CannotStart(f"{name} has ended with status {process.returncode}; its output stands above.")


def wait_until_healthy(running: Processes, *addresses: str, seconds: float = START_SECONDS) -> None:
    """Wait until every address answers 200; raises CannotStart when a process has ended, or when that takes longer."""
    deadline = time.monotonic() + seconds
    for address in addresses:
        while not _answers(address):
            _check_alive(running)
            if time.monotonic() > deadline:
                raise CannotStart(f"{address} does not answer.")
            time.sleep(0.1)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as response:  # noqa: S310  an address of ours
            return bool(response.status == 200)
    except OSError:
        return False


def _anchor_reports(ledger: str) -> None:
    """Anchor the demo's reports: idempotent. A log that accepts none now reports it at /health."""
    body = json.dumps({"items": demo_ids.REPORTS}).encode()
    request = urllib.request.Request(  # noqa: S310  an address of ours
        f"{ledger}/anchor/batch", body, {"Content-Type": "application/json"}, method="POST"
    )
    with contextlib.suppress(OSError):
        urllib.request.urlopen(request, timeout=START_SECONDS).close()  # noqa: S310


def stop(running: Processes) -> None:
    """End every process: SIGTERM, then SIGKILL to the whole session of those that remain."""
    for process in running.values():
        process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in running.values():
        try:
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _run(running: Processes) -> None:
    host = os.environ.get("HOST", "").strip() or LOCAL
    ports = _ports(host)
    # An address that a browser on this machine can open.
    visible = LOCAL if host in {"0.0.0.0", "::"} else host  # noqa: S104  a comparison, not a bind
    platform, ledger = f"http://{visible}:{ports['PORT']}", f"http://{visible}:{ports['LEDGER_PORT']}"
    metrics = f"http://{LOCAL}:{ports['METRICS_PORT']}/metrics"
    environment = {
        "BASE_URL": f"{platform}/v1",
        "CHAIN_URL": ledger,
        # A log keeps its name: under another one it would refuse to sign on, only because a port was moved.
        "LEDGER_ORIGIN": f"{LOCAL}:{PORTS['LEDGER_PORT']}",
        "WEBHOOK_ALLOW_PRIVATE": "1",  # receivers of a first try run on this machine
        "ACCESS_LOG": "1",
        **STEADY_MEMORY,
        **os.environ,
        **{name: str(ports[name]) for name in INNER_PORTS},
        "PYTHONUNBUFFERED": "1",
    }
    if environment.get("ENVIRONMENT", "development") != "development":
        raise CannotStart("`make run` is for development. docs/guides/going-live.md explains how to run in production.")
    _say("Bringing the database up to date …")
    manage(environment, "migrate", "-v0")
    if environment.get("LEDGER_DATABASE_URL", "") not in {"", environment.get("DATABASE_URL")}:
        manage(environment, "migrate", "-v0", "--database", "ledger")
    _say("Making demo data, unless it is there …")
    demo = json.loads(manage(environment, "seed_demo", "--json").splitlines()[-1])
    _say("Starting both services and the workers …")
    _start(running, environment, host, ports)
    wait_until_healthy(running, f"{platform}/v1/health", f"{ledger}/health", metrics, witness)
    _anchor_reports(ledger)
    _say("\n" + WELCOME.read_text().format(platform=platform, ledger=ledger, metrics=metrics, witness=witness, **demo))
    while True:
        time.sleep(0.5)
        _check_alive(running)


def main() -> int:
    running: Processes = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    try:
        _run(running)
    except CannotStart as obstacle:
        sys.stderr.write(f"{obstacle}\n")
        return 1
    except KeyboardInterrupt:
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave processes behind
        stop(running)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Run both services and the workers with one command in development: `python -m config.ops.supervisor`.

The supervisor migrates, starts both services, creates demo data once, starts the workers, anchors two reports, and
prints the first steps. With `--docs`, it rebuilds the documentation in the background if it is outdated. It restarts
processes that end by themselves. Each process has a separate session, and all processes end within 10 s after SIGINT or
SIGTERM. In production, each of these processes is a separate service of the machine.
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

# These settings limit memory: glibc uses one heap for all threads, and returns freed large blocks to the system.
STEADY_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "262144"}
BASE_DIR = Path(__file__).resolve().parents[2]
START_SECONDS = 40.0
STOP_SECONDS = 7.0  # the time from SIGTERM to SIGKILL, so that all processes end within 10 s
METRICS_PORT = "METRICS_PORT"
PORTS = {"PORT": 8000, "LEDGER_PORT": 8001, METRICS_PORT: 8002}
LOCAL = "127.0.0.1"
SERVICES = ("service A", "service B")
WORKERS = (
    "deliver_webhooks",
    "deliver_mail",
    "reconcile_payments",
    "decide_applications",
    "anchor_decisions",
    "issue_notices",
    "process_privacy",
    "serve_metrics",
)
# Seconds before a restart: the first wait, and the maximum. The wait doubles after each exit.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
STEADY_SECONDS = 60.0  # after this uptime, the next wait is FIRST_WAIT
WELCOME = Path(__file__).with_name("welcome.txt")

Processes = dict[str, "subprocess.Popen[bytes]"]
Commands = dict[str, tuple[list[str], dict[str, str]]]  # the arguments and the environment of each process by name


class CannotStart(Exception):
    """The start failed. The supervisor prints the exception's message."""


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201  output for the user of the terminal


def bind(host: str, port: int) -> int:
    """Return `port`, or a free port for 0. Raises OSError if the port is in use."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _origin_of_log(host: str, port: int) -> str:
    """Return the host and port of the ledger's first start, because the ledger signs only under this origin."""
    file = var_dir() / "ledger-origin"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        is_new = not (var_dir() / "platform.sqlite3").exists()
        file.write_text(f"{host}:{port}" if is_new else f"{LOCAL}:{PORTS['LEDGER_PORT']}")
    return file.read_text().strip()


def _ports(host: str) -> dict[str, int]:
    ports = {}
    for name, default in PORTS.items():
        text = os.environ.get(name, "").strip() or str(default)
        if not text.isdigit() or not 0 < int(text) < 65536:
            raise CannotStart(f"{name}={text!r} must be a port: a number from 1 to 65535.")
        ports[name] = int(text)
    if not os.environ.get(METRICS_PORT, "").strip():  # only this machine uses the port
        is_taken = PORTS[METRICS_PORT] in {ports["PORT"], ports["LEDGER_PORT"]}
        try:
            ports[METRICS_PORT] = bind(LOCAL, 0 if is_taken else PORTS[METRICS_PORT])
        except OSError:
            ports[METRICS_PORT] = bind(LOCAL, 0)
    if len(set(ports.values())) < len(ports):
        raise CannotStart("PORT, LEDGER_PORT, and METRICS_PORT must differ: choose other ports.")
    for name, port in ports.items():
        where = LOCAL if name == METRICS_PORT else host
        try:
            bind(where, port)
        except OSError as error:
            raise CannotStart(
                f"Cannot listen on {where}:{port} ({error.strerror}). Choose another port: make run {name}=…"
            ) from error
    return ports


def manage(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no error message"]
        raise CannotStart(f"`manage.py {arguments[0]}` failed: {reason[0]}")
    return done.stdout


def _commands(environment: dict[str, str], host: str, ports: dict[str, int]) -> Commands:
    gunicorn = [sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "--bind"]
    platform, ledger = f"{_bracketed(host)}:{ports['PORT']}", f"{_bracketed(host)}:{ports['LEDGER_PORT']}"
    # The workers' requests for about 1,000 proofs would hide the welcome text.
    quiet = {"ACCESS_LOG": os.environ.get("ACCESS_LOG", "0")}
    # One ledger process with many threads can seal the entries of all waiting requests in one block.
    of_ledger = [*gunicorn, ledger, "--workers", "1", "--threads", "32", "ledger.wsgi"]
    workers = (*WORKERS, "ask_witnesses") if environment.get("WITNESS_POLICY", "").strip() else WORKERS
    return {
        "service A": ([*gunicorn, platform, "config.wsgi"], environment),
        "service B": (of_ledger, environment | {"SERVICE": "ledger"} | quiet),
        **{worker: ([sys.executable, "manage.py", worker], environment) for worker in workers},
    }


def start(command: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a process in its own session, with standard error as its only output.

    Ctrl-C at the terminal does not reach the process, so that `stop` can end the processes in order.
    """
    return subprocess.Popen(  # noqa: S603
        command, cwd=BASE_DIR, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )


def wait_until_healthy(running: Processes, *addresses: str, seconds: float = START_SECONDS) -> None:
    """Wait until every URL responds with 200. Raises CannotStart if a process ends, or after `seconds`."""
    deadline = time.monotonic() + seconds
    for address in addresses:
        while not _answers(address):
            for name, process in running.items():
                if process.poll() is not None:
                    raise CannotStart(f"{name} has ended with status {process.returncode}; see its output above.")
            if time.monotonic() > deadline:
                raise CannotStart(f"{address} does not respond.")
            time.sleep(0.1)


class Restarts:
    """Restarts ended processes after a wait, which doubles each time that a process ends soon after its start."""

    def __init__(self, running: Processes, commands: Commands) -> None:
        self._running, self._commands = running, commands
        self._started_at = dict.fromkeys(commands, time.monotonic())
        self._waits: dict[str, float] = {}
        self._restart_at: dict[str, float] = {}

    def look(self) -> None:
        """Report each process that ended since the last call, and restart processes after their wait."""
        now = time.monotonic()
        for name in self._commands:
            process = self._running[name]
            if process.poll() is None:
                continue
            if name not in self._restart_at:
                was_steady = now - self._started_at[name] >= STEADY_SECONDS
                wait = FIRST_WAIT if was_steady else self._waits.get(name, FIRST_WAIT)
                self._waits[name], self._restart_at[name] = min(wait * 2, LONGEST_WAIT), now + wait
                status = f"{name} has ended with status {process.returncode}; see its output above."
                _print(f"{status} It starts again in {wait:g} s.")
            elif now >= self._restart_at[name]:
                del self._restart_at[name]
                self._running[name], self._started_at[name] = start(*self._commands[name]), now
                _print(f"{name} was started again.")


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as response:  # noqa: S310  the URL of a process of the supervisor
            return bool(response.status == 200)
    except OSError:
        return False


def _anchor_reports(ledger: str) -> None:
    """Anchor the demo's reports. Idempotent. Errors are ignored, because the ledger's `/health` reports them."""
    body = json.dumps({"items": demo_ids.REPORTS}).encode()
    request = urllib.request.Request(  # noqa: S310  the URL of a process of the supervisor
        f"{ledger}/anchor/batch", body, {"Content-Type": "application/json"}, method="POST"
    )
    with contextlib.suppress(OSError):
        urllib.request.urlopen(request, timeout=START_SECONDS).close()  # noqa: S310


def stop(running: Processes) -> None:
    """End every process with SIGTERM, then each remaining session with SIGKILL."""
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
    host = os.environ.get("HOST", "").strip().removeprefix("[").removesuffix("]") or LOCAL
    ports = _ports(host)
    # Browsers on this machine can open this host name.
    visible = LOCAL if host in {"0.0.0.0", "::"} else _bracketed(host)  # noqa: S104  compares an address, and does not bind it
    platform, ledger = f"http://{visible}:{ports['PORT']}", f"http://{visible}:{ports['LEDGER_PORT']}"
    metrics = f"http://{LOCAL}:{ports[METRICS_PORT]}/metrics"
    environment = {
        "BASE_URL": f"{platform}/v1",
        "CHAIN_URL": ledger,
        "LEDGER_ORIGIN": _origin_of_log(visible, ports["LEDGER_PORT"]),
        "WEBHOOK_ALLOW_PRIVATE": "1",  # webhook receivers run on this machine
        "ACCESS_LOG": "1",
        "REQUIRE_LISTED_OFFERS": "1",  # detects mistyped offer IDs
        **STEADY_MEMORY,
        **os.environ,
        METRICS_PORT: str(ports[METRICS_PORT]),
        "PYTHONUNBUFFERED": "1",
    }
    if environment.get("ENVIRONMENT", "development") != "development":
        raise CannotStart("`make run` is for development. docs/guides/going-live.md explains how to run in production.")
    _print("Migrating the databases …")
    manage(environment, "migrate", "-v0")
    if environment.get("LEDGER_DATABASE_URL", "") not in {"", environment.get("DATABASE_URL")}:
        manage(environment, "migrate", "-v0", "--database", "ledger")
    _print("Starting both services …")
    commands = _commands(environment, host, ports)
    for name in SERVICES:
        running[name] = start(*commands[name])
    wait_until_healthy(running, f"{platform}/v1/health", f"{ledger}/health")
    _print(f"Both services respond: {platform}/v1 and {ledger}/. Creating demo data, unless it exists …")
    demo = json.loads(manage(environment, "seed_demo", "--json").splitlines()[-1])
    _print("Starting the workers …")
    for name, command in commands.items():
        if name not in SERVICES:
            running[name] = start(*command)
    wait_until_healthy(running, metrics)
    _anchor_reports(ledger)
    _print("\n" + WELCOME.read_text().format(platform=platform, ledger=ledger, metrics=metrics, **demo))
    restarts = Restarts(running, commands)
    if "--docs" in sys.argv:
        # `make docs` does nothing if the documentation is up to date.
        running["documentation"] = start(["nice", "-n", "19", "make", "--no-print-directory", "docs"], environment)
    while True:
        time.sleep(0.5)
        restarts.look()


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

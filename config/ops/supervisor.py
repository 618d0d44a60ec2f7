"""Both services and the worker from one command, while developing: `python -m config.ops.supervisor`.

It migrates, makes demo data once, starts every process in a session of its own, says what to try, and ends them all
within ten seconds of SIGINT or SIGTERM. In production each of these processes is a service of the machine's own.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

# glibc's own settings, for every process that serves: one heap instead of one for each thread, and large blocks go back
# to the system when they are freed.
STEADY_MEMORY = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "262144",
}
BASE_DIR = Path(__file__).resolve().parents[2]
START_SECONDS = 40.0
STOP_SECONDS = 7.0  # of SIGTERM; then SIGKILL, so that everything is over within ten
WORKERS = ("deliver_webhooks", "reconcile_payments", "anchor_decisions")


class CannotStart(Exception):
    """Something stands in the way; the message is for the person at the terminal."""


@dataclass
class Platform:
    """The processes, and the addresses they serve."""

    host: str
    port: int
    ledger_port: int
    metrics_port: int
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    stopping: bool = False

    @property
    def visible_host(self) -> str:
        """Return the host that a browser on this machine can open."""
        return "127.0.0.1" if self.host in {"0.0.0.0", "::", ""} else self.host  # noqa: S104  a comparison, not a bind

    @property
    def address(self) -> str:
        """Return the root of service A."""
        return f"http://{self.visible_host}:{self.port}"

    @property
    def ledger_address(self) -> str:
        """Return the root of service B."""
        return f"http://{self.visible_host}:{self.ledger_port}"

    @property
    def metrics_address(self) -> str:
        """Return where Prometheus would read; always on this machine."""
        return f"http://127.0.0.1:{self.metrics_port}/metrics"

    def check_ports(self) -> None:
        """Raise CannotStart when somebody else listens on one of the ports, or two of them are the same."""
        if len({self.port, self.ledger_port, self.metrics_port}) < 3:
            raise CannotStart("PORT, LEDGER_PORT and METRICS_PORT must be three ports: choose others.")
        for host, port, variable in (
            (self.host, self.port, "PORT"),
            (self.host, self.ledger_port, "LEDGER_PORT"),
            ("127.0.0.1", self.metrics_port, "METRICS_PORT"),
        ):
            try:
                _try_port(host, port)
            except OSError as error:
                raise CannotStart(
                    f"Cannot listen on {host}:{port} ({error.strerror}). Choose another: make run {variable}=…"
                ) from error

    def manage(self, *arguments: str) -> str:
        """Run a management command to its end; return what it printed."""
        done = subprocess.run(  # noqa: S603  commands of ours
            [sys.executable, "manage.py", *arguments],
            cwd=BASE_DIR,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise CannotStart(f"`manage.py {arguments[0]}` failed: {reason[0]}")
        return done.stdout

    def start(self, name: str, command: Sequence[str], extra: Mapping[str, str] | None = None) -> None:
        """Start a process that a Ctrl-C at the terminal does not reach: it is ended in order instead."""
        self.processes[name] = subprocess.Popen(  # noqa: S603  commands of ours
            command,
            cwd=BASE_DIR,
            env={**self.environment, **(extra or {})},
            stdout=subprocess.DEVNULL,  # what a person needs to see goes to standard error
            start_new_session=True,
        )

    def start_all(self) -> None:
        """Start both services and the workers."""
        gunicorn = [sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "--bind"]
        self.start("service A", [*gunicorn, f"{self.host}:{self.port}", "config.wsgi"])
        # A leader seals what its followers bring: many threads of one process make the largest blocks.
        self.start(
            "service B",
            [*gunicorn, f"{self.host}:{self.ledger_port}", "--workers", "1", "--threads", "32", "ledger.wsgi"],
            {"SERVICE": "ledger"},
        )
        for worker in WORKERS:
            self.start(worker, [sys.executable, "manage.py", worker])
        self.start("metrics", [sys.executable, "manage.py", "serve_metrics"])

    def wait_until_healthy(self) -> None:
        """Return when everything answers that is to answer; raise CannotStart when they do not in time."""
        deadline = time.monotonic() + START_SECONDS
        for address in (f"{self.address}/v1/health", f"{self.ledger_address}/health", self.metrics_address):
            while not _answers(address):
                self.check_alive()
                if time.monotonic() > deadline:
                    raise CannotStart(f"{address} does not answer.")
                time.sleep(0.1)

    def check_alive(self) -> None:
        """Raise CannotStart when a process has ended by itself."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise CannotStart(f"{name} has ended with status {process.returncode}; its output stands above.")

    def stop(self) -> None:
        """End every process: SIGTERM, and SIGKILL to the whole session of what is left."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self.processes.values():
            try:
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _answers(address: str) -> bool:
    """Say whether a GET succeeds."""
    try:
        with urllib.request.urlopen(address, timeout=2) as response:  # noqa: S310  an address of ours
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _try_port(host: str, port: int) -> None:
    """Raise OSError when nothing can listen there."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


def _metrics_port(others: set[int]) -> int:
    """Return METRICS_PORT, which nobody needs to name: unless somebody does, any free port will do."""
    port = _port("METRICS_PORT", 8002)
    if os.environ.get("METRICS_PORT", "").strip():
        return port
    with contextlib.suppress(OSError):
        if port not in others:
            _try_port("127.0.0.1", port)
            return port
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _port(name: str, default: int) -> int:
    """Return a port number from the environment."""
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise CannotStart(f"{name}={text!r} is no port: set it to a number from 1 to 65535.")
    return int(text)


def _platform() -> Platform:
    """Read the addresses, and the environment that all processes share."""
    host = os.environ.get("HOST", "").strip() or "127.0.0.1"
    port, ledger_port = _port("PORT", 8000), _port("LEDGER_PORT", 8001)
    platform = Platform(host, port, ledger_port, _metrics_port({port, ledger_port}), {})
    platform.environment = {
        "BASE_URL": f"{platform.address}/v1",
        "CHAIN_URL": platform.ledger_address,
        # Receivers of a first try run on this machine.
        "WEBHOOK_ALLOW_PRIVATE": "1",
        **STEADY_MEMORY,
        **os.environ,
        "METRICS_PORT": str(platform.metrics_port),
        "PYTHONUNBUFFERED": "1",
    }
    if platform.environment.get("ENVIRONMENT", "development") != "development":
        raise CannotStart("`make run` is for development. docs/guides/going-live.md says how to serve people.")
    return platform


def _welcome(platform: Platform, demo: dict[str, Any]) -> str:
    """Say what to try next; the last line can be pasted."""
    return f"""
The Credit Platform is running. Ctrl-C stops it.

  API          {platform.address}/v1
  Reference    {platform.address}/v1/docs
  Admin        {platform.address}/admin/     log in as {demo["staff_username"]} with {demo["staff_password"]}
  Ledger       {platform.ledger_address}/
  Metrics      {platform.metrics_address}

  Demo account {demo["username"]} (user {demo["user_id"]}), password {demo["password"]}

Try it:

  curl -s {platform.address}/v1/applications -H 'X-API-Key: {demo["api_key"]}'
"""


def _say(text: str) -> None:
    """Tell the person at the terminal, at once also when the output goes through a pipe."""
    print(text, flush=True)  # noqa: T201  what this module is for


def main() -> int:
    """Run until a signal or a failure; return the exit status."""
    platform: Platform | None = None

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if platform is None or not platform.stopping:
            raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        platform = _platform()
        platform.check_ports()
        _say("Bringing the database up to date …")
        platform.manage("migrate", "-v0")
        if platform.environment.get("LEDGER_DATABASE_URL", "") not in {"", platform.environment.get("DATABASE_URL")}:
            platform.manage("migrate", "-v0", "--database", "ledger")
        _say("Making demo data, unless it is there …")
        demo = json.loads(platform.manage("seed_demo", "--json").splitlines()[-1])
        _say("Starting both services and the workers …")
        platform.start_all()
        platform.wait_until_healthy()
        _say(_welcome(platform, demo))
        while True:
            time.sleep(0.5)
            platform.check_alive()
    except CannotStart as obstacle:
        sys.stderr.write(f"{obstacle}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        if platform is not None:
            platform.stopping = True  # a second Ctrl-C must not leave processes behind
            platform.stop()


if __name__ == "__main__":
    sys.exit(main())

"""Run both services and the workers on a cluster, as in production, with an account for callers."""

import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psycopg

from tests.bench import seeding
from tests.bench.faults.cluster import Cluster
from tests.bench.server import ROOT, Server, gunicorn, serve
from tests.processes import account_with_key, manage

WORKERS = ("deliver_webhooks", "reconcile_payments", "anchor_decisions")


@dataclass
class Stand:
    """The services, workers, and database of a fault test."""

    cluster: Cluster
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    user_id: str = ""
    api_key: str = ""
    workers: list[subprocess.Popen] = field(default_factory=list)
    program: Path = ROOT

    def manage(self, *arguments: str) -> str:
        """Run a management command; return the last line of its output."""
        return manage(self.environment, *arguments, folder=self.program)

    def make_account(self, name: str) -> None:
        """Create the account of the callers."""
        identifier, self.api_key, _secret = account_with_key(self.environment, name, folder=self.program)
        self.user_id = str(identifier)

    def serve(
        self, module: str = "config.wsgi", *, port: int | None = None, output: IO[bytes] | None = None, **more: str
    ) -> "contextlib.AbstractContextManager[Server]":
        """Serve the platform, or with `ledger.wsgi` the ledger, until the block ends."""
        options = ("--workers", "1", "--threads", "32") if module == "ledger.wsgi" else ()
        environment = {**self.environment, **more}
        command = gunicorn(module, *options)
        return serve(module, command, environment, port=port, output=output, folder=self.program)

    def work(self, *names: str, output: IO[bytes] | int = subprocess.DEVNULL, **more: str) -> None:
        """Start workers, which `stop_workers` ends."""
        for name in names:
            self.workers.append(
                subprocess.Popen(
                    [sys.executable, "manage.py", name],
                    cwd=ROOT, env={**self.environment, **more}, stdout=output, stderr=output,
                )
            )  # fmt: skip

    def connect(self) -> psycopg.Connection:
        """Open a session to the database, as the superuser."""
        return self.cluster.connect()

    def stop_workers(self) -> int:
        """Stop the workers; return how many had already ended, or failed to stop."""
        ended = [worker.poll() is not None for worker in self.workers]
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        bad = 0
        for worker, had_ended in zip(self.workers, ended, strict=True):
            try:
                bad += had_ended or worker.wait(timeout=40) != 0
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
                bad += 1
        self.workers.clear()
        return bad


@contextlib.contextmanager
def stand(cluster: Cluster, **more: str) -> Iterator[Stand]:
    """Migrate the cluster's database, create an account with an API key, and stop the workers at the end."""
    with tempfile.TemporaryDirectory(prefix="faults-var-") as folder:
        services = Stand(cluster, Path(folder))
        services.environment = seeding.environment(
            0,
            DATABASE_URL=cluster.address(),
            VAR_DIR=folder,
            PYTHONWARNINGS="ignore",
            WEBHOOK_ALLOW_PRIVATE="1",
            LEDGER_ORIGIN="ledger.example/faults",
            **more,
        )
        services.manage("migrate", "-v0")
        services.make_account("faults")
        try:
            yield services
        finally:
            services.stop_workers()

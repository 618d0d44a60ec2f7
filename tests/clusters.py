"""Run a separate PostgreSQL server for tests and for the bench."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.processes import free_port

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda file: float(file.parent.name), reverse=True)
START_SECONDS = 120


def missing():
    """Return the programs for a cluster that this machine lacks; empty if it has all."""
    if not any((folder / "initdb").exists() for folder in _FOLDERS):
        return "needs initdb in /usr/lib/postgresql/*/bin"
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        return "needs runuser: PostgreSQL refuses to run as root"
    return ""


def _path_of(program):
    """Return the path of a PostgreSQL program, of the newest version; raises RuntimeError if it is missing."""
    program_path = next((folder / program for folder in _FOLDERS if (folder / program).exists()), shutil.which(program))
    if program_path is None:
        raise RuntimeError(f"needs PostgreSQL's {program}: install the server")
    return str(program_path)


def folder_of(program):
    """Return the folder of a PostgreSQL program."""
    return str(Path(_path_of(program)).parent)


def _run(program, *arguments):
    """Run a PostgreSQL program, never as root; raises with its output if it fails."""
    command = [_path_of(program), *arguments]
    if os.geteuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    # The output goes to a file, because a server started by pg_ctl would keep a pipe open.
    with tempfile.TemporaryFile() as printed:
        done = subprocess.run(command, stdout=printed, stderr=printed, cwd="/", timeout=240, check=False)
        printed.seek(0)
        if done.returncode:
            raise RuntimeError(f"{program}: {printed.read().decode(errors='replace')}")


class Postgres:
    """A server whose data are in `folder`; every local user can connect as any role."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()

    def make(self, settings=""):
        """Create the data of the server, with lines for the configuration."""
        _run(
            "initdb",
            "-D",
            str(self.folder),
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        )
        with (self.folder / "postgresql.conf").open("a") as configuration:
            configuration.write(settings)

    def copy(self, data):
        """Create this server's data as a copy of a stopped server's data."""
        shutil.copytree(data, self.folder)
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                shutil.chown(path, "postgres", "postgres")

    def address(self, database="postgres", role="postgres"):
        """Return the URL of a database on the server."""
        return f"postgres://{role}@127.0.0.1:{self.port}/{database}"

    def start(self):
        """Start the server, and wait until it responds; return the time (monotonic) of the response."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c logging_collector=off"
        log = str(self.folder) + ".log"
        _run("pg_ctl", "-D", str(self.folder), "-w", "-t", str(START_SECONDS), "-l", log, "-o", options, "start")
        return time.monotonic()

    def stop(self, mode="immediate"):
        """Stop the server; `immediate` simulates a crash."""
        _run("pg_ctl", "-D", str(self.folder), "-m", mode, "-w", "stop")

"""POST /verify on a real server: the memory and time cost of large bodies from anonymous callers."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.ops.supervisor import STEADY_MEMORY
from tests.processes import wait_until
from tests.system.server import exchange, request, running, status_of, workers_of

MEBIBYTE = 1_048_576


@pytest.fixture(scope="module")
def ledger(tmp_path_factory, migrated):
    """A ledger with one worker; yields its port and the worker's process id."""
    folder = tmp_path_factory.mktemp("ledger")
    shutil.copyfile(migrated, folder / "own.sqlite3")
    address = f"sqlite:///{folder}/own.sqlite3"
    proxied = {"TRUSTED_PROXIES": "127.0.0.1"}  # behind a proxy, a rejected body is also read to its end
    with running(address, folder, module="ledger.wsgi", threads=8, **proxied, **STEADY_MEMORY) as server:
        assert send_eight(server.port, report(9 * MEBIBYTE)) - {503} == {200}
        time.sleep(3)  # wait for the memory of all threads
        yield server.port, workers_of(server.port)[0]


def held(pid):
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4_096


def send_eight(port, body):
    """Send a body concurrently from eight addresses; return the statuses.

    The server reads two bodies, and returns 503 for the others.
    """

    def send(number):
        headers = ("Content-Type: application/json", f"X-Forwarded-For: 192.0.2.{number}")
        return status_of(exchange(port, request("POST", "/verify", body, *headers)))

    with ThreadPoolExecutor(8) as pool:
        return set(pool.map(send, range(8)))


def report(size, unit=b"x"):
    """Return a body with a report of this size in bytes."""
    return b'{"proof": "x", "report_data": "' + unit * (size // len(unit)) + b'"}'


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        (report(29 * MEBIBYTE), {413}),
        (report(15 * MEBIBYTE), {413}),
        (report(9 * MEBIBYTE), {200}),
        (report(15 * MEBIBYTE, b"\\u0041"), {200}),
        (b"[" + b"[]," * (15 * MEBIBYTE // 3), {400}),
        (b"[" * 33 + b'"' + b'\\"' * (7 * MEBIBYTE), {400}),
    ],
    ids=["29 MiB", "15 MiB", "9 MiB", "escapes", "lists", "a text that never ends"],
)
def test_memory_returns_to_its_previous_level_after_large_bodies(ledger, body, statuses):
    port, pid = ledger
    before = held(pid)
    assert send_eight(port, body) - {503} == statuses
    wait_until(lambda: held(pid) < before + 8 * MEBIBYTE)  # connections are closed 2 s after their response


def test_eight_large_bodies_need_no_more_memory_than_one(ledger):
    port, pid = ledger
    # With one character beyond the basic plane, Python uses four bytes for each character.
    body = report(29 * MEBIBYTE)[:-2] + '😀"}'.encode()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # reset the peak
    assert send_eight(port, body) - {503} == {413}
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) * 1_024 < 30 * len(body)

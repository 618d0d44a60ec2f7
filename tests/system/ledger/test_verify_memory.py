"""The memory of a real server for large bodies of POST /verify."""

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
    """The port of a ledger with one worker, and the worker's process ID."""
    folder = tmp_path_factory.mktemp("ledger")
    shutil.copyfile(migrated, folder / "own.sqlite3")
    address = f"sqlite:///{folder}/own.sqlite3"
    proxied = {"TRUSTED_PROXIES": "127.0.0.1"}  # behind a proxy, the server reads rejected bodies to their end
    with running(address, folder, module="ledger.wsgi", threads=8, **proxied, **STEADY_MEMORY) as server:
        assert send_eight(server.port, report(9 * MEBIBYTE)) - {503} == {200}
        time.sleep(3)  # wait until all threads have released memory
        yield server.port, workers_of(server.port)[0]


def resident_bytes(pid):
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4_096


def send_eight(port, body):
    """Send a body concurrently from eight addresses; return the statuses.

    The server reads two bodies at the same time, and returns 503 for the other bodies.
    """

    def send(number):
        headers = ("Content-Type: application/json", f"X-Forwarded-For: 192.0.2.{number}")
        return status_of(exchange(port, request("POST", "/verify", body, *headers)))

    with ThreadPoolExecutor(8) as pool:
        return set(pool.map(send, range(8)))


def report(size, unit=b"x"):
    """Build a body with a report of this size in bytes, before JSON decodes escapes."""
    return b'{"proof": "x", "report_data": "' + unit * (size // len(unit)) + b'"}'


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        (report(15 * MEBIBYTE), {413}),
        (report(9 * MEBIBYTE), {200}),
        (report(15 * MEBIBYTE, b"\\u0041"), {200}),
        (b"[" + b"[]," * (15 * MEBIBYTE // 3), {400}),
        (b"[" * 33 + b'"' + b'\\"' * (7 * MEBIBYTE), {400}),
    ],
    ids=["15 MiB", "9 MiB", "escapes", "lists", "an unterminated string"],
)
def test_ledger_memory_is_released_after_large_verification_bodies(ledger, body, statuses):
    port, pid = ledger
    before = resident_bytes(pid)
    assert send_eight(port, body) - {503} == statuses
    wait_until(lambda: resident_bytes(pid) < before + 8 * MEBIBYTE)  # connections close after 2 s


def test_peak_ledger_memory_of_eight_large_verification_requests_is_limited(ledger):
    port, pid = ledger
    # Python uses four bytes for each character of a string with a character beyond the basic plane.
    body = report(29 * MEBIBYTE)[:-2] + '😀"}'.encode()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # reset the peak memory
    assert send_eight(port, body) - {503} == {413}
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) * 1_024 < 30 * len(body)

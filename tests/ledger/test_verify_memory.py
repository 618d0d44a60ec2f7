"""POST /verify on a real server: what a stranger's large bodies cost in memory and time."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.ops.supervisor import STEADY_MEMORY
from tests.config.server import exchange, prompt_answer, request, running, status_of, workers_of

pytestmark = pytest.mark.slow  # all ask a server

MEBIBYTE = 1_048_576
HEALTH = request("GET", "/health")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger with one worker: its port, and the worker's process id."""
    folder = tmp_path_factory.mktemp("ledger")
    address = f"sqlite:///{folder}/own.sqlite3"
    with running(address, folder, module="ledger.wsgi", threads=8, **STEADY_MEMORY) as (port, _server):
        assert send_eight(port, report(9 * MEBIBYTE)) == {200}  # what the threads need is there from now on
        time.sleep(3)
        yield port, workers_of(port)[0]


def held(pid):
    """Return what a process holds in memory, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4_096


def send_eight(port, body):
    """Send a body eight times at once; return the answers' statuses."""
    data = request("POST", "/verify", body, "Content-Type: application/json")
    with ThreadPoolExecutor(8) as pool:
        return {status_of(answer) for answer in pool.map(lambda _: exchange(port, data, 60), range(8))}


def report(size, unit=b"x"):
    """Return a body with a report of so many bytes."""
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
def test_memory_returns_to_what_it_was(ledger, body, statuses):
    port, pid = ledger
    before = held(pid)
    assert send_eight(port, body) == statuses
    deadline = time.monotonic() + 10
    while held(pid) > before + 8 * MEBIBYTE and time.monotonic() < deadline:
        time.sleep(0.2)  # connections are closed two seconds after their answer
    assert held(pid) < before + 8 * MEBIBYTE


def test_large_bodies_are_read_one_after_the_other(ledger):
    port, pid = ledger
    # One character beyond the basic plane, and Python keeps four bytes for each.
    body = report(29 * MEBIBYTE)[:-2] + '😀"}'.encode()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # forget the peak
    assert send_eight(port, body) == {413}
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) * 1_024 < 30 * len(body)


def test_health_answers_meanwhile(ledger):
    port, _pid = ledger
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send_eight, port, b"[" * 33 + b'"' + b'\\"' * (7 * MEBIBYTE))
        assert status_of(prompt_answer(port, HEALTH, 2)) in {200, 503}
        assert sending.result() == {400}

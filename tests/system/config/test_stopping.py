"""A stopping server responds to the requests that it has already received."""

import os
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

from tests.processes import PATIENCE_SECONDS, wait_until
from tests.system.server import request, running, status_of, workers_of

HEALTH = request("GET", "/v1/health")
CALLERS = 6


def is_stopped(process):
    """Return whether every thread of a process is stopped, because a running thread would handle signals."""
    threads = list(Path(f"/proc/{process}/task").glob("*/stat"))
    return all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)


def is_pending(process, signal_number):
    """Return whether a signal is pending for a stopped process."""
    status = Path(f"/proc/{process}/status").read_text()
    pending = int(status.partition("ShdPnd:")[2].split()[0], 16)
    return bool(pending >> (signal_number - 1) & 1)


def test_requests_sent_before_a_server_stop_get_a_response(server):
    with ExitStack() as stack:
        served = stack.enter_context(running(*server, workers=1, graceful_seconds=60))
        [worker] = workers_of(served.port)
        os.kill(worker, signal.SIGSTOP)  # like a busy worker, for which the kernel still accepts connections
        wait_until(lambda: is_stopped(worker))
        callers = [
            socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_SECONDS) for _ in range(CALLERS)
        ]
        for caller in callers:
            stack.enter_context(caller).sendall(HEALTH)
        served.process.terminate()
        wait_until(lambda: is_pending(worker, signal.SIGTERM))
        os.kill(worker, signal.SIGCONT)
        assert [status_of(caller.recv(65_536)) for caller in callers] == [200] * CALLERS
        assert served.process.wait(PATIENCE_SECONDS) == 0

"""The gunicorn settings of both services behind a buffering proxy. Command-line options override these settings."""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from config.ops.request_counts import FOLDER_VARIABLE, open_folder


class Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's `gthread` worker without lost connections.

    When gunicorn's worker stops, it listens without accepting new connections, and the kernel resets the queued
    connections. This worker accepts the queued connections, and then stops listening, so that the proxy uses another
    server.

    If a response is sent before the request's body was read, this worker sends `Connection: close`. gunicorn's worker
    would send `keep-alive`, and then lose the client's next request.
    """

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application: Any = self.wsgi  # type: ignore[has-type]

        def closing(environ: dict[str, Any], start_response: Any) -> Any:
            body = environ["wsgi.input"]

            def start(*response: Any) -> Any:
                write = start_response(*response)
                # The rest of the body is unread.
                if getattr(body.reader, "length", 0) or getattr(body.reader, "parser", None):
                    start_response.__self__.force_close()
                return write

            return application(environ, start)

        self.wsgi = closing

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled)
        if enabled or self.alive:
            return
        while self.sockets:
            listener = self.sockets.pop()
            while select.select([listener], [], [], 0)[0]:
                self.accept(listener)
            listener.close()


worker_class = Worker
workers, threads = 2, 8
timeout, graceful_timeout = 60, 30
keepalive = 75  # longer than the proxy's value, so that the proxy closes idle connections
max_requests, max_requests_jitter = 50_000, 10_000  # restarts limit the growth of memory
control_socket_disable = True  # two services on one machine would use the same path
limit_request_line, limit_request_field_size = 8190, 16380  # for longer lines, gunicorn responds with HTML
http_parser = "python"  # the C parser accepts folded fields and bare line feeds, which a proxy may parse differently
forwarded_allow_ips = os.environ.get("TRUSTED_PROXIES", "").replace(" ", "")
forwarder_headers = ""  # no header may set the path prefix of the service
accesslog = None  # the application logs requests, without paths and IP addresses
errorlog, loglevel = "-", "error"  # warnings would quote callers' data


def on_starting(server: Any) -> None:
    """Exit with status 78 if a check fails.

    The checks run in a child process. If the master imported the application, a reload would not load new code.
    """
    service = "ledger" if server.app.app_uri.startswith("ledger") else "platform"
    command = [sys.executable, str(Path(__file__).parent.parent / "manage.py"), "doctor", "--at-start", "--json"]
    completed = subprocess.run(command, env={**os.environ, "SERVICE": service}, stdout=subprocess.DEVNULL, check=False)  # noqa: S603
    if completed.returncode:
        sys.exit(completed.returncode)
    open_folder()


def child_exit(_server: Any, worker: Any) -> None:
    """Remove the in-progress counts of a stopped worker, but not its totals."""
    if os.environ.get(FOLDER_VARIABLE):
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    if folder := os.environ.get(FOLDER_VARIABLE):
        shutil.rmtree(folder, ignore_errors=True)

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
    """gunicorn's `gthread` worker, without lost connections when the worker stops.

    gunicorn's worker listens until it has sent its last response, but accepts no new connection. The kernel then resets
    the connections in the queue. This worker accepts the queued connections, and then stops listening. Later
    connections are rejected immediately, so that the proxy uses another server.

    If a response is sent before the request's body was read, this worker sends `Connection: close` and closes the
    connection. gunicorn's worker sends `keep-alive`, reads 64 KiB of the rest, and closes the connection, although the
    client may have sent its next request.
    """

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application: Any = self.wsgi  # type: ignore[has-type]

        def closing(environ: dict[str, Any], start_response: Any) -> Any:
            body = environ["wsgi.input"]

            def start(*response: Any) -> Any:
                write = start_response(*response)
                # A part of the body is unread.
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
keepalive = 75  # must be longer than the proxy's value, so that the proxy closes idle connections
max_requests, max_requests_jitter = 50_000, 10_000  # a restart limits the growth of memory
control_socket_disable = True  # two services on one machine would use the same path
limit_request_line, limit_request_field_size = 8190, 16380  # gunicorn rejects longer lines with an HTML response
http_parser = "python"  # the C parser accepts folded fields and bare line feeds, which a proxy may parse differently
forwarded_allow_ips = os.environ.get("TRUSTED_PROXIES", "").replace(" ", "")
forwarder_headers = ""  # no header may set the path where the service is mounted
accesslog = None  # the application logs requests, without paths and IP addresses
errorlog, loglevel = "-", "error"  # warnings would quote callers' data


def on_starting(server: Any) -> None:
    """Exit with status 78 if `doctor` finds that the service must not start.

    The check runs in a child process. If the master process imported the application, a reload would not load new code.
    """
    service = "ledger" if server.app.app_uri.startswith("ledger") else "platform"
    command = [sys.executable, str(Path(__file__).parent.parent / "manage.py"), "doctor", "--at-start", "--json"]
    looked = subprocess.run(command, env={**os.environ, "SERVICE": service}, stdout=subprocess.DEVNULL, check=False)  # noqa: S603
    if looked.returncode:
        sys.exit(looked.returncode)
    open_folder()


def child_exit(_server: Any, worker: Any) -> None:
    """Remove the in-progress counts of a stopped worker. The totals of the worker remain."""
    if os.environ.get(FOLDER_VARIABLE):
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    if folder := os.environ.get(FOLDER_VARIABLE):
        shutil.rmtree(folder, ignore_errors=True)

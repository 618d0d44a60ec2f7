"""How gunicorn serves both services behind a buffering proxy; options on its command line win over these."""

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from config.ops.request_counts import FOLDER_VARIABLE, close_folder, open_folder


class Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's `gthread`, without lost connections when it stops.

    gunicorn's own worker keeps listening until its last response is sent, and accepts no connection meanwhile. The
    kernel then resets the connections in its queue. This one accepts them, then stops listening, so that later ones are
    rejected immediately and reach another server.

    A response that is sent before its request's body was read closes the connection and announces it. gunicorn's own
    worker announces `keep-alive`. It reads 64 KiB of the rest, and then closes the connection to a client that has sent
    its next request.
    """

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application: Any = self.wsgi  # type: ignore[has-type]

        def closing(environ: dict[str, Any], start_response: Any) -> Any:
            body = environ["wsgi.input"]

            def start(*response: Any) -> Any:
                write = start_response(*response)
                if _is_unread(body):
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


def _is_unread(body: Any) -> bool:
    """Return whether a body, with a length or in chunks, was not read to its end."""
    return bool(getattr(body.reader, "length", 0) or getattr(body.reader, "parser", None))


worker_class = Worker
workers, threads = 2, 8
timeout, graceful_timeout = 60, 30
keepalive = 75  # longer than the proxy's, so that the server never hangs up first
max_requests, max_requests_jitter = 50_000, 10_000  # keeps memory level
control_socket_disable = True  # two services on one machine would share its path
limit_request_line, limit_request_field_size = 8190, 16380  # longer ones get an answer in HTML
http_parser = "python"  # the one in C takes folded fields and bare line feeds, which a proxy may read otherwise
forwarded_allow_ips = os.environ.get("TRUSTED_PROXIES", "").replace(" ", "")
forwarder_headers = ""  # no header names the path where the service is mounted
accesslog = None  # the application writes it, without paths and addresses
errorlog, loglevel = "-", "error"  # warnings would quote callers


def on_starting(server: Any) -> None:
    """End with status 78 where the service must not start. The check runs in a child: the master would never load the
    program again.
    """
    service = "ledger" if server.app.app_uri.startswith("ledger") else "platform"
    command = [sys.executable, str(Path(__file__).parent.parent / "manage.py"), "doctor", "--at-start", "--json"]
    looked = subprocess.run(command, env={**os.environ, "SERVICE": service}, stdout=subprocess.DEVNULL, check=False)  # noqa: S603
    if looked.returncode:
        sys.exit(looked.returncode)
    open_folder()


def child_exit(_server: Any, worker: Any) -> None:
    """Remove the in-progress counts of an ended worker; its totals remain."""
    if os.environ.get(FOLDER_VARIABLE):
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    close_folder()

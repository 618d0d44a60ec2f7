"""How gunicorn serves both services, with its stock threaded worker; options on its command line win over these.

Slow clients are held off by the buffering proxy in front; serving without one is for development.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from config.ops.request_counts import FOLDER_VARIABLE, close_folder, open_folder

worker_class = "gthread"
workers = 2
threads = 8
timeout = 60
graceful_timeout = 30
# Longer than the proxy keeps an idle connection, so that it is never the server that hangs up first.
keepalive = 75
# Memory stays level because no worker lives for ever.
max_requests = 50_000
max_requests_jitter = 10_000
# Two services on one machine would otherwise share the path of this socket.
control_socket_disable = True
# Longer lines and fields are answered by gunicorn itself, in HTML; these leave long ids and keys to the application.
limit_request_line = 8190
limit_request_field_size = 16380
# The parser in C, which gunicorn takes when it finds it, lets pass what a proxy may read otherwise than we do: folded
# fields, bare line feeds, two spaces in the request line.
http_parser = "python"
# The scheme that a proxy reports counts only when it comes from a proxy of ours.
forwarded_allow_ips = os.environ.get("TRUSTED_PROXIES", "").replace(" ", "")
# No header says where the service is mounted, whatever a proxy lets through.
forwarder_headers = ""
# The application writes a line for each request itself: gunicorn's would hold paths, query strings and addresses.
accesslog = None
errorlog = "-"
# Its warnings about malformed requests hold the caller's address and what was sent.
loglevel = "error"


def on_starting(server: Any) -> None:
    """End with status 78 where the service must not start; else make an empty folder for the workers' counts.

    Another process looks, because what the first one loads is never loaded anew at a reload.
    """
    service = "ledger" if server.app.app_uri.startswith("ledger") else "platform"
    command = [sys.executable, str(Path(__file__).parent.parent / "manage.py"), "doctor", "--at-start", "--json"]
    looked = subprocess.run(command, env={**os.environ, "SERVICE": service}, stdout=subprocess.DEVNULL, check=False)  # noqa: S603
    if looked.returncode:
        sys.exit(looked.returncode)
    open_folder()


def child_exit(_server: Any, worker: Any) -> None:
    """Forget what a worker that has ended was doing; what it has counted stays."""
    if os.environ.get(FOLDER_VARIABLE):
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    close_folder()

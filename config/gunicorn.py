"""How gunicorn serves both services; options on its command line win over these."""

import os
import sys
from typing import Any

worker_class = "config.worker.DeadlineWorker"
workers = 2
threads = 8
timeout = 60
graceful_timeout = 30
keepalive = 75
max_requests = 0
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
# The application writes a line for each request itself: gunicorn's would hold paths, query strings and addresses.
accesslog = None
errorlog = "-"
loglevel = "warning"


def on_starting(server: Any) -> None:
    """Lay out the memory of workers, and make room for their counts unless METRICS says that nobody wants them."""
    from config import environment, memory
    from config.api import counters

    memory.keep_one_heap()
    server.metrics_folder = None
    if not environment.flag("METRICS", default=True):
        return
    try:
        server.metrics_folder = counters.open_folder(environment.var_dir() / "metrics")
    except OSError as error:
        _say_uncounted(error)


def pre_fork(server: Any, worker: Any) -> None:
    """Give a worker a slot to count in."""
    from config.api import counters

    worker.metrics_slot = counters.free_slot(other.metrics_slot for other in server.WORKERS.values())
    worker.metrics_folder = server.metrics_folder


def post_worker_init(worker: Any) -> None:
    """Begin to count, with everything loaded."""
    from config import memory
    from config.api import counters

    memory.keep_what_is_loaded()
    if worker.metrics_folder is not None:
        try:
            counters.start(worker.metrics_folder, worker.metrics_slot)
        except OSError as error:
            _say_uncounted(error)


def child_exit(server: Any, worker: Any) -> None:
    """Forget what a worker that has ended was doing."""
    from config.api import counters

    if server.metrics_folder is not None:
        counters.release_slot(server.metrics_folder, worker.metrics_slot)


def on_exit(server: Any) -> None:
    """Leave nothing behind."""
    from config.api import counters

    if getattr(server, "metrics_folder", None) is not None:
        counters.close_folder(server.metrics_folder)


def _say_uncounted(error: OSError) -> None:
    """Tell the operator why `/metrics` will lack this server; serving goes on."""
    sys.stderr.write(f"Requests are not counted: {error.strerror} at {error.filename}. METRICS=0 turns counting off.\n")

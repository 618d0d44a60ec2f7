import logging
import socket
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.http.request import split_domain_port, validate_host
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from config.core.json_text import render_json
from config.ops.commands import JsonCommand, stopping
from config.ops.health import health_status
from config.ops.metrics import Scrape

logger = logging.getLogger("platform.metrics")


class Command(JsonCommand):
    """Serve `/metrics` and `/health` at METRICS_HOST and METRICS_PORT until SIGTERM or SIGINT.

    This `/health` responds even if a hanging database blocks all threads of the servers. Run the command on every
    machine with a service, and with the same `VAR_DIR/metrics`. Do not expose its port to the public.
    """

    help = "Serve the metrics of this machine's servers and queues in the Prometheus format."

    def run(self, **_options: Any) -> dict[str, Any]:
        address = (settings.METRICS_HOST, settings.METRICS_PORT)
        _Server.address_family = socket.AF_INET6 if ":" in settings.METRICS_HOST else socket.AF_INET
        try:
            server = _Server(address, _Handler)
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {address[0]}:{address[1]} ({error.strerror}). Set METRICS_PORT or METRICS_HOST."
            ) from error
        server.scrape = Scrape(settings.VAR_DIR / "metrics")
        stopped = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with stopping(stopped.set):
            stopped.wait()
        server.shutdown()
        server.server_close()
        return {"scrapes": server.scrapes}


class _Server(ThreadingHTTPServer):
    """A server that counts its responses, and can exit during a hanging scrape."""

    daemon_threads = True
    block_on_close = False
    scrape: Scrape
    scrapes = 0

    def handle_error(self, *_client: Any) -> None:
        """Log exceptions, except for connections that the client closed."""
        fault = sys.exc_info()[1]
        if not isinstance(fault, OSError):
            logger.error("a scrape failed", exc_info=fault)


class _Handler(BaseHTTPRequestHandler):
    timeout = 5.0  # an idle connection is closed after this number of seconds
    server: _Server
    server_version, sys_version = "metrics", ""

    def do_GET(self) -> None:
        if not self._has_local_host():
            self.send_error(400, "Unknown host")
            return
        address = self.path.partition("?")[0]
        if address == "/metrics":
            page, status, media_type = self.server.scrape.text(), 200, CONTENT_TYPE_PLAIN_0_0_4
            self.server.scrapes += 1
        elif address == "/health":
            content = health_status()
            page, media_type = render_json(content), "application/json"
            status = 200 if content["status"] == "healthy" else 503
        else:
            self.send_error(404)
            return
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)

    do_HEAD = do_OPTIONS = do_GET  # noqa: N815  load balancers send HEAD requests

    def _has_local_host(self) -> bool:
        """Check whether `Host` is a name of this machine, because a web page's name could also resolve to this address.

        HTTP/1.0 requests of load balancers have no `Host`. Browsers always send `Host`.
        """
        if "Host" not in self.headers:
            return self.request_version == "HTTP/1.0"
        host, _port = split_domain_port(self.headers.get("Host", ""))
        with suppress(ValueError):
            return bool(ip_address(host.strip("[]")))
        return validate_host(host, ["localhost", settings.METRICS_HOST, socket.gethostname(), *settings.ALLOWED_HOSTS])

    def log_message(self, *_line: Any) -> None:
        """Suppress the log line that the base class writes."""

"""Serve HTTP in this process on 127.0.0.1 in place of a vendor."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.processes import free_port


@dataclass
class Received:
    """A received request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    data: bytes

    @property
    def body(self):
        return json.loads(self.data) if self.data else None


@dataclass
class Reply:
    """A response; `hang_up` closes the connection without sending a byte."""

    status: int = 200
    content: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False


HANG_UP = Reply(hang_up=True)
HTML = Reply(raw=b"<html>Something went wrong</html>", headers={"Content-Type": "text/html"})


class HttpDouble:
    """A context manager that sends what `answer` returns, and records the received requests."""

    def __init__(self):
        self.received: list[Received] = []
        self.is_closed = False
        self.alter = None  # The function receives the request and the bytes of its response, and returns other bytes.
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # otherwise each body waits 40 ms for the acknowledgment of its headers

            def _serve(self):
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
                request = Received(self.command, parts.path, query, dict(self.headers), data)
                double.received.append(request)
                reply = HANG_UP if double.is_closed else double.answer(request)
                if reply.hang_up:
                    self.close_connection = True
                    return
                body = reply.raw if reply.raw is not None else json.dumps(reply.content).encode()
                body = body if double.alter is None else double.alter(request, body)
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = _serve  # noqa: N815  names that the base class calls

            def log_message(self, *_args):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_arguments):
                pass  # A killed client closes the connection early.

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, request: Received) -> Reply:
        """Return the Reply for a request; implemented by doubles."""
        raise NotImplementedError

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exception):
        self.is_closed = True  # Connections outlive the server, and can be reused.
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def unused_address():
    """Return a URL on which no server listens."""
    return f"http://127.0.0.1:{free_port()}"

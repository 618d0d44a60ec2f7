"""Receive webhooks in tests: the receiver records requests and responds as configured."""

import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Received:
    """A received request."""

    path: str
    headers: Any
    body: bytes


@dataclass
class Receiver:
    """An HTTP server on 127.0.0.1. It sends `answers` in order, and then always `status`."""

    status: int = 200
    seconds: float = 0.0
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [delivery.headers["webhook-id"] for delivery in self.received]

    def __enter__(self) -> Self:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                receiver.connections += 1

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:  # The sender was killed after the headers, before the end of the body.
                    self.close_connection = True
                    return
                receiver.received.append(Received(self.path, self.headers, body))
                if receiver.seconds:
                    time.sleep(receiver.seconds)
                status, headers, content = receiver.answers.pop(0) if receiver.answers else (receiver.status, {}, b"")
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

"""The receiver of the webhook benchmark, a separate process: `python -m tests.bench.webhook_receiver PORT`.

It accepts every delivery, and records the time. GET returns the number of deliveries and their rate per second. The
rate excludes the first and the last tenth of the deliveries. `GET /?forget` resets the receiver.
"""

import json
import sys
import time
from array import array
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

moments = array("d")


class Handler(BaseHTTPRequestHandler):
    """Accepts and counts deliveries."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Accept a delivery."""
        self.rfile.read(int(self.headers["Content-Length"]))
        moments.append(time.monotonic())
        self.send_response_only(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Return the count and the rate."""
        if self.path.endswith("?forget"):
            del moments[:]
        first, last = len(moments) // 10, len(moments) * 9 // 10
        seconds = moments[last] - moments[first] if last > first else 0.0
        content = json.dumps({"count": len(moments), "per_second": (last - first) / seconds if seconds else 0.0})
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

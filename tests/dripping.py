"""Serve a response that does not end: the server sends a byte every 20 ms for a minute."""

import socket
import threading
from contextlib import contextmanager, suppress

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
IN_THE_HEAD, IN_THE_BODY = b"HTTP/1.1 200 OK\r\nX-Slow: ", HEAD
_BYTES = 3_000


@contextmanager
def dripping(begin=IN_THE_BODY):
    """Serve on a free port; yields the address. `begin` is sent immediately."""
    ended = threading.Event()

    def drip(connection):
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(begin)
            for _ in range(_BYTES):
                if ended.wait(0.02):
                    return
                connection.sendall(b" ")

    def serve():
        with suppress(OSError):
            while True:
                threading.Thread(target=drip, args=listener.accept()[:1], daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()

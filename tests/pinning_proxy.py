"""A proxy in front of PostgreSQL that counts the causes that tie a session to its client at hosted proxies ("pinning").

It forwards every byte, and parses the messages of both sides (protocol 3.0, without TLS). It counts settings outside of
a transaction, start-up `options`, named statements, and locks or listeners of the session.
"""

import re
import socket
import threading
from collections import Counter
from contextlib import suppress

SESSION_SETTING = re.compile(
    rb"^\s*(?:RE)?SET\s+(?!LOCAL\b|TRANSACTION\b)|set_config\([^)]*,\s*false\s*\)", re.IGNORECASE
)
SESSION_STATE = re.compile(
    rb"^\s*(?:LISTEN|PREPARE|DECLARE\s.*WITH HOLD|CREATE TEMP)|pg_(?:try_)?advisory_lock(?:_shared)?\(", re.IGNORECASE
)
IDLE = b"I"


class PinningProxy:
    """A context manager that listens at `port` for the server at this address."""

    def __init__(self, host, port):
        self._server = (host, port)
        self.pins, self.statements = Counter(), 0
        self.admin = ""  # The test uses this address to bypass the proxy.

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_exception):
        self._listener.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                server = socket.create_connection(self._server)
                connection = _Connection(self, client, server)
                for run in (connection.forward_requests, connection.forward_responses):
                    threading.Thread(target=run, daemon=True).start()


class _Connection:
    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server = proxy, client, server
        self.status = IDLE

    def forward_requests(self):
        with suppress(OSError):
            self._forward_start()
            while message := _read_message(self.client):
                self._look_at(message[:1], message[5:])
                self.server.sendall(message)
        _close(self.server)

    def forward_responses(self):
        with suppress(OSError):
            while message := _read_message(self.server):
                if message[:1] == b"Z":  # ReadyForQuery
                    self.status = message[5:6]
                self.client.sendall(message)
        _close(self.client)

    def _forward_start(self):
        while head := _read(self.client, 8):
            length, code = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
            if code in {80_877_103, 80_877_104}:  # The proxy supports neither TLS nor GSSAPI.
                self.client.sendall(b"N")
                continue
            body = _read(self.client, length - 8)
            if b"options" in body.split(b"\0")[::2]:
                self.proxy.pins["options"] += 1
            self.server.sendall(head + body)
            return

    def _look_at(self, kind, body):
        if kind == b"P":  # A Parse message contains the statement's name, then its text.
            name, _, rest = body.partition(b"\0")
            self.proxy.pins["named statement"] += bool(name)
            text = rest.partition(b"\0")[0]
        elif kind == b"Q":
            text = body.rstrip(b"\0")
        else:
            return
        self.proxy.statements += 1
        if self.status == IDLE and SESSION_SETTING.search(text):
            self.proxy.pins["setting"] += 1
        if SESSION_STATE.search(text):
            self.proxy.pins["state"] += 1


def _read(stream, number):
    parts = b""
    while len(parts) < number:
        piece = stream.recv(number - len(parts))
        if not piece:
            return b""
        parts += piece
    return parts


def _read_message(stream):
    head = _read(stream, 5)
    return head and head + _read(stream, int.from_bytes(head[1:], "big") - 4)


def _close(stream):
    with suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
    stream.close()

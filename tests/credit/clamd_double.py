"""A small clamd on a socket: PING and INSTREAM as in clamd(8), with configurable faults."""

import contextlib
import socketserver
import struct
import threading
import time

EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):
            self.answer()

    def answer(self):
        double = self.server.double
        command = self.read_until_nul()
        double.commands.append(command)
        if double.fault == "hangs":
            time.sleep(double.hang_seconds)
            return
        if double.fault == "hangs up":
            return
        if command == b"zPING":
            self.wfile.write(b"PONG\0" if double.fault != "nonsense" else b"220 smtp.example ESMTP\r\n\0")
            return
        assert command == b"zINSTREAM", command
        content = b""
        while length := struct.unpack("!L", self.rfile.read(4))[0]:
            content += self.rfile.read(length)
            if len(content) > double.size_limit:
                self.wfile.write(b"INSTREAM size limit exceeded. ERROR\0")
                self.wfile.flush()
                while self.rfile.read(65_536):  # Closing with unread bytes would reset the connection.
                    pass
                return
        double.streams.append(content)
        if double.fault == "nonsense":
            self.wfile.write(b"x" * 5_000)
        elif double.fault == "drips":
            for letter in b"stream: OK\0" * 100:
                self.wfile.write(bytes([letter or 46]))
                self.wfile.flush()
                time.sleep(0.05)
        else:
            verdict = b"Win.Test.EICAR_HDB-1 FOUND" if EICAR in content else double.verdict
            self.wfile.write(b"stream: " + verdict + b"\0")

    def read_until_nul(self):
        content = b""
        while not content.endswith(b"\0"):
            piece = self.rfile.read(1)
            if not piece:
                break
            content += piece
        return content.rstrip(b"\0")


class Clamd:
    """Records commands and streams; `fault` is "hangs", "hangs up", "nonsense", or "drips"."""

    def __init__(self):
        self.commands, self.streams, self.fault = [], [], ""
        self.size_limit, self.hang_seconds, self.verdict = 26_214_400, 5, b"OK"
        self.address = None


@contextlib.contextmanager
def clamd(path=None):
    """Run the double on 127.0.0.1, or on a Unix socket at `path`."""
    base = socketserver.UnixStreamServer if path else socketserver.TCPServer
    server_class = type("Server", (socketserver.ThreadingMixIn, base), {"daemon_threads": True})
    with server_class(str(path) if path else ("127.0.0.1", 0), _Handler) as server:
        server.double = Clamd()
        server.double.address = str(path) if path else ("127.0.0.1", server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.double
        finally:
            server.shutdown()
            thread.join(10)

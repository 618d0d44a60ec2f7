"""The server's worker: what it waits for without a thread, and how it stops."""

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from config import client_socket
from config.client_socket import is_whole
from tests.config.server import exchange, gunicorn, request, running, status_of

# Answered without a database.
NOWHERE = request("GET", "/v1/nowhere")
KEPT = b"GET /v1/nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
TURNS = 50
HALF_A_BODY = request("POST", "/v1/auth/token", b"", "Content-Type: application/json", "Content-Length: 200") + b"{"


@pytest.mark.parametrize(
    ("received", "whole"),
    [
        (b"", False),
        (b"GET / HTTP/1.1\r\nHost: a\r\n", False),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", True),
        (b"GET / HTTP/1.1\nHost: a\n\n", True),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{", False),
        (b"POST / HTTP/1.1\r\nCONTENT-LENGTH:2\r\n\r\n{}", True),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}GET", True),
        (b"POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", False),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", True),
        (b"a" * 70_000, True),
    ],
    ids=range(15),
)
def test_a_thread_gets_what_need_not_be_waited_for(received, whole):
    assert is_whole(bytearray(received)) is whole


@pytest.fixture(scope="module")
def nothing(tmp_path_factory):
    """A folder, and the address of an empty database in it."""
    folder = tmp_path_factory.mktemp("worker")
    return f"sqlite:///{folder}/own.sqlite3", folder


@pytest.mark.parametrize("start", [HALF_A_BODY, KEPT[:20], b""], ids=["half a body", "half a head", "nothing"])
def test_clients_that_never_finish_hold_no_thread(nothing, start):
    with gunicorn(*nothing, threads=1, REQUEST_READ_SECONDS="60") as port, ExitStack() as stack:
        for _ in range(60):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            slow.sendall(start)
        # One thread, and every one of them would keep it for a minute.
        assert status_of(exchange(port, NOWHERE, 10)) == 404


def test_clients_that_do_not_hang_up_hold_nobody_up(nothing):
    with gunicorn(*nothing, threads=1) as port, ExitStack() as stack:
        for _ in range(30):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            slow.sendall(NOWHERE)
            assert slow.recv(12) == b"HTTP/1.1 404"
        # Each of them was asked to close and does not: waiting two seconds for each would take a minute.
        assert status_of(exchange(port, NOWHERE, 10)) == 404


def test_a_request_in_pieces_is_answered_like_any_other(nothing):
    with gunicorn(*nothing) as port, socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        for byte in NOWHERE:
            client.sendall(bytes([byte]))
        assert client.recv(12) == b"HTTP/1.1 404"


def test_requests_sent_together_are_answered_one_after_the_other(nothing):
    with gunicorn(*nothing) as port:
        received = exchange(port, KEPT * 400 + NOWHERE, 10)
    assert received.count(b"HTTP/1.1 404") == 401


def ask_again_and_again(port, ended, answered):
    """Send one request after the other on one connection, each as soon as the last is answered."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        while not ended.is_set():
            client.sendall(KEPT)
            received = b""
            while b"\r\n\r\n" not in received or not received.endswith(b"}"):
                received += client.recv(65_536)
            assert received.startswith(b"HTTP/1.1 404")
            answered.append(1)


def test_who_asks_again_at_once_leaves_the_thread_to_others(nothing):
    ended, counts = threading.Event(), [[], [], []]
    with gunicorn(*nothing, threads=1) as port, ThreadPoolExecutor() as pool:
        busy = [pool.submit(ask_again_and_again, port, ended, answered) for answered in counts]
        try:
            until = time.monotonic() + 60
            # On a crowded machine turns are uneven for a while; who starves never gets there.
            while min(map(len, counts)) < TURNS and time.monotonic() < until:
                assert status_of(exchange(port, NOWHERE, 10)) == 404
        finally:
            ended.set()
        assert [one.result(10) for one in busy] == [None] * 3
    assert min(map(len, counts)) >= TURNS, "all three had their turns at the one thread"


class TestClientsThatDoNotRead:
    """A thread that writes to them gives up, instead of waiting for as long as they like."""

    @pytest.fixture(params=[0.1])
    def ends(self, request, monkeypatch):
        monkeypatch.setattr(client_socket, "ANSWER_STALL_SECONDS", request.param)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            yield client_socket.DeadlineSocket(ours), theirs

    def test_an_answer(self, ends):
        ends[0].sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            ends[0].sendall(b"x" * 10_000_000)
        assert ends[0].status == 200

    def test_an_answer_in_pieces(self, ends):
        pieces = (ends[0].sendall(b"x" * 50_000) for _ in range(1_000))
        with pytest.raises(ConnectionResetError):
            list(pieces)

    def test_a_file(self, ends, tmp_path):
        large = tmp_path / "large"
        large.write_bytes(b"x" * 10_000_000)
        with large.open("rb") as file, pytest.raises(ConnectionResetError):
            ends[0].sendfile(file)

    @pytest.mark.parametrize("ends", [30], indirect=True)
    def test_who_reads_slowly_gets_all_of_it(self, ends):
        received = []

        def read():
            while chunk := ends[1].recv(100_000):
                received.append(len(chunk))

        with ThreadPoolExecutor() as pool:
            reading = pool.submit(read)
            ends[0].sendall(b"x")
            ends[0].sendall(b"x" * 10_000_000)
            ends[0].shutdown(socket.SHUT_WR)
            reading.result(30)
        assert sum(received) == 10_000_001


class TestStopping:
    def ask(self, client):
        """Ask on an open connection; the head of the answer."""
        client.sendall(KEPT)
        received = b""
        while b"\r\n\r\n" not in received:
            received += client.recv(65_536)
        head, _, body = received.partition(b"\r\n\r\n")
        left = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) - len(body)
        while left > 0:
            left -= len(client.recv(65_536))
        return head.lower()

    def test_a_kept_connection_gets_one_more_answer(self, nothing):
        with (
            running(*nothing, graceful_seconds=20) as (port, server),
            socket.create_connection(("127.0.0.1", port), timeout=10) as client,
        ):
            assert b"connection: close" not in self.ask(client)
            server.terminate()
            self.refused(port)
            assert b"connection: close" in self.ask(client)
            assert client.recv(10) == b""
            assert server.wait(15) == 0

    def refused(self, port):
        """Wait until nobody listens any more: whoever comes now is refused, not left waiting."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except ConnectionRefusedError:
                return
            except OSError:
                pass  # the listener was closed under it
            time.sleep(0.02)
        raise AssertionError("somebody still listens")

    def test_a_request_that_is_half_there_is_answered(self, nothing):
        body = b'{"username": "nobody", "password": "nothing"}'
        whole = request("POST", "/v1/auth/token", body, "Content-Type: application/json")
        with (
            running(*nothing, graceful_seconds=20) as (port, server),
            socket.create_connection(("127.0.0.1", port), timeout=10) as client,
        ):
            client.sendall(whole[:-10])
            server.terminate()
            self.refused(port)
            client.sendall(whole[-10:])
            assert client.recv(9) == b"HTTP/1.1 "

    def test_a_reload_answers_everybody(self, nothing):
        with running(*nothing, graceful_seconds=20) as (port, server), ExitStack() as stack:
            kept = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(5)]
            for client in kept:
                self.ask(client)
            os.kill(server.pid, signal.SIGHUP)
            for _ in range(20):
                assert status_of(exchange(port, NOWHERE, 30)) == 404
            for client in kept:
                client.sendall(KEPT)
                assert client.recv(12) == b"HTTP/1.1 404"

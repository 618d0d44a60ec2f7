"""Test the addresses that deliveries connect to, and the limits that end a connection."""

import datetime as dt
import gzip
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress
from itertools import product

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from config.clients import pinned
from config.clients.pinned import ANSWER_MAX_BYTES, AttemptFailed, Channel
from config.webhooks.models import Delivery
from tests.webhooks.receiver import Receiver

LOCAL = [ipaddress.ip_address("127.0.0.1")]


@pytest.fixture
def listener():
    """Yield a listening socket on 127.0.0.1."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield listening


def has_no_connection(listening):
    """Return whether no client has connected. The kernel accepts a connection before the client's connect returns."""
    listening.setblocking(False)
    try:
        listening.accept()
    except BlockingIOError:
        return True
    return False


def read_request(connected):
    """Read the complete request of `post`, because closing a socket with unread bytes resets the connection."""
    request = b""
    while not request.endswith(b"{}") and (received := connected.recv(65536)):
        request += received


def serve_once(listening, *pieces, then_wait=None):
    """Serve one connection with raw bytes; wait for `then_wait` before closing it."""

    def serve():
        listening.settimeout(5)
        connected, _ = listening.accept()
        with connected:
            read_request(connected)
            try:
                for piece in pieces:
                    connected.sendall(piece)
            except OSError:
                return
            if then_wait is not None:
                then_wait.wait(10)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def post(url, *, seconds=5.0, **options):
    channel = Channel(url, **options)
    try:
        return channel.post(b"{}", {"webhook-id": "1"}, seconds=seconds)
    finally:
        channel.close()


def address_of(listening):
    return f"http://127.0.0.1:{listening.getsockname()[1]}/"


@pytest.mark.django_db
def test_webhook_host_that_became_private_after_creation_gets_no_packet(
    settings, listener, make_endpoint, emit, work, monkeypatch
):
    port = listener.getsockname()[1]
    monkeypatch.setattr("config.clients.addresses._DEVELOPMENT_PORTS", frozenset({443, port}))
    answers = [[ipaddress.ip_address("93.184.215.14")], LOCAL]
    public = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: public)
    make_endpoint(f"http://receiver.example:{port}/")
    emit()
    assert work(resolve=lambda _host: answers[1])["retried"] == 1
    assert [attempt["error"] for attempt in Delivery.objects.get().attempts] == ["blocked_address"]
    assert has_no_connection(listener)


@pytest.mark.django_db
def test_stored_internal_webhook_address_gets_no_packet(settings, private_allowed, listener, make_endpoint, emit, work):
    make_endpoint(address_of(listener))
    settings.WEBHOOK_ALLOW_PRIVATE = False
    emit()
    assert work()["retried"] == 1
    assert Delivery.objects.get().attempts[0]["error"] in {"blocked_port", "blocked_address"}
    assert has_no_connection(listener)


def test_webhook_host_with_a_private_address_gets_no_packet(listener, monkeypatch):
    port = listener.getsockname()[1]
    monkeypatch.setattr("config.clients.addresses._DEVELOPMENT_PORTS", frozenset({port}))
    mixed = [*LOCAL, ipaddress.ip_address("93.184.215.14")]
    with pytest.raises(AttemptFailed) as failure:
        post(f"http://receiver.example:{port}/", resolve=lambda _host: mixed)
    assert failure.value.word == "blocked_address"
    assert has_no_connection(listener)


def test_webhook_delivery_resolves_the_host_once_and_uses_the_checked_address(private_allowed, monkeypatch):
    requests = []

    def resolve(host):
        requests.append(host)
        return LOCAL if len(requests) == 1 else [ipaddress.ip_address("192.0.2.1")]

    def fail(*_arguments, **_options):
        raise AssertionError("the host was resolved a second time")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with Receiver() as receiver:
        channel = Channel(f"http://receiver.example:{receiver.port}/hook", resolve=resolve)
        assert [channel.post(b"{}", {}, seconds=5).status for _ in range(3)] == [200, 200, 200]
        channel.close()
    assert requests == ["receiver.example"]
    assert receiver.received[0].headers["Host"] == f"receiver.example:{receiver.port}"


def test_redirect_of_a_webhook_receiver_is_not_followed(private_allowed, listener):
    for status in [301, 302, 307, 308]:
        with Receiver(answers=[(status, {"Location": address_of(listener)}, b"")]) as receiver:
            assert post(receiver.url).status == status, status
        assert has_no_connection(listener), status


def test_webhook_deliveries_connect_only_to_a_checked_address(private_allowed, listener, monkeypatch):
    """The checked address is used even if the connection pool resolves the host to another address."""
    elsewhere = [ipaddress.ip_address("127.0.0.2")]
    monkeypatch.setattr("config.clients.pinned.addresses_of", lambda *_target, **_options: elsewhere)
    with pytest.raises(AttemptFailed) as failure:
        post(address_of(listener))
    assert failure.value.word == "connect"
    assert has_no_connection(listener)


def test_webhook_deliveries_ignore_the_proxy_environment_variable(private_allowed, listener, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, address_of(listener))
    with Receiver() as receiver:
        assert post(receiver.url).status == 200
    assert has_no_connection(listener)


def test_webhook_delivery_tries_the_next_address_of_an_unreachable_host(private_allowed):
    with Receiver() as receiver:
        unused = [ipaddress.ip_address("127.9.9.9"), *LOCAL]
        assert post(f"http://receiver.example:{receiver.port}/", resolve=lambda _host: unused).status == 200


def test_silent_webhook_receiver_is_disconnected_at_the_deadline(private_allowed, listener):
    release = threading.Event()
    serve_once(listener, then_wait=release)
    with pytest.raises(AttemptFailed) as failure:
        post(address_of(listener), seconds=0.1)
    release.set()
    assert failure.value.word == "timeout"


@pytest.mark.parametrize(("begin", "status"), [(b"HTTP/1.1 20", None), (b"HTTP/1.1 200 OK\r\nX: ", 200)])
def test_slow_webhook_receiver_is_disconnected_at_the_deadline(private_allowed, listener, begin, status):
    """Each wait is shorter than the timeout, but the sum of the waits is longer."""
    release = threading.Event()

    def drip():
        listener.settimeout(5)
        connected, _ = listener.accept()
        with connected, suppress(OSError):
            read_request(connected)
            connected.sendall(begin)
            while not release.wait(0.05):
                connected.sendall(b"x")

    threading.Thread(target=drip, daemon=True).start()
    try:
        if status is None:
            with pytest.raises(AttemptFailed, match="timeout"):
                post(address_of(listener), seconds=0.2)
        else:
            assert post(address_of(listener), seconds=0.2).status == status
    finally:
        release.set()


def test_webhook_delivery_reads_at_most_20_kilobytes_of_a_compressed_or_plain_response(
    private_allowed, listener, monkeypatch
):
    exchanges, send = [], pinned.send
    monkeypatch.setattr(pinned, "send", lambda *call, **options: exchanges.append(call[3]) or send(*call, **options))
    for head in [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3b9aca00\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: %s\r\n" % (b"x" * 1000) * 90,
    ]:  # fmt: skip
        thread = serve_once(listener, head, *[b"x" * 65536] * 64)
        reply = post(address_of(listener))
        thread.join(5)
        assert (reply.status, ANSWER_MAX_BYTES) == (200, 20_000), head
        assert exchanges[-1].received <= ANSWER_MAX_BYTES, head
    bomb = gzip.compress(b"\0" * 10_000_000)[:15_000]
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    serve_once(listener, head, bomb)
    assert post(address_of(listener)).status == 200


WITHOUT_STATUS = [
    (b"", "reset"), (b"HTTP/1.1 100 Continue\r\n\r\n", "reset"), (b"HTTP/1.1 103 Hi\r\nX: x\r\n", "bad_answer"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "bad_answer"), (b"HTTP/1.1 abc OK\r\n\r\n", "bad_answer"),
    (b"\r\n" * 50, "bad_answer"), (b"HTTP/1.1 20", "bad_answer"), (b"HTTP/2 200\r\n\r\n", "bad_answer"),
    (b"ICY 200 OK\r\n\r\n", "bad_answer"), (b"\x15\x03\x01\x00\x02\x02\x46", "bad_answer"),
    (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", "bad_answer"), (b"HTTP/1.1 2000 OK\r\n\r\n", "bad_answer"),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "bad_answer"),
]  # fmt: skip


def test_webhook_response_without_a_final_status_line_is_a_failed_attempt(private_allowed, listener):
    for answer, word in WITHOUT_STATUS:
        serve_once(listener, answer)
        with pytest.raises(AttemptFailed) as failure:
            post(address_of(listener))
        assert failure.value.word == word, (answer, word)


REST = [
        b"Content-Length: 10\r\n\r\nhalf", b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"X: y\r\n" * 200 + b"\r\n",
        b"X: cut",
        b"Content-Length: -1\r\n\r\n", b"Content-Length: 1, 2\r\n\r\n", b"Content-Encoding: gzip\r\n\r\n\x1f\x8b", b"",
        b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n", b": \xff\r\n\r\n", b"no colon\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n", b"Transfer-Encoding: gzip\r\n\r\nxx",
]  # fmt: skip
INTERIM = [b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"]


def test_webhook_outcome_is_the_final_status_line_after_interim_responses(private_allowed, listener):
    for interim, rest in product(INTERIM, REST):
        serve_once(listener, interim + b"HTTP/1.1 204 No Content\r\n" + rest)
        assert post(address_of(listener)).status == 204, (interim, rest)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return a self-signed certificate for receiver.example and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver.example")])
    now = dt.datetime.now(dt.UTC)
    created = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("receiver.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(created.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder


@pytest.fixture
def secure_receiver(private_allowed, certificate):
    """Yield a TLS receiver that records the requested host names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    names = []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with Receiver() as receiver:
        receiver._server.socket = context.wrap_socket(receiver._server.socket, server_side=True)
        receiver.names = names
        yield receiver


def test_webhook_tls_verifies_the_host_name_for_a_resolved_address(secure_receiver, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    url = f"https://receiver.example:{secure_receiver.port}/"
    assert post(url, resolve=lambda _host: LOCAL).status == 200
    assert secure_receiver.names == ["receiver.example"]


@pytest.mark.parametrize(("name", "trusted"), [("receiver.example", False), ("other.example", True)])
def test_unknown_or_mismatched_certificate_fails_the_webhook_attempt(
    secure_receiver, certificate, monkeypatch, name, trusted
):
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    with pytest.raises(AttemptFailed) as failure:
        post(f"https://{name}:{secure_receiver.port}/", resolve=lambda _host: LOCAL)
    assert failure.value.word == "tls"
    assert secure_receiver.received == []

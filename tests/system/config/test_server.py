"""Malformed and ambiguous requests, sent as bytes to gunicorn with the platform's configuration."""

import base64
import json
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.databases import store_environment
from tests.processes import PATIENCE_SECONDS
from tests.system.server import body_of, exchange, gunicorn, request, status_of

HEALTH = "/v1/health"
JSON = "Content-Type: application/json"
GET = "GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = "POST /v1/auth/token HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def error_of(answer, status, code):
    """Assert that a response is an error of the platform, and not of gunicorn."""
    assert status_of(answer) == status, answer
    body = json.loads(body_of(answer))
    assert (body["code"], set(body) >= {"error", "message", "request_id"}) == (code, True)


def count_responses(received):
    """Count the responses in the received bytes."""
    return len(re.findall(rb"(?m)^HTTP/1\.1 \d", received))


class TestFraming:
    def test_ambiguous_http_request_gets_a_single_error_response(self, port):
        heads = [
            POST + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
            POST + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            POST + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            POST + "Content-Length: +2\r\n\r\n{}",
            POST + "Content-Length: 2, 2\r\n\r\n{}",
            POST + "Content-Length: -1\r\n\r\n{}",
            POST + "Content-Length: 0x2\r\n\r\n{}",
            POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            POST + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            POST + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            GET + "X-A: 1\r\n folded\r\n\r\n",
            GET + "X-A: a\0b\r\n\r\n",
            "GET /v1/health HTTP/1.1\nHost: 127.0.0.1\n\n",
            "GET /v1/health\r\n\r\n",
            "GET  /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            "GET /v1/health HTTP/3.7\r\nHost: 127.0.0.1\r\n\r\n",
            "G\0T /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            GET + "No colon here\r\n\r\n",
        ]
        with ThreadPoolExecutor(len(heads)) as callers:
            answers = [*callers.map(lambda head: exchange(port, head.encode("latin-1")), heads)]
        accepted = [
            (head, received)
            for head, received in zip(heads, answers, strict=True)
            if status_of(received) not in {400, 501, 505} or count_responses(received) != 1
        ]
        assert accepted == []

    def test_http_request_after_a_rejected_request_on_the_same_connection_gets_no_response(self, port):
        smuggled = request("GET", "/.well-known/ucp")
        head = POST + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        assert count_responses(exchange(port, head.encode() + smuggled)) == 1

    def test_malformed_chunks_return_400(self, port):
        head = request("POST", "/v1/auth/token", b"", JSON, "Transfer-Encoding: chunked")
        for chunks in (b"zz\r\n{}\r\n0\r\n\r\n", b"-1\r\n{}\r\n0\r\n\r\n", b"2\r\n{}xx0\r\n\r\n", b"\r\n"):
            assert status_of(exchange(port, head + chunks)) == 400, chunks

    def test_a_chunked_body_beyond_the_limit_returns_413(self, port):
        head = request("POST", "/v1/auth/token", b"", JSON, "Transfer-Encoding: chunked")
        error_of(exchange(port, head + b"2\r\n{}\r\n0\r\n\r\n"), 400, "E1001")
        flood = b"".join(b"10000\r\n" + b" " * 0x10000 + b"\r\n" for _ in range(17)) + b"0\r\n\r\n"
        error_of(exchange(port, head + flood), 413, "E1007")

    def test_a_content_length_beyond_the_limit_returns_413_before_the_body_is_sent(self, port):
        head = request("POST", "/v1/auth/token", b"", JSON, "Content-Length: 1048577")
        error_of(exchange(port, head), 413, "E1007")

    @pytest.mark.parametrize(
        ("head", "body"),
        [
            ("POST /v1/claims HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n", b" " * 2_000),
            (POST + JSON + "\r\nContent-Length: {}\r\n", b" " * 1_100_000),
        ],
        ids=["not authenticated", "too large"],
    )
    def test_a_response_before_the_body_was_read_closes_the_connection(self, port, head, body):
        body += request("GET", HEALTH)
        received = exchange(port, f"{head.format(len(body))}\r\n".encode() + body)
        assert (status_of(received) in {401, 413}, received.count(b"HTTP/1.1 ")) == (True, 1)
        assert b"\r\nConnection: close\r\n" in received

    def test_response_after_the_body_was_read_does_not_close_the_connection(self, port):
        first = f"{POST}{JSON}\r\nContent-Length: 2\r\n\r\n{{}}".encode()
        received = exchange(port, first + request("GET", HEALTH))
        assert received.count(b"HTTP/1.1 ") == 2
        assert b"\r\nConnection: keep-alive\r\n" in received


class TestTargets:
    def test_http_path_with_additional_slashes_or_dots_returns_404(self, port):
        for target in ("//v1/health", "/v1/../v1/health", "/v1/health/", "/v1/./health", "/v1%2fhealth/"):
            error_of(exchange(port, request("GET", target)), 404, "E4001")

    def test_absolute_request_target_is_accepted_only_with_a_host_of_the_server(self, port):
        for target in ("http://evil.example/v1/health", "http://evil.example", "https://127.0.0.1@evil.example/v1"):
            assert status_of(exchange(port, request("GET", target))) == 400, target
        assert status_of(exchange(port, request("GET", f"http://127.0.0.1{HEALTH}"))) == 200

    def test_an_overlong_id_in_a_path_returns_404_as_json(self, port, key):
        answer = exchange(port, request("GET", f"/v1/applications/{'x' * 4096}", b"", f"X-API-Key: {key['key']}"))
        error_of(answer, 404, "E4002")

    def test_invalid_utf8_in_a_request_target_returns_400_or_404(self, port, key):
        for target in ("/%ff%fe", "/%00", "/\xff", "?status=%ff"):
            answer = exchange(port, request("GET", f"/v1/applications{target}", b"", f"X-API-Key: {key['key']}"))
            assert status_of(answer) in {400, 404}, (target, answer)


class TestHosts:
    def test_http_request_with_an_unknown_missing_or_duplicate_host_returns_400(self, port):
        error_of(exchange(port, request("GET", HEALTH, host="evil.example")), 400, "E1016")
        assert status_of(exchange(port, request("GET", HEALTH, host=None))) == 400
        for second in ("127.0.0.1", "evil.example"):
            assert status_of(exchange(port, request("GET", HEALTH, b"", f"Host: {second}"))) == 400


class TestCredentials:
    def test_two_authorization_headers_return_400(self, port):
        two = ("Authorization: Bearer a", "Authorization: Bearer b")
        error_of(exchange(port, request("GET", "/v1/auth/me", b"", *two)), 400, "E1015")

    def test_two_api_key_headers_are_rejected(self, port, key):
        line = f"X-API-Key: {key['key']}"
        assert status_of(exchange(port, request("GET", "/v1/auth/me", b"", line, line))) in {400, 401}

    def test_two_idempotency_key_headers_are_rejected(self, port, key):
        text = "Idempotency-Key: 0192b3c4-d5e6-7f80-9a1b-2c3d4e5f6a7b"
        body = json.dumps({"provider_id": "p", "name": "n", "product_type": "x"}).encode()
        headers = (JSON, f"X-API-Key: {key['key']}", text, text)
        error_of(exchange(port, request("POST", "/v1/provider-offers", body, *headers)), 400, "E1008")

    def test_a_credential_header_with_underscores_is_ignored(self, port, key):
        answer = exchange(port, request("GET", "/v1/auth/me", b"", f"X_API_Key: {key['key']}"))
        assert status_of(answer) in {400, 401}

    def test_request_signature_covers_the_path_as_sent(self, port, key):
        from identity.access.signatures import sign

        targets = {"/v1/auth/me": 200, "/v1/applications/%41%2d%C3%A9": 404, "/v1/applications?limit=%31": 200}
        for target, status in targets.items():
            stamp = str(int(time.time()))
            signature = sign(key["secret"], timestamp=stamp, method="GET", path=target, body=b"")
            answer = exchange(
                port,
                request(
                    "GET", target, b"", f"Authorization: Bearer {key['key']}", f"X-Service-Timestamp: {stamp}",
                    f"X-Service-Signature: {signature}",
                ),
            )  # fmt: skip
            assert status_of(answer) == status, (target, answer)


def test_keep_alive_connection_serves_several_requests(port):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        for _ in range(3):
            connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65_536)
            head, _, body = received.partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(body) < length:
                body += connection.recv(65_536)
            assert head.startswith(b"HTTP/1.1 200")


def test_request_headers_cannot_change_the_mount_path(server):
    """A trusted proxy could forward headers with underscores."""
    with gunicorn(*server, TRUSTED_PROXIES="127.0.0.1") as port:
        for name in ("SCRIPT_NAME", "SCRIPT-NAME", "Script_Name", "PATH_INFO", "PATH-INFO"):
            for value in ("/v1", "/elsewhere", "", "//evil.example"):
                header = f"{name}: {value}"
                for target, status in ((HEALTH, 200), ("/nowhere", 404)):
                    assert status_of(exchange(port, request("GET", target, b"", header))) == status, header
                answer = exchange(port, request("GET", "/admin/", b"", header))
                assert b"location: /admin/login/?next=/admin/\r\n" in answer.lower(), answer


def test_production_requires_an_unambiguous_x_forwarded_proto_of_https(new_server):
    store_environment(new_server[0], "production")
    stored = json.loads((new_server[1] / "development-secrets.json").read_text())
    production = {
        "ENVIRONMENT": "production", "BASE_URL": "https://api.example/v1", "ALLOWED_HOSTS": "api.example",
        "FIELD_ENCRYPTION_KEYS": stored["field_encryption_key"], "TRUSTED_PROXIES": "127.0.0.1",
        "ALLOW_SANDBOX": "1",
        "DECISION_SIGNING_KEY": base64.b64encode(bytes(range(32))).decode(),
    }  # fmt: skip
    with gunicorn(*new_server, **production) as port:

        def get_health(*headers):
            return exchange(port, request("GET", HEALTH, b"", *headers, host="api.example"))

        assert status_of(get_health("X-Forwarded-Proto: https")) == 200
        error_of(get_health(), 403, "E1009")
        for headers in (
            ["X_Forwarded_Proto: https"], ["X-Forwarded-Proto: https, http"],
            ["X-Forwarded-Proto: https", "X-Forwarded-Ssl: off"],
            ["X-Forwarded-Proto: https", "X-Forwarded-Proto: http"],
        ):  # fmt: skip
            assert status_of(get_health(*headers)) in {400, 403}, headers

"""Test the middleware for every request: request ids, HTTPS, hosts, and headers."""

import re
import uuid

import pytest
from django.urls import get_resolver

from config.api.openapi import routes
from config.ops.page_middleware import PAGES_OF_THE_API
from config.webhooks.models import Event
from credit.models import Application
from tests.api import ApiClient, assert_error
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
PROXY = "10.0.0.1"


class TestRequestId:
    def test_every_response_has_a_request_id(self, api, anonymous):
        for response in (
            api.read("/applications"), anonymous.read("/applications"), anonymous.read("/nowhere"),
            anonymous.send("/auth/token", {}), anonymous.read("/health"), anonymous.read("/docs"),
        ):  # fmt: skip
            assert UUID.fullmatch(response.headers["X-Request-Id"])

    def test_request_id_is_a_sent_uuid_or_a_new_uuid(self, anonymous):
        assert len({anonymous.read("/openapi.json").headers["X-Request-Id"] for _ in range(5)}) == 5
        text = str(uuid.uuid4())
        response = anonymous.read("/applications", X_Request_Id=text.upper())
        assert response.headers["X-Request-Id"] == text
        assert response.json()["request_id"] == text
        for text in ("", "abc", "x" * 500, "a\tb", "{" + "a" * 36 + "}", "0" * 32, "<script>"):
            response = anonymous.read("/applications", X_Request_Id=text)
            assert UUID.fullmatch(response.headers["X-Request-Id"]), text

    def test_event_contains_the_id_of_its_request(self, api, user):
        body = {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 1}
        response = api.send("/applications", body)
        assert Event.objects.get().request_id == response.headers["X-Request-Id"]


class TestHttps:
    @pytest.fixture(autouse=True)
    def _production(self, settings):
        settings.PRODUCTION = True
        settings.SECURE_HSTS_SECONDS = 63_072_000
        settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = True
        settings.TRUSTED_PROXIES = frozenset({PROXY})

    def test_plain_http_requests_are_rejected_on_every_path_without_a_redirect(self, api, user):
        for path in ("/applications", "/health", "/openapi.json", "/nowhere", "/docs", "/admin/login/"):
            response = api.read(path)
            assert_error(response, 403, "E1009")
            assert "Location" not in response.headers
        body = {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 1}
        assert_error(api.send("/applications", body), 403, "E1009")
        assert not Application.objects.exists()

    def test_https_responses_and_trusted_proxies_are_accepted(self, api):
        response = api.generic("GET", "/v1/openapi.json", secure=True)
        assert response.status_code == 200
        assert response.headers["Strict-Transport-Security"] == "max-age=63072000; includeSubDomains"
        client = ApiClient(REMOTE_ADDR=PROXY)
        assert client.read("/openapi.json", X_Forwarded_Proto="https").status_code == 200
        assert client.read("/openapi.json", X_Forwarded_Proto="https", X_Forwarded_Ssl="on").status_code == 200

    def test_x_forwarded_proto_of_an_untrusted_proxy_is_ignored(self):
        for address in ("127.0.0.1", "10.0.0.2", "10.0.0.10", "::ffff:10.0.0.1", ""):
            client = ApiClient(REMOTE_ADDR=address)
            assert_error(client.read("/openapi.json", X_Forwarded_Proto="https"), 403, "E1009")

    def test_ambiguous_forwarding_headers_of_a_trusted_proxy_are_rejected(self):
        for headers in (
            {"X_Forwarded_Proto": "https, http"}, {"X_Forwarded_Proto": "http, https"}, {"X_Forwarded_Proto": "HTTPS"},
            {"X_Forwarded_Proto": " https"}, {"X_Forwarded_Proto": ""}, {"X_Forwarded_Proto": "http"}, {},
            {"X_Forwarded_Proto": "https", "X_Forwarded_Ssl": "off"}, {"X_Forwarded_Ssl": "on"},
            {"X_Forwarded_Protocol": "https"}, {"Forwarded": "proto=https"}, {"Front_End_Https": "on"},
        ):  # fmt: skip
            assert_error(ApiClient(REMOTE_ADDR=PROXY).read("/openapi.json", **headers), 403, "E1009")


class TestHosts:
    def test_requests_to_an_allowed_host_are_served(self):
        for host in ("localhost", "127.0.0.1", "127.0.0.1:8000", "[::1]", "[::1]:8000", "LOCALHOST"):
            assert ApiClient().generic("GET", "/v1/openapi.json", HTTP_HOST=host).status_code == 200, host

    def test_health_check_accepts_http_1_0_without_a_host(self, settings):
        settings.ALLOWED_HOSTS, settings.HOST_ROOT = ["api.example"], "https://api.example"
        for protocol, path, status in [
            ("HTTP/1.0", "/v1/health", 200),
            ("HTTP/1.0", "/v1/openapi.json", 400),
            ("HTTP/1.1", "/v1/health", 400),
        ]:
            client = ApiClient(SERVER_NAME="10.9.9.9", SERVER_PROTOCOL=protocol)
            assert client.generic("GET", path).status_code == status, (protocol, path, status)

    def test_request_to_another_host_returns_400_on_every_path(self):
        client = ApiClient()
        for host in (
            "evil.example", "", " ", "localhost.evil.example", "localhost@evil.example", "localhost/x", "a b", "[::1",
            "\xe9",
        ):  # fmt: skip
            for path in ("/v1/openapi.json", "/v1/openapi.json", "/v1/health", "/nowhere", "/v1/docs"):
                assert_error(client.generic("GET", path, HTTP_HOST=host), 400, "E1016")

    def test_host_cache_has_a_limited_size(self, settings):
        settings.ALLOWED_HOSTS = ["*"]
        client = ApiClient()
        for number in range(200):
            assert client.generic("GET", "/v1/openapi.json", HTTP_HOST=f"h{number}.example").status_code == 200


class TestHeaders:
    def test_responses_have_nosniff_and_no_store_headers_and_set_no_cookie(self, api, anonymous, user):
        response = api.read("/applications")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"
        assert int(response.headers["Content-Length"]) == len(response.content)
        for response in (
            api.read("/applications"),
            anonymous.send("/auth/token", {"username": user.username, "password": PASSWORD}),
            anonymous.read("/nowhere"),
        ):
            assert not response.cookies

    def test_the_api_rejects_a_session_as_credential(self, user):
        client = ApiClient()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        assert_error(client.read("/applications"), 401, "E2001")

    def test_unknown_api_path_returns_an_error_that_explains_a_trailing_slash(self, anonymous):
        for path in (
            "/v1/nowhere", "/", "/v1/", "/v1", "/v1/applications//", "/v1/applications/x/y/z", "/static", "/.env",
            "/v1/docs/nowhere", "/v1/docsx", "/v2/applications", "/V1/health",
        ):  # fmt: skip
            assert_error(anonymous.generic("GET", path), 404, "E4001")
        for path in ("/v1/applications/", "/v1/health/", "/v1/wallet/status/4242424242424242/"):
            body = assert_error(anonymous.generic("GET", path), 404, "E4001")
            assert "without the slash at the end" in body["message"]
            assert "424242" not in body["message"]
        # The path is unknown without the slash, too.
        for path in ("/v1/nowhere/", "/v1/applications//", "/v1/nowhere"):
            assert "slash" not in assert_error(anonymous.generic("GET", path), 404, "E4001")["message"]

    def test_root_url_returns_links_to_the_pages_to_browsers_and_programs(self, anonymous):
        page = anonymous.generic("GET", "/", HTTP_ACCEPT="text/html,application/xhtml+xml,*/*;q=0.8")
        assert page.status_code == 200
        assert page.headers["Content-Type"].startswith("text/html")
        for address in re.findall(r'href="(/[^"]*)"', page.content.decode()):
            assert anonymous.generic("GET", address, HTTP_ACCEPT="text/html").status_code in {200, 302}, address
        assert re.findall(r'<a href="([^"]+)"', page.content.decode()) == [
            "/account/login", "/my/apply", "/my", "/account/password/forgot", "/docs", "/v1/docs", "/developers",
            "/admin/", "/#help", "/my/apply",
        ]  # fmt: skip
        message = assert_error(anonymous.generic("GET", "/"), 404, "E4001")["message"]
        assert "/docs and /v1/docs" in message
        assert "/admin/" in message


class TestPublic:
    def test_public_paths_support_head_and_options_and_ignore_an_invalid_credential(self, anonymous):
        for path in ["/v1/openapi.json", "/.well-known/ucp", "/.well-known/jwks.json"]:
            got = anonymous.generic("GET", path)
            head = anonymous.generic("HEAD", path)
            assert (head.status_code, head.content) == (200, b""), path
            assert head.headers["Content-Length"] == str(len(got.content)), path
            options = anonymous.generic("OPTIONS", path)
            assert (options.status_code, options.content) == (200, b""), path
            assert set(options.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}, path
        for client in (ApiClient(bearer="nonsense"), ApiClient(api_key="nonsense")):
            assert client.read("/openapi.json").status_code == 200


MIDDLEWARE_OF_AN_API_REQUEST = 6


def test_an_api_request_passes_at_most_six_middlewares(settings):
    assert len(settings.MIDDLEWARE) <= MIDDLEWARE_OF_AN_API_REQUEST


def test_html_pages_under_v1_use_the_page_middleware():
    html = [
        "/" + route
        for route, pattern in (entry[:2] for entry in routes(get_resolver().url_patterns))
        if route.startswith("v1/") and not hasattr(pattern.callback, "actions")
    ]
    assert html
    assert [route for route in html if not route.startswith(PAGES_OF_THE_API) and "openapi" not in route] == []


def test_static_file_returns_304_for_every_spelling_of_its_etag(client):
    etag = client.get("/static/brand.css").headers["ETag"]
    for spelling in ["{}", "W/{}", "*", '"other", {}', '{} , "other"', 'W/"other",W/{}']:
        again = client.get("/static/brand.css", HTTP_IF_NONE_MATCH=spelling.format(etag))
        assert (again.status_code, b"".join(again)) == (304, b""), spelling

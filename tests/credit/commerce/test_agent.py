"""Test `UCP-Agent` and the requested version on every operation of the UCP catalog."""

import socket

import pytest

from credit.api.commerce.agent import check_agent
from credit.api.commerce.refusals import InvalidProfileUrl, VersionUnsupported
from tests.api import ApiClient, assert_error
from tests.credit.commerce.support import AGENT, VERSION, assert_agent_refused, assert_refused
from tests.factories import OfferFactory
from tests.identity.banking import limited

OPERATIONS = [("search", {}), ("lookup", {"ids": ["1"]}), ("product", {"id": "1"})]
PROFILE = "https://agent.example/.well-known/ucp"


@pytest.mark.django_db
@pytest.mark.parametrize(("operation", "body"), OPERATIONS)
class TestOperations:
    def test_ucp_request_does_not_fetch_the_agent_profile(self, api, operation, body, monkeypatch):
        def refuse(*_args, **_options):
            raise AssertionError("a stranger made us go out")

        OfferFactory()
        api.send(f"/ucp/catalog/{operation}", body)  # This call opens the connections that the request needs.
        for name in ("getaddrinfo", "create_connection"):
            monkeypatch.setattr(socket, name, refuse)
        monkeypatch.setattr(socket.socket, "connect", refuse)
        for header in (AGENT, 'profile="http://127.0.0.1:1/x"', 'profile="https://169.254.169.254/latest"', None):
            assert api.send(f"/ucp/catalog/{operation}", body, UCP_Agent=header).status_code == 200

    def test_unsupported_ucp_version_returns_422_version_unsupported(self, api, anonymous, operation, body):
        path = f"/ucp/catalog/{operation}?version="
        for version, shown in (
            ("2026-01-11", "Protocol version 2026-01-11"), ("ucp/1.0", "The requested protocol version"),
            ("latest", None), ("", None), ("2026-08-25 ", None), ("\u0662", None), ("<script>", None),
        ):  # fmt: skip
            response = api.send(f"{path}{version}", body)
            result = response.json()
            assert (response.status_code, result["code"]) == (422, "version_unsupported")
            assert result["message"] == f"{shown or 'The requested protocol version'} is not supported. Send {VERSION}."
            assert VERSION in result["content"]
            (message,) = result["messages"]
            word = ("error", "version_unsupported", "unrecoverable")
            assert (message["type"], message["code"], message["severity"]) == word
            assert result["ucp"] == {"version": VERSION, "status": "error"}
            assert result["request_id"] == response.headers["X-Request-Id"]
            assert result["doc_url"].endswith("/docs/guides/commerce#errors"), "no page of its own"
        problem = api.send(f"{path}2026-01-11", body, Accept="application/json, application/problem+json").json()
        assert problem["type"].endswith("/docs/guides/commerce#errors")
        result = api.send(f"{path}2026-01-11", body, UCP_Agent=AGENT).json()
        assert (set(result), result["code"]) == ({"code", "content", "ucp", "messages"}, "version_unsupported")
        assert_refused(anonymous.send(f"{path}2025-01-01", body), 401, "E2001")
        assert_refused(api.send(f"{path}{VERSION}&version={VERSION}", body), 400, "E1001")

    def test_supported_ucp_version_is_accepted(self, api, operation, body):
        path = f"/ucp/catalog/{operation}?version={VERSION}"
        assert api.send(path, body, UCP_Agent=f'{AGENT};version="{VERSION}"').status_code == 200

    def test_ucp_version_is_checked_before_the_request_body(self, api, operation, body):
        assert api.send(f"/ucp/catalog/{operation}?version=2025-01-01", {"query": 5, **body}).status_code == 422
        response = api.send(f"/ucp/catalog/{operation}", raw=b"{", UCP_Agent=f'{AGENT}, version="2025-01-01"')
        assert response.status_code == 422

    def test_catalog_operation_rejects_an_unsupported_method_with_any_ucp_version_and_agent_header(
        self, api, operation, body
    ):
        path = f"/ucp/catalog/{operation}?version=2025-01-01"
        assert_refused(api.replace(path, body), 405, "E4050")
        assert_agent_refused(api.replace(path, body, UCP_Agent="me"), 405, "method_not_allowed")

    def test_request_with_a_ucp_agent_header_gets_errors_in_the_ucp_format(self, api, anonymous, user, operation, body):
        path, fields = f"/ucp/catalog/{operation}", {"UCP_Agent": AGENT}
        assert_agent_refused(api.send(path, body, UCP_Agent="me"), 400, "invalid_profile_url")
        assert_agent_refused(anonymous.send(path, body, **fields), 401, "authentication_required")
        assert_agent_refused(ApiClient(bearer="x").send(path, body, **fields), 401, "invalid_token")
        assert_agent_refused(limited(user, "score:read").send(path, body, **fields), 403, "insufficient_scope")
        assert_agent_refused(api.send(path, raw=b"{", **fields), 400, "malformed_json")
        text = api.send(path, raw=b"{}", content_type="text/plain", **fields)
        assert_agent_refused(text, 415, "unsupported_media_type")
        assert_agent_refused(api.send(path, body, Accept="text/html", **fields), 406, "not_acceptable")
        problem = "application/json, application/problem+json"
        assert_agent_refused(anonymous.send(path, body, Accept=problem, **fields), 401, "authentication_required")
        assert_agent_refused(anonymous.send(path, body, Host="elsewhere.example", **fields), 400, "invalid_host")


@pytest.mark.django_db
def test_every_catalog_path_returns_ucp_errors_to_requests_with_a_ucp_agent_header(api, anonymous):
    assert_agent_refused(anonymous.read("/ucp/catalog/items", UCP_Agent=AGENT), 401, "authentication_required")
    assert_agent_refused(api.read("/ucp/catalog/items?limit=0", UCP_Agent=AGENT), 400, "invalid_pagination")
    assert_agent_refused(api.read("/ucp/catalog/nothing", UCP_Agent=AGENT), 404, "not_found")
    assert api.read("/nothing", UCP_Agent=AGENT).json()["code"] == "E4001"
    for path, status, code in (("items?limit=0", 400, "E1006"), ("nothing", 404, "E4001")):
        assert_error(api.read(f"/ucp/catalog/{path}"), status, code)  # Without the header, errors have no `messages`.


@pytest.mark.parametrize("header", [
    AGENT, f'  profile="{PROFILE}"  ', f'profile="{PROFILE}";a;b=1;c=?0', f'a, b=2.5,\tprofile="{PROFILE}"',
    f'x=("a" b "c)"), profile="{PROFILE}"', f'profile="{PROFILE}", y=:aGk=:', f'profile="no", profile="{PROFILE}"',
    'profile="http://localhost:8080"', f"profile={PROFILE}", f'profile="{PROFILE}", t=*tok/en',
    r'a="\"\\", profile="https://a.b/\\"',
])  # fmt: skip
def test_ucp_agent_profile_url_is_parsed_from_a_structured_header(header):
    check_agent(header, [])


@pytest.mark.parametrize("header", [
    "", " ", "profile", "profile=", PROFILE, f'profile="{PROFILE}', f'profile="{PROFILE}",', f'profile="{PROFILE}" x',
    f'Profile="{PROFILE}"', f'profile ="{PROFILE}"', 'profile="ftp://a.example/"', 'profile="agent.example"',
    'profile="https://"', 'profile="https://[::1"', 'profile="https://a b/"', f'profile="{PROFILE}", profile="no"',
    'profile="https://a.example/' + "x" * 2_048 + '"', 'profile="\u00fc"', f'profile="{PROFILE}"\n, a',
    'profile="javascript:alert(1)"',
])  # fmt: skip
def test_ucp_agent_header_with_an_invalid_profile_raises_invalid_profile_url(header):
    with pytest.raises(InvalidProfileUrl):
        check_agent(header, [])


@pytest.mark.parametrize("header", [
    f'{AGENT};version="2026-01-11"', f'{AGENT}, version="2026-01-11"', f'version="2026-01-11", {AGENT}',
    f"{AGENT};version", f'{AGENT};version="{VERSION}", version="2026-01-11"',
])  # fmt: skip
def test_ucp_version_is_parsed_from_the_agent_header(header):
    with pytest.raises(VersionUnsupported):
        check_agent(header, [VERSION])


@pytest.mark.parametrize(
    "header", ["a=" * 100_000, 'a="' + "\\" * 200_000, "a=(" + '"' * 200_000, "a;" * 100_000, "a," * 100_000 + "="]
)
def test_long_ucp_agent_header_is_parsed_in_linear_time(header):
    # A parser that needs quadratic time would exceed the test's time limit with these headers.
    with pytest.raises(InvalidProfileUrl):
        check_agent(header, [])

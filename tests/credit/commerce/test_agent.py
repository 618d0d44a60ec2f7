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

    @pytest.mark.parametrize("version", ["2026-01-11", "2027-01-01", "latest", "", "2026-08-25 ", "\u0662"])
    def test_unsupported_ucp_version_returns_422_version_unsupported(self, api, operation, body, version):
        response = api.send(f"/ucp/catalog/{operation}?version={version}", body)
        result = response.json()
        assert (response.status_code, result["code"]) == (422, "version_unsupported")
        assert VERSION in result["content"]
        (message,) = result["messages"]
        assert (message["type"], message["code"], message["severity"]) == (
            "error", "version_unsupported", "unrecoverable",
        )  # fmt: skip
        assert result["ucp"] == {"version": VERSION, "status": "error"}
        assert result["request_id"] == response.headers["X-Request-Id"]
        assert result["doc_url"].endswith("/docs/guides/commerce#errors"), "no page of its own"

    def test_unsupported_ucp_version_problem_links_to_the_error_page(self, api, operation, body):
        problem = "application/json, application/problem+json"
        response = api.send(f"/ucp/catalog/{operation}?version=2026-01-11", body, Accept=problem)
        assert response.json()["type"].endswith("/docs/guides/commerce#errors")

    def test_supported_ucp_version_is_accepted(self, api, operation, body):
        path = f"/ucp/catalog/{operation}?version={VERSION}"
        assert api.send(path, body, UCP_Agent=f'{AGENT};version="{VERSION}"').status_code == 200

    @pytest.mark.parametrize(
        ("version", "message"),
        [("2025-01-01", "Protocol version 2025-01-01"), ("ucp/1.0", "The requested protocol version")],
    )
    def test_unsupported_ucp_version_error_states_the_supported_version(self, api, operation, body, version, message):
        response = api.send(f"/ucp/catalog/{operation}?version={version}", body)
        assert response.json()["message"] == f"{message} is not supported. Send {VERSION}."

    def test_ucp_version_is_checked_before_the_request_body(self, api, operation, body):
        assert api.send(f"/ucp/catalog/{operation}?version=2025-01-01", {"query": 5, **body}).status_code == 422
        response = api.send(f"/ucp/catalog/{operation}", raw=b"{", UCP_Agent=f'{AGENT}, version="2025-01-01"')
        assert response.status_code == 422

    def test_anonymous_request_with_an_unsupported_ucp_version_returns_401(self, anonymous, operation, body):
        assert_refused(anonymous.send(f"/ucp/catalog/{operation}?version=2025-01-01", body), 401, "E2001")

    def test_unsupported_method_is_rejected_with_any_version_and_header(self, api, operation, body):
        path = f"/ucp/catalog/{operation}?version=2025-01-01"
        assert_refused(api.replace(path, body), 405, "E4050")
        assert_agent_refused(api.replace(path, body, UCP_Agent="me"), 405, "method_not_allowed")

    def test_repeated_ucp_version_parameter_returns_400(self, api, operation, body):
        path = f"/ucp/catalog/{operation}?version={VERSION}&version={VERSION}"
        assert_refused(api.send(path, body), 400, "E1001")

    def test_agent_header_without_a_profile_returns_400(self, api, operation, body):
        response = api.send(f"/ucp/catalog/{operation}", body, UCP_Agent="me")
        assert_agent_refused(response, 400, "invalid_profile_url")

    def test_errors_for_requests_with_an_agent_header_use_the_ucp_body(self, api, anonymous, user, operation, body):
        path, fields = f"/ucp/catalog/{operation}", {"UCP_Agent": AGENT}
        assert_agent_refused(anonymous.send(path, body, **fields), 401, "authentication_required")
        assert_agent_refused(ApiClient(bearer="x").send(path, body, **fields), 401, "invalid_token")
        assert_agent_refused(limited(user, "score:read").send(path, body, **fields), 403, "insufficient_scope")
        assert_agent_refused(api.send(path, raw=b"{", **fields), 400, "malformed_json")
        assert_agent_refused(
            api.send(path, raw=b"{}", content_type="text/plain", **fields), 415, "unsupported_media_type"
        )
        assert_agent_refused(api.send(path, body, Accept="text/html", **fields), 406, "not_acceptable")
        problem = "application/json, application/problem+json"
        assert_agent_refused(anonymous.send(path, body, Accept=problem, **fields), 401, "authentication_required")
        assert_agent_refused(anonymous.send(path, body, Host="elsewhere.example", **fields), 400, "invalid_host")

    def test_unsupported_version_from_an_agent_returns_the_ucp_error_body(self, api, operation, body):
        response = api.send(f"/ucp/catalog/{operation}?version=2026-01-11", body, UCP_Agent=AGENT)
        result = response.json()
        assert (response.status_code, set(result)) == (422, {"code", "content", "ucp", "messages"})
        assert result["code"] == "version_unsupported"
        assert VERSION in result["content"]


@pytest.mark.django_db
def test_every_catalog_path_returns_ucp_errors_to_agents(api, anonymous):
    assert_agent_refused(anonymous.read("/ucp/catalog/items", UCP_Agent=AGENT), 401, "authentication_required")
    assert_agent_refused(api.read("/ucp/catalog/items?limit=0", UCP_Agent=AGENT), 400, "invalid_pagination")
    assert_agent_refused(api.read("/ucp/catalog/nothing", UCP_Agent=AGENT), 404, "not_found")
    assert api.read("/nothing", UCP_Agent=AGENT).json()["code"] == "E4001"


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "status", "code"), [("items?limit=0", 400, "E1006"), ("nothing", 404, "E4001")])
def test_other_catalog_paths_return_usual_errors_without_an_agent_header(api, path, status, code):
    assert_error(api.read(f"/ucp/catalog/{path}"), status, code)  # the check of the fields excludes `messages`


@pytest.mark.parametrize("header", [
    AGENT, f'  profile="{PROFILE}"  ', f'profile="{PROFILE}";a;b=1;c=?0', f'a, b=2.5,\tprofile="{PROFILE}"',
    f'x=("a" b "c)"), profile="{PROFILE}"', f'profile="{PROFILE}", y=:aGk=:', f'profile="no", profile="{PROFILE}"',
    'profile="http://localhost:8080"', f"profile={PROFILE}", f'profile="{PROFILE}", t=*tok/en',
    r'a="\"\\", profile="https://a.b/\\"',
])  # fmt: skip
def test_agent_profile_is_parsed_from_a_structured_header(header):
    check_agent(header, [])


@pytest.mark.parametrize("header", [
    "", " ", "profile", "profile=", PROFILE, f'profile="{PROFILE}', f'profile="{PROFILE}",', f'profile="{PROFILE}" x',
    f'Profile="{PROFILE}"', f'profile ="{PROFILE}"', 'profile="ftp://a.example/"', 'profile="agent.example"',
    'profile="https://"', 'profile="https://[::1"', 'profile="https://a b/"', f'profile="{PROFILE}", profile="no"',
    'profile="https://a.example/' + "x" * 2_048 + '"', 'profile="\u00fc"', f'profile="{PROFILE}"\n, a',
    'profile="javascript:alert(1)"',
])  # fmt: skip
def test_agent_header_with_an_invalid_profile_raises_invalid_profile_url(header):
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
    "header", ["a=" * 500_000, 'a="' + "\\" * 1_000_000, "a=(" + '"' * 1_000_000, "a;" * 500_000, "a," * 500_000 + "="]
)
def test_long_agent_header_is_parsed_in_linear_time(header):
    # A parser that needs quadratic time would exceed the test's time limit with these headers.
    with pytest.raises(InvalidProfileUrl):
        check_agent(header, [])


def test_error_does_not_repeat_an_unknown_ucp_version_with_markup():
    assert "<script>" not in str(VersionUnsupported("<script>"))
    assert "2026-01-11" in str(VersionUnsupported("2026-01-11"))

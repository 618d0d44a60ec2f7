"""What the tests of the protocol share."""

from tests.api import assert_error

VERSION = "2026-08-25"
AGENT = 'profile="https://agent.example/.well-known/ucp"'


def ask(api, operation, body, *, query="", **headers):
    """Call an operation of the catalogue; what it answers."""
    response = api.send(f"/ucp/catalog/{operation}{query}", body, **headers)
    assert response.status_code == 200, response.content
    return response.json()


def assert_refused(response, status, code, *, word=None):
    """Check a refusal: the error of everywhere, with the protocol's messages; return these."""
    body = response.json()
    ucp, messages = body.pop("ucp"), body.pop("messages")
    assert ucp == {"version": VERSION, "status": "error"}
    assert response.headers["Content-Length"] == str(len(response.content))
    stripped = type("Answer", (), {"headers": response.headers, "status_code": response.status_code})()
    stripped.json, stripped.content = lambda: body, response.content
    assert_error(stripped, status, code)
    assert messages
    for message in messages:
        assert (message["type"], message["code"]) == ("error", word or body["error"])
        assert message["content"]
        assert message["severity"] in {"recoverable", "unrecoverable"}
    return messages

"""Helpers for the tests of the Universal Commerce Protocol."""

from tests.api import assert_error
from tests.credit.commerce.judge import of_failure

VERSION = "2026-08-25"
AGENT = 'profile="https://agent.example/.well-known/ucp"'


def call_catalog(api, operation, body, *, query="", **headers):
    """Call an operation of the UCP catalog and return its response."""
    response = api.send(f"/ucp/catalog/{operation}{query}", body, **headers)
    assert response.status_code == 200, response.content
    return response.json()


def assert_agent_refused(response, status, word):
    """Check that an agent's error has the UCP body without other fields; return its messages."""
    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/json"), response.content
    assert response.headers["Content-Length"] == str(len(response.content))
    assert response.headers["X-Request-Id"]
    body = response.json()
    assert of_failure(body) == []
    assert body["ucp"] == {"version": VERSION, "status": "error"}
    assert {(message["type"], message["code"]) for message in body["messages"]} == {("error", word)}
    return body["messages"]


def assert_refused(response, status, code, *, word=None):
    """Check that an error has the default fields and the UCP messages; return the messages."""
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

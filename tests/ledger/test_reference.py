"""Test the ledger's API reference at /docs, and its content security policy."""

import pytest


@pytest.mark.django_db
@pytest.mark.urls("ledger.urls")
def test_ledger_reference_accepts_only_read_requests_and_links_to_the_explorer(client, settings):
    page = client.get("/docs")
    assert page.headers["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY
    assert b'<a href="/">Explorer</a>' in page.content
    assert b'<a href="/docs">Every operation</a>' in client.get("/").content
    answer = client.post("/docs")
    assert (answer.status_code, answer.json()["code"]) == (405, "E4050")
    assert client.head("/docs").status_code == 200

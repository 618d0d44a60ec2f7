"""Test the ledger's API reference at /docs, and its content security policy."""

import pytest


@pytest.mark.django_db
@pytest.mark.urls("ledger.urls")
class TestReferencePage:
    def test_ledger_reference_has_the_default_content_security_policy(self, client, settings):
        assert client.get("/docs").headers["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY

    def test_ledger_reference_accepts_only_read_requests(self, client):
        answer = client.post("/docs")
        assert (answer.status_code, answer.json()["code"]) == (405, "E4050")
        assert client.head("/docs").status_code == 200

    def test_explorer_and_reference_link_to_each_other(self, client):
        assert b'<a href="/docs">Every operation</a>' in client.get("/").content
        assert b'<a href="/">Explorer</a>' in client.get("/docs").content

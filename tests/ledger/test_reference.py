"""The reference at /docs of service B: what its own server serves for it."""

import pytest


@pytest.mark.django_db
@pytest.mark.urls("ledger.urls")
class TestThePage:
    def test_the_reference_has_the_policy_that_its_viewer_needs(self, client, settings):
        policy = client.get("/docs").headers["Content-Security-Policy"]
        added = {"style-src 'self' 'unsafe-inline'", "worker-src blob:"}
        assert set(policy.split("; ")) - set(settings.CONTENT_SECURITY_POLICY.split("; ")) == added

    def test_the_reference_accepts_reads_alone(self, client):
        answer = client.post("/docs")
        assert (answer.status_code, answer.json()["code"]) == (405, "E4050")
        assert client.head("/docs").status_code == 200

    def test_the_explorer_leads_there_and_back(self, client):
        assert b'<a href="/docs">Every operation</a>' in client.get("/").content
        assert b'<a href="/">Explorer</a>' in client.get("/docs").content

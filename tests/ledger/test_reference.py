"""The reference at /docs of service B: what its own server serves for it."""

import re

import pytest
import requests

from tests.config.server import gunicorn


@pytest.mark.django_db
@pytest.mark.urls("ledger.urls")
class TestThePage:
    def test_it_has_the_policy_that_its_viewer_needs_and_no_more(self, client, settings):
        policy = client.get("/docs").headers["Content-Security-Policy"]
        added = {"style-src 'self' 'unsafe-inline'", "worker-src blob:"}
        assert set(policy.split("; ")) - set(settings.CONTENT_SECURITY_POLICY.split("; ")) == added

    def test_it_is_only_read(self, client):
        answer = client.post("/docs")
        assert (answer.status_code, answer.json()["code"]) == (405, "E4050")
        assert client.head("/docs").status_code == 200

    def test_the_explorer_leads_there_and_back(self, client):
        assert b'<a href="/docs">Every operation</a>' in client.get("/").content
        assert b'<a href="/">Explorer</a>' in client.get("/docs").content


@pytest.mark.slow  # a server
def test_its_own_server_has_everything_that_the_page_needs(migrated, tmp_path):
    with gunicorn(f"sqlite:///{migrated}", tmp_path, module="ledger.wsgi", SERVICE="ledger") as port:
        root = f"http://127.0.0.1:{port}"
        page = requests.get(f"{root}/docs", timeout=20)
        assert page.status_code == 200
        needed = re.findall(r'(?:src|href|data-document)="(/[^"]+)"', page.text)
        assert {"/openapi.json", "/static/api/reference.js", "/static/api/reference.css"} <= set(needed)
        assert {requests.get(root + one, timeout=20).status_code for one in needed} == {200}
        assert requests.get(f"{root}/v1/docs", timeout=20).status_code == 404

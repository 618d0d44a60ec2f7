"""The code samples of the OpenAPI documents parse in their language, and samples of typical requests run."""

import copy
import json
import shlex
import subprocess

import pytest
import requests

from credit.models import Application
from credit.models.documents import DocumentFile, RequestedDocument
from tests.docs.test_samples import LANGUAGES, SERVICES, documents, sources  # noqa: F401  a fixture
from tests.identity.oauth_support import make_client
from tests.system.clients.test_generated_clients import STRICT
from tests.system.docs.test_blocks_run import demo  # noqa: F401  a fixture
from tests.system.samples import TOOLS, Reader, missing

PDF = b"%PDF-1.4\n%%EOF\n"


@pytest.mark.parametrize("service", SERVICES)
class TestSyntaxOfSamples:
    def test_curl_samples_are_valid_bash_and_send_the_documented_example(self, documents, service):
        for operation, source in sources(documents[service], "curl"):
            done = subprocess.run(["bash", "-n"], input=source, text=True, capture_output=True, check=False)
            assert (done.returncode, done.stderr) == (0, ""), source
            words = shlex.split(source)
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                sent = json.loads(words[words.index("-d") + 1])
                assert sent == content["application/json"]["example"]

    def test_typescript_samples_pass_strict_compilation(self, documents, service, tmp_path):
        if missing("TypeScript"):
            pytest.skip(missing("TypeScript"))
        (tmp_path / "node_modules").symlink_to(TOOLS.parent)
        names = []
        for operation, source in sources(documents[service], "TypeScript"):
            names.append(f"{operation['operationId']}.ts")
            (tmp_path / names[-1]).write_text(source)
        command = [TOOLS / "tsc", *STRICT, "--moduleDetection", "force", *names]
        compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert compiled.returncode == 0, compiled.stdout


@pytest.fixture
def reader(request, documents, live_server, tmp_path):
    """A function that creates a Reader for the samples of a service, in the language of the test."""

    def make(service, key):
        folder = tmp_path / "pasted"
        folder.mkdir()
        document = copy.deepcopy(documents[service])
        return Reader(document, live_server.url, key=key, folder=folder, language=request.param)

    if missing(request.param):
        pytest.skip(missing(request.param))
    return make


@pytest.mark.parametrize("reader", LANGUAGES, indirect=True)
def test_code_samples_of_typical_platform_requests_succeed(demo, reader, tmp_path):
    run = (platform_reader := reader("platform", demo["KEY"])).run
    me, offer = demo["USER_ID"], int(demo["OFFER_ID"])
    run("health_check")
    password = json.loads((tmp_path / "var" / "demo.json").read_text())["password"]
    assert "access_token" in run("auth_token", body={"username": "demo", "password": password})
    wanted = {"consumer_id": me, "offer_id": offer, "provider_id": 1001, "initial_status": "submitted"}
    run("applications_create", body=wanted)
    application = Application.objects.latest("pk")
    of = {"application_id": str(application.pk)}
    listed = run("applications_list", query={"consumer_id": me, "status": "submitted"})
    assert of["application_id"] in listed
    run("applications_change", body={"updated_by": me, "notes": "It's read."}, **of)
    assert "It's read." in run("applications_retrieve", **of)
    run("documents_ask", body={"names": ["Payslip"]}, **of)
    of["document_id"] = str(RequestedDocument.objects.get(application=application).pk)
    (platform_reader.folder / "payslip.pdf").write_bytes(PDF)
    run("documents_add_file", **of)
    of["file_id"] = str(DocumentFile.objects.get(document_id=of["document_id"]).pk)
    run("documents_file", **of)
    assert (platform_reader.folder / "download").read_bytes() == PDF
    client, secret = make_client()
    run("oauth_revoke", body={"token": "none", "client_id": client.client_id, "client_secret": secret})
    assert "def " in run("verifiers_verifier")
    claim = {"user_id": me, "publication_id": "10.5555/it-is-read", "claim_type": "author"}
    run("claims_create", body=claim)
    key = {"X-API-Key": demo["KEY"]}
    claims = requests.get(f"{demo['BASE']}/claims", params={"user_id": me}, headers=key, timeout=20).json()
    (mine,) = [each["id"] for each in claims if each["publication_id"] == claim["publication_id"]]
    run("claims_remove", claim_id=mine)
    assert platform_reader.statuses.count("201") == 4
    assert len(platform_reader.statuses) == 13

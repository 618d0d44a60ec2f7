"""Third-party client generators and linters accept both OpenAPI documents, and generated clients work.

`npm ci` in this folder installs the tools that are not on PyPI. Without them, their tests are skipped.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from openapi_spec_validator import validate

from config.api.docs import document_bytes
from tests.processes import account_with_key
from tests.system.server import environment_of, gunicorn

HERE = Path(__file__).parent
TOOLS = HERE / "node_modules" / ".bin"
ZIP = "application/zip"  # the generator supports only one type of file
SERVICES = {"platform": "config.urls", "ledger": "ledger.urls"}
PACKAGES = {"platform": "credit_platform_api_client", "ledger": "credit_platform_ledger_client"}
# Disable all telemetry of the tools.
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "CI": "1"}
STRICT = (
    "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "esnext", "--moduleResolution",
    "bundler", "--types", "node",
)  # fmt: skip
CALLS = "12 calls"


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """A folder with both documents and the npm tools."""
    folder = tmp_path_factory.mktemp("clients")
    for name, urlconf in SERVICES.items():
        (folder / f"{name}.json").write_bytes(document_bytes(urlconf))
    if (HERE / "node_modules").exists():
        (folder / "node_modules").symlink_to(HERE / "node_modules")
    return folder


@pytest.mark.parametrize("urlconf", SERVICES.values(), ids=SERVICES)
def test_an_openapi_document_is_valid_openapi_3_1(urlconf):
    document = json.loads(document_bytes(urlconf))
    assert document["openapi"].startswith("3.1")
    validate(document)


@pytest.fixture(scope="module")
def needs_npm():
    if not (TOOLS / "openapi-ts").exists():
        pytest.skip("needs the tools from npm: run `npm ci` in tests/system/clients")


def run(*command, cwd, may_fail=False, **environment):
    """Run a command; return its output. Without `may_fail`, the command must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(cwd), **QUIET, **environment}
    ended = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    printed = ended.stdout + ended.stderr
    assert may_fail or ended.returncode == 0, printed[-4_000:]
    return printed


def generate_python_clients(documents):
    """Generate a Python client for each service; return the output of openapi-python-client by service."""
    (documents / "config.json").write_text(json.dumps({"content_type_overrides": {ZIP: "application/octet-stream"}}))
    return {
        name: run(
            "openapi-python-client", "generate", "--path", f"{name}.json", "--output-path", PACKAGES[name],
            "--meta", "none", "--overwrite", "--config", "config.json", cwd=documents,
        )
        for name in SERVICES
    }  # fmt: skip


def operations_of(documents, name):
    """Return the operation IDs of a service's document."""
    document = json.loads((documents / f"{name}.json").read_text())
    return [operation["operationId"] for path in document["paths"].values() for operation in path.values()]


@pytest.fixture(scope="module")
def server(migrated, tmp_path_factory):
    """The URL of a server, and the API key of an account."""
    folder = tmp_path_factory.mktemp("golden")
    shutil.copyfile(migrated, folder / "own.sqlite3")
    own = f"sqlite:///{folder}/own.sqlite3", folder
    _id, key, _secret = account_with_key(environment_of(*own), "golden")
    with gunicorn(*own) as port:
        yield f"http://127.0.0.1:{port}", key


def test_generated_python_clients_contain_all_operations_and_send_twelve_requests(documents, server):
    for name, printed in generate_python_clients(documents).items():
        assert "warning" not in printed.lower(), printed
        written = {file.stem for file in (documents / PACKAGES[name] / "api").rglob("*.py")} - {"__init__"}
        assert written == set(operations_of(documents, name))
    environment = {"cwd": documents, "PYTHONPATH": str(documents)}
    assert CALLS in run(sys.executable, HERE / "golden.py", *server, **environment)


@pytest.mark.nightly  # mypy needs a minute, so CI only sends twelve requests with the clients
def test_generated_python_clients_pass_strict_type_checks(documents):
    generate_python_clients(documents)
    printed = run(sys.executable, "-m", "mypy", "--strict", *PACKAGES.values(), cwd=documents, may_fail=True)
    errors = [line for line in printed.splitlines() if ": error: " in line]
    assert "source files" in printed
    # Ignore client.py, which is the same for every OpenAPI document.
    generic = tuple(f"{package}/client.py:" for package in PACKAGES.values())
    assert [line for line in errors if not line.startswith(generic)] == []


@pytest.mark.usefixtures("needs_npm")
def test_generated_typescript_clients_have_all_operations_compile_and_send_twelve_requests(documents, server):
    generated, scripts = [], ("golden-sdk.ts", "golden-fetch.ts")
    for name in SERVICES:
        printed = run(TOOLS / "openapi-ts", "-i", f"{name}.json", "-o", f"sdk-{name}", cwd=documents)
        printed += run(TOOLS / "openapi-typescript", f"{name}.json", "-o", f"paths-{name}.ts", cwd=documents)
        assert "warn" not in printed.lower(), printed
        generated += [f"sdk-{name}/index.ts", f"paths-{name}.ts"]
        sdk, types = (documents / f"sdk-{name}" / "sdk.gen.ts").read_text(), (documents / generated[-1]).read_text()
        operations = operations_of(documents, name)
        assert sdk.count("export const ") == len(operations)
        webhooks = json.loads((documents / f"{name}.json").read_text()).get("webhooks", {})
        operations += [item["post"]["operationId"] for item in webhooks.values()]
        assert [operation for operation in operations if f"{operation}: {{" not in types] == []
    for script in scripts:
        shutil.copyfile(HERE / script, documents / script)
    (documents / "package.json").write_text('{"type": "module"}')
    run(TOOLS / "tsc", *STRICT, *generated, *scripts, cwd=documents)
    for script in scripts:
        assert CALLS in run(TOOLS / "tsx", script, *server, cwd=documents)


@pytest.mark.usefixtures("needs_npm")
@pytest.mark.parametrize("name", SERVICES)
class TestLinters:
    """Third-party linters report neither errors nor warnings."""

    def test_redocly_reports_no_problem_in_an_openapi_document(self, documents, name):
        printed = run(TOOLS / "redocly", "lint", f"{name}.json", "--format", "json", cwd=documents)
        document = json.loads(printed[printed.index("{") : printed.rindex("}") + 1])
        assert (document["totals"]["errors"], document["totals"]["warnings"]) == (0, 0), document

    def test_spectral_reports_no_problem_in_an_openapi_document(self, documents, name):
        (documents / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')
        printed = run(TOOLS / "spectral", "lint", "--fail-severity", "hint", f"{name}.json", cwd=documents)
        assert "No results" in printed

"""The programs that use the files in `deploy/` accept these files."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.bench.proxy import nginx, nginx_program, running
from tests.docs.test_deploy_files import DEPLOY, ENV, VALUES, rules
from tests.processes import free_port, run_python
from tests.system.server import exchange, gunicorn, request, status_of

MEBIBYTE = 1 << 20


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_units_in_deploy(tmp_path):
    for file in (DEPLOY / "systemd").glob("creditplatform*.[st]*"):
        if file.suffix in {".service", ".timer"}:
            text = file.read_text().replace("/opt/creditplatform/.venv/bin/gunicorn", "/bin/true")
            text = text.replace("/opt/creditplatform/.venv/bin/python", sys.executable)
            (tmp_path / file.name).write_text(text)
    names = ["creditplatform@8000.service", "creditplatform-ledger.service"]
    names += [f"creditplatform-worker@{name}.service" for name in ("deliver_webhooks", "issue_notices")]
    names += ["creditplatform-worker@process_privacy.service", "creditplatform-ledger-worker@serve_metrics.service"]
    names += [f"creditplatform-job@prune.{kind}" for kind in ("service", "timer")]
    for name in names:
        template = tmp_path / re.sub(r"@[a-z_0-9]+\.", "@.", name)
        if "@" in name and not (tmp_path / name).exists():
            shutil.copyfile(template, tmp_path / name)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in names)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = [line for line in done.stderr.splitlines() if "creditplatform" in line]
    assert (done.returncode, complaints) == (0, [])


def test_each_systemd_unit_restricts_its_process():
    for unit in (DEPLOY / "systemd").glob("*.service"):
        settings = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), flags=re.MULTILINE))
        assert settings["CapabilityBoundingSet"] == "", unit
        assert settings["RestrictAddressFamilies"] == "AF_UNIX AF_INET AF_INET6", unit
        assert {"SystemCallFilter", "MemoryMax", "PrivateDevices", "ProtectKernelTunables"} <= settings.keys(), unit


@pytest.mark.skipif(shutil.which("systemd-sysusers") is None, reason="needs systemd-sysusers")
def test_systemd_creates_a_user_for_each_service():
    file = DEPLOY / "systemd/creditplatform.sysusers.conf"
    done = subprocess.run(["systemd-sysusers", "--dry-run", file], capture_output=True, text=True, check=False)
    assert (done.returncode, "not a valid" in done.stderr) == (0, False), done.stderr


def test_the_compose_file_is_valid():
    validator = ("-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "deploy/compose.yaml")
    done = run_python(os.environ, *validator)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(nginx_program() is None, reason="needs nginx")
def test_nginx_with_the_deployed_configuration_forwards_requests_and_errors(migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "own.sqlite3")
    database = f"sqlite:///{tmp_path}/own.sqlite3"
    with gunicorn(database, tmp_path, TRUSTED_PROXIES="127.0.0.1") as port, nginx(port) as front:
        answer = exchange(front, request("GET", "/v1/health"))
        assert status_of(answer) == 200, answer
        # The platform rejects these bodies unread. If it closed the connection too early, nginx would return 502.
        json_type, large = "Content-Type: application/json", b"x" * (2 * MEBIBYTE - 1)
        for target, content_type, status in (
            ("/v1/auth/token", json_type, 413),
            ("/v1/auth/token", "Content-Type: text/plain", 415),
            ("/v1/applications", json_type, 401),
            ("/v1/nothing", json_type, 404),
        ):
            for _ in range(5):
                answer = exchange(front, request("POST", target, large, content_type))
                assert status_of(answer) == status, answer
                assert b'"code":' in answer


@pytest.mark.skipif(nginx_program() is None, reason="needs nginx")
def test_nginx_limits_an_ipv6_client_by_its_64_bit_network():
    port = free_port()
    networks = re.search(r"(?ms)^map \$remote_addr .*?^\}$", (DEPLOY / "nginx.conf").read_text())[0]
    server = f'server {{ listen 127.0.0.1:{port}; location / {{ return 200 "$client_network"; }} }}'
    with running(f"set_real_ip_from 127.0.0.1;\nreal_ip_header X-Client;\n{networks}\n{server}", port):
        for client, network in (
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:"),
            ("2001:db8:1:2::5", "2001:db8:1:2:"),
            ("2001:db8:1:0:3:4:5:6", "2001:db8:1:0:"),
            ("2001:db8:1::5", "2001:db8:1::"),
            ("2001:db8:1::4:5:6", "2001:db8:1::"),
            ("2001:db8::3:4:5:6", "2001:db8::"),
            ("2001:db8::1", "2001:db8::"),
        ):
            answer = exchange(port, request("GET", "/", b"", f"X-Client: {client}"))
            assert answer.endswith(f"\r\n\r\n{network}".encode()), client


def run_documented_command(name):
    """Run the command in the comment above a setting of the example file; return the words of its output."""
    command = re.search(rf"^# (python3 .+)\n{name}=$", ENV, flags=re.MULTILINE)[1]
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout.split()


def filled_in():
    """Return the example settings with generated secrets and the sandbox's vendors."""
    secrets = ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "DECISION_SIGNING_KEY", "LEDGER_SIGNING_KEY")
    secret_values = {name: run_documented_command(name)[0] for name in secrets}
    secret_values["LEDGER_CLIENT_KEY"], secret_values["LEDGER_API_KEYS"] = run_documented_command("LEDGER_CLIENT_KEY")
    assert hashlib.sha256(secret_values["LEDGER_CLIENT_KEY"].encode()).hexdigest() == secret_values["LEDGER_API_KEYS"]
    trial = dict.fromkeys(("OPEN_BANKING", "CARD_PROCESSOR", "CUSTODY"), "sandbox") | {"ALLOW_SANDBOX": "1"}
    return VALUES | secret_values | trial


def test_a_shell_can_read_the_example_env_file(tmp_path):
    commented = re.sub(r"^#([A-Z_]+=)", r"\1", ENV, flags=re.MULTILINE)
    (tmp_path / "env").write_text(commented)
    printed = subprocess.run(
        ["sh", "-euc", "set -a; . ./env; exec env"], cwd=tmp_path, env={}, capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    assert "PROVIDER_NAME=Credit Platform\n" in printed
    names = set(re.findall(r"^([A-Z_]+)=", commented, flags=re.MULTILINE))
    assert names <= set(re.findall(r"^([A-Z_]+)=", printed, flags=re.MULTILINE))


def test_the_example_env_file_without_secrets_is_rejected(tmp_path):
    done = run_python(VALUES | {"VAR_DIR": str(tmp_path)}, "manage.py", "check", "--deploy")
    assert (done.returncode, len(done.stderr.splitlines())) == (78, 1), done.stderr
    assert "SECRET_KEY" in done.stderr


def test_each_service_passes_its_check_with_its_split_env_file(tmp_path):
    filled = filled_in()
    settings = re.sub(r"^([A-Z_]+)=.*$", lambda line: f"{line[1]}={filled[line[1]]}", ENV, flags=re.MULTILINE)
    settings = settings.replace("#ALLOW_SANDBOX=1", "ALLOW_SANDBOX=1")
    (tmp_path / "env").write_text(settings)
    subprocess.run([str(DEPLOY / "split-env"), str(tmp_path / "env")], check=True)
    for service in ("platform", "worker", "ledger"):
        file = tmp_path / f"{service}.env"
        assert file.stat().st_mode & 0o007 == 0
        values = dict(re.findall(r"^([A-Z_]+)=(.*)$", file.read_text(), flags=re.MULTILINE))
        of = {"SERVICE": "ledger" if service == "ledger" else "platform", "VAR_DIR": str(tmp_path)}
        done = run_python(values | of, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
        assert done.returncode == 0, (service, done.stderr)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_prometheus_accepts_the_alert_rules():
    for command in (["rules", "alerts.yml"], ["config", "prometheus.yml"]):
        done = subprocess.run(["promtool", "check", *command], cwd=DEPLOY, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
@pytest.mark.parametrize(
    ("blocks", "cosigned", "fires"), [(1, False, True), (1, True, False), (0, False, False)],
    ids=["never reached", "reached once", "nothing to cosign yet"],
)  # fmt: skip
def test_prometheus_alert_fires_for_a_witness_that_never_cosigned(tmp_path, blocks, cosigned, fires):
    of = '{instance="a", witness="w"}'
    series = {'platform_ledger_height{instance="a"}': f"{blocks}x180"}
    # The outcome changes from `not_asked` to `silent`.
    series['platform_ledger_witness_refuses{instance="a", outcome="not_asked", witness="w"}'] = "1x30 _x150"
    series['platform_ledger_witness_refuses{instance="a", outcome="silent", witness="w"}'] = "_x30 1x150"
    if cosigned:
        series[f"platform_ledger_witness_cosigned_seconds{of}"] = "60x180"
    alert = next(rule for rule in rules() if rule["alert"] == "WitnessNeverReached")
    expected = {
        "exp_labels": {**alert["labels"], "instance": "a", "witness": "w"},
        "exp_annotations": {"summary": alert["annotations"]["summary"].replace("{{ $labels.witness }}", "w")},
    }
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": "3h", "alertname": alert["alert"], "exp_alerts": [expected] if fires else []}
        ],
    }
    file = tmp_path / "alerts.json"
    file.write_text(json.dumps({"rule_files": [str(DEPLOY / "alerts.yml")], "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Backend(BaseHTTPRequestHandler):
    """Returns 200 for every POST request."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments):
        pass


@pytest.mark.skipif(nginx_program() is None, reason="needs nginx")
@pytest.mark.parametrize(
    ("path", "headers", "admitted"),
    [
        ("/v1/payments/process", ["Authorization: Bearer x"], 160),
        ("/v1/payments/process", ["X-API-Key: x"], 160),
        ("/v1/payments/process", [], 101),
        ("/account/login", ["Authorization: Bearer x"], 41),
        ("/account/oidc/logout", [], 160),
    ],
)
def test_nginx_limits_posts_to_account_pages_and_posts_without_a_credential(path, headers, admitted):
    with ThreadingHTTPServer(("127.0.0.1", 0), Backend) as backend:
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        with nginx(backend.server_port) as port:
            began = time.monotonic()
            statuses = [status_of(exchange(port, request("POST", path, b"{}", *headers))) for _ in range(160)]
            refilled = 10 * (time.monotonic() - began) + 1
        backend.shutdown()
    assert set(statuses) <= {200, 429}
    assert admitted <= statuses.count(200) <= admitted + refilled

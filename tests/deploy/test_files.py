"""What operators copy from `deploy/`: judged by the programs that read it, and held against the program."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from django.core.management import get_commands

from config.docs.pages import library
from config.ops.metrics import Scrape
from tests.bench.proxy import nginx, nginx_program
from tests.config.server import exchange, gunicorn, request, status_of
from tests.documents import ROOT, page
from tests.test_readme import OF_MAKE_RUN, variables

DEPLOY = ROOT / "deploy"
MEBIBYTE = 1 << 20
ENV = (DEPLOY / "env.example").read_text()
VALUES = dict(re.findall(r"^([A-Z][A-Z_]+)=(.*)$", ENV, flags=re.MULTILINE))
# Set for a process by what starts it, or for tests alone.
NOT_THE_OPERATORS = {"SERVICE", "FAULT_POINT", "FAULT_CHANCE", "WEBHOOK_ALLOW_PRIVATE"}


def compose():
    """The services of compose.yaml, by name."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_units(tmp_path):
    for file in (DEPLOY / "systemd").glob("creditplatform*.[st]*"):
        if file.suffix in {".service", ".timer"}:
            text = file.read_text().replace("/opt/creditplatform/.venv/bin/gunicorn", "/bin/true")
            text = text.replace("/opt/creditplatform/.venv/bin/python", sys.executable)
            (tmp_path / file.name).write_text(text)
    names = ["creditplatform@8000.service", "creditplatform-ledger.service"]
    names += [f"creditplatform-worker@{name}.service" for name in ("deliver_webhooks", "serve_metrics")]
    names += [f"creditplatform-job@prune.{kind}" for kind in ("service", "timer")]
    for name in names:
        template = tmp_path / re.sub(r"@[a-z_0-9]+\.", "@.", name)
        if "@" in name:
            shutil.copyfile(template, tmp_path / name)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in names)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = [line for line in done.stderr.splitlines() if "creditplatform" in line]
    assert (done.returncode, complaints) == (0, [])


def test_the_installation_that_is_shown_is_the_one_that_is_described():
    shown = page("operate/install-transcript.md").partition("**The first application")[0]
    typed = re.findall(r"^# (.+)$", shown.partition("\n")[2], flags=re.MULTILINE)
    described = page("operate/install.md").splitlines()
    assert len(typed) > 15
    assert not [command for command in typed if command not in described]


def test_units_and_containers_start_what_is_there():
    units = "".join(file.read_text() for file in (DEPLOY / "systemd").iterdir())
    install = page("operate/install.md")
    named = set(re.findall(r"creditplatform-(?:worker|job)@(\w+)", install))
    always = {
        "deliver_webhooks",
        "reconcile_payments",
        "decide_applications",
        "anchor_decisions",
        "serve_metrics",
        "prune",
    }
    assert always <= named
    assert named <= set(get_commands())
    containers = " ".join(" ".join(one.get("command", [])) for one in compose().values())
    called = set(re.findall(r"manage\.py (\w+)", containers))
    assert {"migrate", "collectstatic", "doctor", "prune", "expire_applications", "serve_metrics"} <= called
    assert called <= set(get_commands())
    for module in ("config.wsgi", "ledger.wsgi"):
        assert module in units
        assert module in containers


def test_compose_mounts_what_is_there():
    mounted = {
        volume.split(":")[0] for one in compose().values() for volume in one.get("volumes", []) if volume[0] == "."
    }
    assert mounted - {"./tls"}
    assert not {path for path in mounted - {"./tls"} if not (DEPLOY / path).exists()}


def test_compose_is_as_its_specification_says():
    judge = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "deploy/compose.yaml"]
    done = subprocess.run(judge, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_inside_compose_the_names_of_the_settings_lead_to_nginx():
    aliases = compose()["nginx"]["networks"]["default"]["aliases"]
    assert [urlsplit(VALUES[name]).hostname for name in ("BASE_URL", "CHAIN_URL")] == aliases
    assert set(re.findall(r"server_name (\S+);", (DEPLOY / "nginx.conf").read_text())) == set(aliases)


def test_the_image_has_the_whole_program():
    steps = (DEPLOY / "Containerfile").read_text()
    copied = set(re.findall(r"^COPY (\w+) \1$", steps, flags=re.MULTILINE))
    assert copied == {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests"} | {"docs"}
    beside = {page.path for page in library(ROOT).pages if "/" not in page.path}
    assert beside <= set(re.search(r"^COPY (manage\.py .*) \./$", steps, flags=re.MULTILINE)[1].split())


BUILDER = shutil.which("podman") or shutil.which("buildah")


def is_at_hand(image):
    """Whether an image is on this machine, or can be fetched to it."""
    had = [BUILDER, "inspect", "--type", "image", image]
    return any(not subprocess.run(ask, capture_output=True, check=False).returncode
               for ask in (had, [BUILDER, "pull", "-q", image]))  # fmt: skip


@pytest.mark.skipif(BUILDER is None, reason="needs podman or buildah")
def test_the_image_can_be_built():
    base = re.search(r"^FROM (\S+)$", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE)[1]
    if not is_at_hand(base):
        pytest.skip(f"{base} is out of reach")
    build = [BUILDER, "build", "--format", "docker", "-f", "deploy/Containerfile", "-t", "creditplatform-test", "."]
    subprocess.run(build, cwd=ROOT, check=True)
    show = [BUILDER, "inspect", "--type", "image", "creditplatform-test"]
    made = json.loads(subprocess.run(show, capture_output=True, text=True, check=True).stdout)
    config = made["Docker"]["config"] if "Docker" in made else made[0] | made[0]["Config"]
    assert config["User"] == "creditplatform"
    assert config["Healthcheck"]["Test"][:2] == ["CMD", "python"]


@pytest.mark.skipif(nginx_program() is None, reason="needs nginx")
def test_nginx_takes_its_file_and_passes_requests_on(migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "own.sqlite3")
    database = f"sqlite:///{tmp_path}/own.sqlite3"
    with gunicorn(database, tmp_path, TRUSTED_PROXIES="127.0.0.1") as port, nginx(port) as front:
        answer = exchange(front, request("GET", "/v1/health"))
        assert status_of(answer) == 200, answer
        # A refusal that is written before the body was read: closed too early, the connection would be a 502.
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


def test_every_setting_is_in_the_example():
    named = set(re.findall(r"^#?([A-Z][A-Z_]+)=", ENV, flags=re.MULTILINE))
    assert named == variables() - OF_MAKE_RUN - NOT_THE_OPERATORS


def made_as_it_says(name):
    """What the command above a setting of the example prints, in words."""
    command = re.search(rf"^# (python3 .+)\n{name}=$", ENV, flags=re.MULTILINE)[1]
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout.split()


def filled_in():
    """The example as an operator fills it in: secrets made as it says, names kept, providers left out for a trial."""
    made = {name: made_as_it_says(name)[0] for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "LEDGER_SIGNING_KEY")}
    made["LEDGER_CLIENT_KEY"], made["LEDGER_API_KEYS"] = made_as_it_says("LEDGER_CLIENT_KEY")
    assert hashlib.sha256(made["LEDGER_CLIENT_KEY"].encode()).hexdigest() == made["LEDGER_API_KEYS"]
    trial = dict.fromkeys(("OPEN_BANKING", "CARD_PROCESSOR", "CUSTODY"), "sandbox") | {"ALLOW_SANDBOX": "1"}
    return VALUES | made | trial


def test_a_shell_can_read_the_example(tmp_path):
    commented = re.sub(r"^#([A-Z_]+=)", r"\1", ENV, flags=re.MULTILINE)
    (tmp_path / "env").write_text(commented)
    printed = subprocess.run(
        ["sh", "-euc", "set -a; . ./env; exec env"], cwd=tmp_path, env={}, capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    assert "PROVIDER_NAME=Credit Platform\n" in printed
    names = set(re.findall(r"^([A-Z_]+)=", commented, flags=re.MULTILINE))
    assert names <= set(re.findall(r"^([A-Z_]+)=", printed, flags=re.MULTILINE))


def test_the_example_with_secrets_starts_and_without_them_says_what_is_missing(tmp_path):
    env = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path)}
    check = [sys.executable, "manage.py", "check", "--deploy"]
    done = subprocess.run(check, cwd=ROOT, env=filled_in() | env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(check, cwd=ROOT, env=VALUES | env, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (78, 1), done.stderr
    assert "SECRET_KEY" in done.stderr


def families(tmp_path):
    """The names of all metrics."""
    lines = Scrape(tmp_path).text().decode().splitlines()
    read = {line.split(" ")[2] for line in lines if line.startswith("# TYPE")}
    counted = {"platform_requests_total", "platform_request_duration_seconds_bucket", "platform_requests_in_flight"}
    of_witnesses = {"platform_ledger_witness_cosigned_seconds", "platform_ledger_witness_refuses"}
    return read | counted | of_witnesses


def test_alerts_and_dashboard_ask_for_metrics_that_are_there(db, tmp_path):
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    alerts = [rule["expr"] for group in groups for rule in group["rules"]]
    panels = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
    asked = set(re.findall(r"platform_\w+", " ".join([*alerts, *(t["expr"] for p in panels for t in p["targets"])])))
    assert len(asked) > 15
    assert asked <= families(tmp_path)
    documented = page("operate/monitoring.md")
    conditions = [one for rule in alerts for one in rule.replace('{job="credit-platform"}', "").split(" or ")]
    assert not [one for one in conditions if f"`{one}`" not in documented]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_prometheus_takes_the_rules():
    for command in (["rules", "alerts.yml"], ["config", "prometheus.yml"]):
        done = subprocess.run(["promtool", "check", *command], cwd=DEPLOY, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_folder_of_this_machine_is_named():
    assert not [file for file in DEPLOY.rglob("*") if file.is_file() and str(Path.home()) + "/" in file.read_text()]

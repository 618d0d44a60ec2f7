"""What operators copy from `deploy/`, held against the program. What reads it judges it in `tests/system/deploy`."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from django.core.management import get_commands

from config.docs.pages import library
from config.ops.metrics import Scrape
from tests.config.test_environments import REAL, SERVED, read
from tests.documents import ROOT, page
from tests.test_readme import OF_MAKE_RUN, variables

DEPLOY = ROOT / "deploy"
ENV = (DEPLOY / "env.example").read_text()
VALUES = dict(re.findall(r"^([A-Z][A-Z_]+)=(.*)$", ENV, flags=re.MULTILINE))
# Set for a process by what starts it, or for tests alone.
NOT_THE_OPERATORS = {"SERVICE", "FAULT_POINT", "FAULT_CHANCE", "WEBHOOK_ALLOW_PRIVATE"}


def compose():
    """The services of compose.yaml, by name."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


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
        "deliver_webhooks", "deliver_mail", "reconcile_payments", "decide_applications", "anchor_decisions",
        "serve_metrics", "prune",
    }  # fmt: skip
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


def test_python_and_postgresql_are_those_of_one_file():
    named = dict(re.findall(r"^(\w+)=(.+)$", (DEPLOY / "versions.env").read_text(), flags=re.MULTILINE))
    images = re.findall(r"^FROM \S+/python:(\S+)-slim-bookworm", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert images == [named["PYTHON"]] * 2
    assert compose()["database"]["image"].endswith(f"/postgres:{named['POSTGRESQL']}-bookworm")
    asked = f"Debian {named['DEBIAN']}, with its Python {named['PYTHON']} and PostgreSQL {named['POSTGRESQL']}"
    assert asked in page("operate/install.md")
    continuous = (ROOT / ".ci" / "run").read_text()
    assert ". deploy/versions.env" in continuous
    assert {"$PYTHON", "$POSTGRESQL"} <= set(re.findall(r"\$[A-Z]+", continuous))
    lowest = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={named["PYTHON"]}"' in lowest


def test_every_setting_is_in_the_example():
    named = set(re.findall(r"^#?([A-Z][A-Z_]+)=", ENV, flags=re.MULTILINE))
    assert named == variables() - OF_MAKE_RUN - NOT_THE_OPERATORS


def test_the_example_of_a_sandbox_starts_and_names_no_provider():
    example = (DEPLOY / "sandbox.env.example").read_text()
    named = set(re.findall(r"^#?([A-Z][A-Z_]+)=", example, flags=re.MULTILINE))
    assert named <= set(re.findall(r"^#?([A-Z][A-Z_]+)=", ENV, flags=re.MULTILINE))
    assert not named & set(REAL)
    values = dict(re.findall(r"^([A-Z][A-Z_]+)=(.*)$", example, flags=re.MULTILINE))
    made = {name: SERVED[name] for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS")}
    found = read(values.pop("ENVIRONMENT"), **values | made)
    assert (found["SANDBOX"], found["BASE_URL"]) == (True, "https://sandbox.api.example/v1")


def families(tmp_path):
    """The names of all metrics."""
    lines = Scrape(tmp_path).text().decode().splitlines()
    read = {line.split(" ")[2] for line in lines if line.startswith("# TYPE")}
    counted = {"platform_requests_total", "platform_request_duration_seconds_bucket", "platform_requests_in_flight"}
    of_witnesses = {"platform_ledger_witness_cosigned_seconds", "platform_ledger_witness_refuses"}
    return read | counted | of_witnesses


def rules():
    """The alerts."""
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_alerts_and_dashboard_ask_for_metrics_that_are_there(db, tmp_path):
    alerts = [rule["expr"] for rule in rules()]
    panels = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
    asked = set(re.findall(r"platform_\w+", " ".join([*alerts, *(t["expr"] for p in panels for t in p["targets"])])))
    assert len(asked) > 15
    assert asked <= families(tmp_path)
    documented = page("operate/monitoring.md")
    conditions = [one for rule in alerts for one in rule.replace('{job="credit-platform"}', "").split(" or ")]
    assert not [one for one in conditions if f"`{one}`" not in documented]


def test_no_folder_of_this_machine_is_named():
    assert not [file for file in DEPLOY.rglob("*") if file.is_file() and str(Path.home()) + "/" in file.read_text()]

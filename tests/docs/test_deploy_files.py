"""Test that the files in `deploy/` match the program. `tests/system/deploy` runs the tools that read the files."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from django.core.management import get_commands

from config.docs.source import NEXT_TO_IT
from config.ops.metrics import Scrape
from tests.config.test_environments import REAL, SERVED, read
from tests.documents import ROOT, page
from tests.test_readme import OF_MAKE_RUN, variables

DEPLOY = ROOT / "deploy"
ENV = (DEPLOY / "env.example").read_text()
VALUES = dict(re.findall(r"^([A-Z][A-Z_]+)=(.*)$", ENV, flags=re.MULTILINE))
# The parent of a process, or only tests, set these variables.
NOT_THE_OPERATORS = {"SERVICE", "FAULT_POINT", "FAULT_CHANCE", "WEBHOOK_ALLOW_PRIVATE"}


def compose():
    """Return the services of compose.yaml, by name."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def test_commands_of_the_install_transcript_are_on_the_install_page():
    shown = page("operate/install-transcript.md").partition("**The first application")[0]
    typed = re.findall(r"^# (.+)$", shown.partition("\n")[2], flags=re.MULTILINE)
    described = page("operate/install.md").splitlines()
    assert len(typed) > 15
    assert not [command for command in typed if command not in described]


def test_install_and_upgrade_pages_have_the_version_of_the_changelog():
    newest = re.search(r"^## (\S+) — ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    assert set(re.findall(r"credit-platform-(\d+\.\d+\.\d+)", page("operate/install.md"))) == {newest}
    upgrade = page("operate/upgrading.md")
    assert set(re.findall(r"credit-platform-(\d+\.\d+\.\d+)\.tar\.gz", upgrade)) == {newest}
    assert f"ln -sfn credit-platform-{newest} /opt/creditplatform" in upgrade


def test_guides_run_collectstatic_for_both_services_before_doctor():
    for name in ["operate/install.md", "operate/upgrading.md"]:
        for block in re.findall(r"^```sh$(.*?)^```$", page(name), flags=re.MULTILINE | re.DOTALL):
            lines = block.splitlines()
            if "manage doctor" in lines:
                collected = lines.index("manage collectstatic --no-input")
                assert lines[collected + 1] == "manage_ledger collectstatic --no-input", name
                assert collected < lines.index("manage doctor"), name


def test_install_commands_create_etc_folders_that_debian_lacks():
    for name in ["operate/install.md", "operate/upgrading.md"]:
        assert not re.findall(r"^cp \S+ /etc/sysusers\.d/", page(name), flags=re.MULTILINE), name


def test_upgrade_page_enables_each_systemd_unit_of_the_installation():
    def enabled(name):
        lines = re.findall(r"^systemctl enable --now (.+)$", page(name), flags=re.MULTILINE)
        return {unit for line in lines for unit in line.split()}

    assert len(enabled("operate/install.md")) > 10
    assert enabled("operate/install.md") <= enabled("operate/upgrading.md")


def test_compose_collects_static_files_of_both_services():
    services = compose()
    for name, folder in (("prepare", "var"), ("prepare-ledger", "ledger")):
        assert "collectstatic" in services[name]["command"][-1]
        assert services[name]["volumes"][0].startswith(f"{folder}:")
    assert "prepare-ledger" in services["ledger"]["depends_on"]


def test_systemd_units_and_containers_start_existing_commands():
    units = "".join(file.read_text() for file in (DEPLOY / "systemd").iterdir())
    install = page("operate/install.md")
    named = set(re.findall(r"creditplatform-(?:(?:ledger-)?worker|job)@(\w+)", install))
    always = {
        "deliver_webhooks", "deliver_mail", "reconcile_payments", "decide_applications", "anchor_decisions",
        "serve_metrics", "prune",
    }  # fmt: skip
    assert always <= named
    assert named <= set(get_commands())
    containers = " ".join(" ".join(item.get("command", [])) for item in compose().values())
    called = set(re.findall(r"manage\.py (\w+)", containers))
    assert {"migrate", "collectstatic", "doctor", "prune", "expire_applications", "serve_metrics"} <= called
    assert called <= set(get_commands())
    for module in ("config.wsgi", "ledger.wsgi"):
        assert module in units
        assert module in containers


SERVICES = {"platform", "worker", "ledger"}


def sections():
    """Return the names of the settings in each service's file, by service."""
    places_by_service = {service: set() for service in SERVICES}
    for section in re.split(r"^# --- ", ENV, flags=re.MULTILINE)[1:]:
        for service in section.partition(":")[0].split(", "):
            places_by_service[service] |= set(re.findall(r"^#?([A-Z][A-Z_]+)=", section, flags=re.MULTILINE))
    return places_by_service


def read_by(*packages):
    """Return the settings of the example file that these packages read."""
    files = [file for package in packages for file in (ROOT / package).rglob("*.py")]
    names = {name for file in files for name in re.findall(r"\bsettings\.([A-Z_]+)", file.read_text())}
    return names & set(re.findall(r"^#?([A-Z][A-Z_]+)=", ENV, flags=re.MULTILINE))


def test_each_service_env_file_has_its_settings_without_keys_of_other_services():
    of = sections()
    # Root runs the ledger commands `backup_manifest` and `make_release`, which read these variables.
    of_root = {"SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "LEDGER_CLIENT_KEY"}
    assert read_by("ledger") - of_root <= of["ledger"]
    for service in ("platform", "worker"):
        assert read_by("credit", "identity", "payments", "claims", "staging") <= of[service]
        assert not of[service] & {"LEDGER_SIGNING_KEY", "LEDGER_GUARD_FILE"}
    secrets = {name for name in of["platform"] if re.search("SECRET|PASSWORD|EMAIL_URL|_KEYS?$", name)}
    assert of["ledger"] & secrets == {"LEDGER_API_KEYS"}, "the digests of keys"


def test_each_systemd_unit_uses_the_user_and_settings_of_one_service():
    users = set(re.findall(r"^u (\S+)", (DEPLOY / "systemd/creditplatform.sysusers.conf").read_text(), re.MULTILINE))
    assert users == {f"creditplatform-{service}" for service in SERVICES}
    served = set()
    for unit in (DEPLOY / "systemd").glob("*.service"):
        text = unit.read_text()
        (user,) = re.findall(r"^User=creditplatform-(\w+)$", text, re.MULTILINE)
        assert re.findall(r"^EnvironmentFile=(.+)$", text, re.MULTILINE) == [f"/etc/creditplatform/{user}.env"]
        assert ("SERVICE=ledger" in text) == (user == "ledger")
        served.add(user)
    assert served == SERVICES
    owners = re.findall(
        r"^d /var/\S+ 07\d\d (\S+)", (DEPLOY / "systemd/creditplatform.tmpfiles.conf").read_text(), re.M
    )
    assert owners == ["creditplatform-platform", "creditplatform-ledger"]


def test_each_container_uses_the_user_and_settings_of_one_service():
    users = {}
    for container in compose().values():
        if "env_file" in container:
            users.setdefault(container["env_file"], set()).add(container["user"])
    assert users == {
        "platform.env": {"10001:10001"}, "worker.env": {"10002:10001"}, "ledger.env": {"10003:10001"},
    }  # fmt: skip


def test_process_privacy_worker_runs_as_the_owner_of_the_files_in_its_folder():
    unit = (DEPLOY / "systemd/creditplatform-worker@process_privacy.service").read_text()
    assert "\nUser=creditplatform-platform\n" in unit
    assert "\nReadWritePaths=/var/lib/creditplatform\n" in unit
    worker = (DEPLOY / "systemd/creditplatform-worker@.service").read_text()
    assert "ReadWritePaths" not in worker
    container = compose()["process-privacy"]
    assert (container["user"], container["env_file"]) == ("10001:10001", "platform.env")


def test_compose_mounts_existing_files():
    mounted = {
        volume.split(":")[0] for item in compose().values() for volume in item.get("volumes", []) if volume[0] == "."
    }
    assert mounted - {"./tls"}
    assert not {path for path in mounted - {"./tls"} if not (DEPLOY / path).exists()}


def test_compose_creates_database_roles_after_migrate_and_before_each_process():
    services = compose()
    assert services["roles"]["command"][-1] == "/roles.sql"
    assert services["roles"]["volumes"] == ["./roles.sql:/roles.sql:ro"]
    assert services["roles"]["depends_on"] == {"prepare": {"condition": "service_completed_successfully"}}
    for name, service in services.items():
        if "env_file" in service and name != "prepare":
            assert service["depends_on"]["roles"] == {"condition": "service_completed_successfully"}, name


def test_compose_resolves_the_configured_host_names_to_nginx():
    aliases = compose()["nginx"]["networks"]["default"]["aliases"]
    assert [urlsplit(VALUES[name]).hostname for name in ("BASE_URL", "CHAIN_URL")] == aliases
    assert set(re.findall(r"server_name (\S+);", (DEPLOY / "nginx.conf").read_text())) == set(aliases)


def test_nginx_serves_both_hosts_over_ipv4_and_ipv6_with_modern_tls():
    servers = re.split(r"^server \{$", (DEPLOY / "nginx.conf").read_text(), flags=re.MULTILINE)[1:]
    assert len(servers) == 2
    for server in servers:
        assert re.findall(r"^    listen (.+);", server, re.MULTILINE) == ["443 ssl", "[::]:443 ssl"]
        assert re.findall(r"^    ssl_protocols (.+);", server, re.MULTILINE) == ["TLSv1.2 TLSv1.3"]


def test_container_image_contains_the_complete_program():
    steps = (DEPLOY / "Containerfile").read_text()
    copied = set(re.findall(r"^COPY (\w+) \1$", steps, flags=re.MULTILINE))
    assert copied == {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests"} | {"docs"}
    beside = {"README.md", *NEXT_TO_IT}
    assert beside <= set(re.search(r"^COPY (manage\.py .*) \./$", steps, flags=re.MULTILINE)[1].split())


def test_deploy_files_use_python_and_postgresql_versions_of_versions_env():
    named = dict(re.findall(r"^(\w+)=(.+)$", (DEPLOY / "versions.env").read_text(), flags=re.MULTILINE))
    images = re.findall(r"^FROM \S+/python:(\S+)-slim-bookworm", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert images == [named["PYTHON"]] * 2
    assert compose()["database"]["image"].endswith(f"/postgres:{named['POSTGRESQL']}-bookworm")
    text = f"Debian {named['DEBIAN']}, with its Python {named['PYTHON']} and PostgreSQL {named['POSTGRESQL']}"
    assert text in page("operate/install.md")
    continuous = (ROOT / ".ci" / "run").read_text()
    assert ". deploy/versions.env" in continuous
    assert {"$PYTHON", "$POSTGRESQL"} <= set(re.findall(r"\$[A-Z]+", continuous))
    lowest = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={named["PYTHON"]}"' in lowest


def test_every_setting_is_in_the_example_env_file():
    named = set(re.findall(r"^#?([A-Z][A-Z_]+)=", ENV, flags=re.MULTILINE))
    assert named == variables() - OF_MAKE_RUN - NOT_THE_OPERATORS


def test_sandbox_example_env_file_starts_without_a_vendor():
    example = (DEPLOY / "sandbox.env.example").read_text()
    named = set(re.findall(r"^#?([A-Z][A-Z_]+)=", example, flags=re.MULTILINE))
    assert named <= set(re.findall(r"^#?([A-Z][A-Z_]+)=", ENV, flags=re.MULTILINE))
    assert not named & set(REAL)
    values = dict(re.findall(r"^([A-Z][A-Z_]+)=(.*)$", example, flags=re.MULTILINE))
    secrets = {name: SERVED[name] for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS")}
    settings_read = read(values.pop("ENVIRONMENT"), **values | secrets)
    assert (settings_read["SANDBOX"], settings_read["BASE_URL"]) == (True, "https://sandbox.api.example/v1")


def families(tmp_path):
    """Return the names of all metrics."""
    lines = Scrape(tmp_path).text().decode().splitlines()
    read = {line.split(" ")[2] for line in lines if line.startswith("# TYPE")}
    counted = {
        "platform_requests_total", "platform_request_duration_seconds_bucket", "platform_requests_in_flight",
        "platform_break_glass_logins_total",
    }  # fmt: skip
    of_witnesses = {"platform_ledger_witness_cosigned_seconds", "platform_ledger_witness_refuses"}
    return read | counted | of_witnesses


def rules():
    """Return the alert rules."""
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_alerts_and_dashboard_query_existing_metrics(db, tmp_path):
    alerts = [rule["expr"] for rule in rules()]
    panels = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
    metric_names = set(
        re.findall(r"platform_\w+", " ".join([*alerts, *(t["expr"] for p in panels for t in p["targets"])]))
    )
    assert len(metric_names) > 15
    assert metric_names <= families(tmp_path)
    section = page("operate/monitoring.md").partition("\n## Alerts\n")[2].partition("\n## ")[0]
    cells = re.findall(r"(?m)^\| ([^|]+) \| [^|]+ \|", section)
    documented = {condition for cell in cells for condition in re.findall("`([^`]+)`", cell)}
    assert documented == {part for rule in alerts for part in rule.split(" or ")}


def test_deploy_files_contain_no_path_of_the_development_machine():
    assert not [file for file in DEPLOY.rglob("*") if file.is_file() and str(Path.home()) + "/" in file.read_text()]

"""Call every management command of the platform, each after the commands that create its records."""

import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from tests.processes import free_port, listens, wait_until
from tests.system.walk.ledger import REPORT
from tests.system.walk.service import WalkFailed

COMMAND_SECONDS = 240
PASSWORD = "a walker walks far"


def environment() -> dict[str, str]:
    """Return the environment of a new user, without variables of the platform's settings."""
    inherited = re.compile(r"PATH|HOME|USER|LANG|LC_.*|TMPDIR|PIP_.*|SSL_.*|.*_PROXY", re.IGNORECASE)
    return {name: value for name, value in os.environ.items() if inherited.fullmatch(name)}


# Runs the command of each line, and prints its exit status, output, and errors as JSON.
INTERPRETER = """
import contextlib, io, json, sys, traceback
sys.stderr = io.StringIO()
import django
from django.core.management import CommandError, call_command
django.setup()
for line in sys.stdin:
    output, status = io.StringIO(), 0
    with contextlib.redirect_stdout(output):
        try:
            call_command(*json.loads(line))
        except SystemExit as end:
            status = end.code or 0
        except CommandError as error:
            status = 1
            print(error, file=sys.stderr)
        except Exception:
            status = 1
            traceback.print_exc()
    print(json.dumps([status, output.getvalue(), sys.stderr.getvalue()]), flush=True)
    sys.stderr.seek(0)
    sys.stderr.truncate()
"""


class Commands:
    """Runs commands in the checkout of `make run`, with the settings of the running services.

    Commands without input share an interpreter, because its start takes longer than most commands.
    """

    def __init__(self, root: Path, settings: dict[str, str]) -> None:
        self.root, self.environment = root, environment() | settings
        self.called: set[str] = set()
        self._interpreter: subprocess.Popen[str] | None = None
        self._started_with: dict[str, str] = {}
        files = subprocess.run(
            ["git", "ls-files", "*/management/commands/*.py"], cwd=root, capture_output=True, text=True, check=True
        )
        self.ours = {Path(name).stem for name in files.stdout.split()} - {"__init__"}
        listed = set(re.findall(r"^    (\w+)$", self._run("help"), re.MULTILINE))
        if missing := sorted(self.ours - listed):
            raise WalkFailed(f"`manage.py help` does not list {', '.join(missing)}.")

    def _run(self, *arguments: str, stdin: str = "") -> str:
        """Run a command in a separate process; return its output."""
        done = subprocess.run(
            [".venv/bin/python", "manage.py", *arguments],
            cwd=self.root, env=self.environment, input=stdin, capture_output=True, text=True, check=False,
            timeout=COMMAND_SECONDS,
        )  # fmt: skip
        return self._check(arguments, done.returncode, done.stdout, done.stderr)

    def _run_in_interpreter(self, *arguments: str) -> str:
        """Run a command in the shared interpreter, which restarts if the settings changed; return its output."""
        if self._interpreter is None or self._started_with != self.environment:
            self.stop()
            self._started_with = dict(self.environment)
            self._interpreter = subprocess.Popen(
                [".venv/bin/python", "-c", INTERPRETER], cwd=self.root,
                env={"DJANGO_SETTINGS_MODULE": "config.settings"} | self.environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        self._interpreter.stdin.write(json.dumps(arguments) + "\n")
        self._interpreter.stdin.flush()
        answer = self._interpreter.stdout.readline() or '[1, "", "The interpreter ended."]'
        return self._check(arguments, *json.loads(answer))

    def _check(self, arguments: tuple[str, ...], status: int, output: str, errors: str) -> str:
        if status or "Traceback" in output + errors:
            raise WalkFailed(f"manage.py {' '.join(arguments)} ended with {status}:\n{(output + errors)[-3000:]}")
        return output

    def stop(self) -> None:
        """Stop the shared interpreter."""
        if self._interpreter is not None:
            self._interpreter.communicate()
            self._interpreter = None

    def call(self, *arguments: str, stdin: str = "") -> dict[str, Any]:
        """Run a command with `--json`; return the object on its last line."""
        arguments = (*arguments, "--json")
        output = self._run(*arguments, stdin=stdin) if stdin else self._run_in_interpreter(*arguments)
        self.called.add(arguments[0])
        answer: dict[str, Any] = json.loads(output.splitlines()[-1])
        return answer

    def print(self, *arguments: str) -> str:
        """Run a command without `--json` in a separate process; return its output."""
        output = self._run(*arguments)
        self.called.add(arguments[0])
        return output

    def fetch(self, path: str, file: Path, service: str = "CHAIN_URL") -> str:
        """Store a response of the ledger, or with BASE_URL of the platform, in a file; return the file name."""
        address = self.environment[service].removesuffix("/v1") + path
        with urllib.request.urlopen(address, timeout=COMMAND_SECONDS) as answer:
            file.write_bytes(answer.read())
        return str(file)

    def scrape_metrics(self) -> None:
        """Run a second `serve_metrics`, request the metrics once, and stop it."""
        port = free_port()
        server = subprocess.Popen(
            [".venv/bin/python", "manage.py", "serve_metrics"],
            cwd=self.root, env=self.environment | {"METRICS_PORT": str(port)}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_until(lambda: listens(port) or server.poll() is not None)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=COMMAND_SECONDS) as answer:
                if b"# TYPE" not in answer.read():
                    raise WalkFailed("serve_metrics returns no metrics.")
        finally:
            server.terminate()
            server.wait(COMMAND_SECONDS)
        self.called.add("serve_metrics")

    def check_complete(self) -> None:
        """Raise WalkFailed if a command was not called."""
        if left := sorted(self.ours - self.called):
            raise WalkFailed(f"No entry in tests/system/walk calls the commands: {', '.join(left)}.")


def policy_key(file: Path) -> str:
    """Return the log's key from a witness policy file."""
    return next(line.split()[1] for line in file.read_text().splitlines() if line.startswith("log "))


def key_of_new_account(commands: Commands, name: str, *options: str) -> str:
    """Create a separate account; return its API key."""
    commands.call("create_user", name, "--password-stdin", *options, stdin=PASSWORD)
    key: str = commands.call("create_api_key", name, "--name", "Walk")["key"]
    return key


def walk(commands: Commands, *, endpoint: str, bundle: dict[str, Any], report_hash: str, folder: Path) -> None:
    """Call every command. Earlier API calls created the webhook endpoint, the decision, and the anchored report."""
    run = commands.call
    run("seed_demo")
    walker = run("create_user", "walker", "--password-stdin", "--group", "Reviewer", "--staff", stdin=PASSWORD)
    run("set_password", "walker", "--password-stdin", stdin=f"{PASSWORD} and back")
    key = run("create_api_key", "walker", "--name", "Walk")
    run("list_api_keys", "--older-than", "0")
    run("revoke_api_key", run("rotate_api_key", key["id"])["id"])
    run("invite", "walker@example.org", "--role", "partner")
    run("create_oauth_client", "Walker", "--redirect-uri", "https://walker.example/back", "--scope", "offers:read")
    run("rotate_webhook_secret", endpoint)
    run("listen", "--account", "demo", "--after", "0", "--once")
    run("reset_second_factor", "walker")
    run("disable_user", "walker")
    for worker in (
        "decide_applications",
        "anchor_decisions",
        "issue_notices",
        "process_privacy",
        "deliver_webhooks",
        "deliver_mail",
        "reconcile_payments",
    ):
        run(worker, "--once")
    for job in ("expire_applications", "stage_bank_accounts", "prune"):
        run(job)
    run("rotate_signing_key")
    run("rotate_record_key")
    run("rotate_encryption_key")
    card, model = "tests/credit/scoring/german/summary.csv", "1"  # the model of the demo
    run("import_scorecard", card, "--model", model, "--user", "walker", "--outcome", "approve=550")
    proof, report = folder / "walker.tlog-proof", folder / "report"
    policy = commands.fetch("/policy", folder / "policy")
    witnessed = "?witnessed=1" if "WITNESS_POLICY" in commands.environment else ""
    commands.environment.setdefault("WITNESS_POLICY", policy)
    run("ask_witnesses", "--once")
    commands.fetch(f"/proof/{report_hash}.tlog-proof{witnessed}", proof)
    report.write_text(REPORT)
    run("verify", str(proof), "--report", str(report), "--policy", policy)
    proof.write_text(commands.print("ledger_proof", report_hash))
    run("verify", str(proof), "--report", str(report))
    key = policy_key(folder / "policy")
    decision = folder / "decision.json"
    decision.write_text(json.dumps(bundle))
    platform = commands.fetch("/.well-known/record-keys.json", folder / "record-keys.json", "BASE_URL")
    run("verify", str(decision), "--ledger-key", key, "--platform-key", platform)
    run("follow_log", commands.environment["CHAIN_URL"], "--key", key, "--once", "--state", str(folder / "head"))
    run("personal_data")
    run("check_vendor", "credit.reports.sandbox:SandboxVendor")
    run("export_evidence", "1@1", "--to", str(folder / "evidence"))
    run("export_subject", str(walker["id"]), "--to", str(folder / "walker.zip"))
    run("erase_subject", "walker")
    (folder / "erasures.jsonl").touch()
    run("apply_erasures", str(folder / "erasures.jsonl"))
    run("verify_ledger")
    with urllib.request.urlopen(
        f"{commands.environment['CHAIN_URL']}/blocks?limit=1", timeout=COMMAND_SECONDS
    ) as answer:
        newest = json.loads(answer.read())["blocks"][0]
    run("adopt_ledger_head", "--size", str(newest["tree_size"]), "--root", newest["root"])
    run("doctor")
    _release(commands, folder)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(run("backup_manifest")))
    run("backup_manifest", "--check", str(manifest))
    commands.print("migrate")
    commands.print("makemigrations", "--check", "--dry-run")
    commands.scrape_metrics()


def _release(commands: Commands, folder: Path) -> None:
    """Create and verify a release of the commit. Its SBOM is minimal: the SBOM tool is a development dependency."""
    subprocess.run(["git", "clone", "--quiet", str(commands.root), str(folder / "tree")], check=True)
    lock = (folder / "tree" / "requirements.txt").read_text()
    packages = re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", lock, re.MULTILINE)
    sbom = folder / "sbom.json"
    listed = [{"name": name, "version": version} for name, version in packages]
    sbom.write_text(json.dumps({"bomFormat": "CycloneDX", "components": listed}))
    arguments = ("--tree", str(folder / "tree"), "--sbom", str(sbom), "--to", str(folder / "dist"))
    response = commands.call("make_release", *arguments)
    commands.call("verify", response["archive"], "--ledger-key", response["key"])

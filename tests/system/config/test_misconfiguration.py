"""Processes with a wrong environment exit with a one-sentence error and without a traceback."""

import os
import secrets
import shutil

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.urls import path

from config import checks, env
from config.webhooks.sandbox_views import SandboxEventViewSet
from tests.processes import free_port, manage, run_python, silent_port

SERVER = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--workers", "2", "--bind", "127.0.0.1:0"]
MAKE_RUN = ["-m", "config.ops.supervisor"]
PRODUCTION = {
    "ENVIRONMENT": "production", "SECRET_KEY": secrets.token_urlsafe(64), "ALLOWED_HOSTS": "api.example",
    "FIELD_ENCRYPTION_KEYS": Fernet.generate_key().decode(), "BASE_URL": "https://api.example/v1",
    "DATABASE_URL": "postgres://dbuser:secret@127.0.0.1:1/none", "CHAIN_URL": "https://ledger.example",
}  # fmt: skip


def run(*command, var_dir, **environment):
    """Run Python with only these variables, except those that are None; return exit status and standard error."""
    values_by_name = {name: value for name, value in environment.items() if value is not None}
    done = run_python({"VAR_DIR": str(var_dir), **values_by_name}, *command)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stderr.strip()


def assert_one_sentence(result, sentence, status=os.EX_CONFIG):
    assert (result[0], result[1].count("\n")) == (status, 0), result
    assert sentence in result[1]


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"VAR_DIR": "/proc/nowhere"}, "VAR_DIR='/proc/nowhere' cannot be written to"),
        (PRODUCTION | {"SECRET_KEY": "hunter2"}, "SECRET_KEY is missing or weak"),
    ],
)
def test_command_with_an_invalid_environment_variable_prints_an_error_of_one_sentence(tmp_path, environment, sentence):
    result = run("manage.py", "prune", **{"var_dir": tmp_path, **environment})
    assert_one_sentence(result, sentence)
    assert "hunter2" not in result[1]


@pytest.mark.parametrize("service", ["platform", "ledger"])
def test_check_deploy_passes_for_valid_sandbox_settings(tmp_path, service):
    check = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert run(*check, var_dir=tmp_path, SERVICE=service, **PRODUCTION | {"ENVIRONMENT": "sandbox"})[0] == 0


@pytest.mark.parametrize("command", [[*SERVER, "config.wsgi"], ["manage.py", "migrate"]])
def test_a_process_with_the_database_of_another_environment_does_not_start(tmp_path, migrated, command):
    shutil.copyfile(migrated, tmp_path / "platform.sqlite3")
    environment = PRODUCTION | {"DATABASE_URL": f"sqlite:///{tmp_path}/platform.sqlite3", "ALLOW_SANDBOX": "1"}
    sentence = "The database 'default' is one of ENVIRONMENT=development, and this is ENVIRONMENT=production."
    assert_one_sentence(run(*command, var_dir=tmp_path, **environment), sentence)


def test_sandbox_route_in_production_fails_the_start_checks(settings):
    pattern = path("sandbox/events", SandboxEventViewSet.as_view({"post": "send"}))
    for settings.ENVIRONMENT, expected in (("development", []), ("sandbox", []), ("production", ["platform.E004"])):
        assert [problem.id for problem in checks.endpoint_problems([pattern])] == expected


def test_a_ledger_without_its_signing_key_prints_the_missing_setting(tmp_path):
    status, error = run(*SERVER, "ledger.wsgi", var_dir=tmp_path, **PRODUCTION, ALLOW_SANDBOX="1")
    assert (status, "LEDGER_SIGNING_KEY is missing: set it" in error) == (os.EX_CONFIG, True)


def test_a_damaged_file_of_secrets_is_reported_and_not_replaced(tmp_path):
    file = tmp_path / "development-secrets.json"
    for content in ("", "{}", "[]", '{"secret_key": "x"}'):
        file.write_text(content)
        with pytest.raises(ImproperlyConfigured, match="is damaged"):
            env.application_secrets(tmp_path, production=False, service="platform")
        assert file.read_text() == content
    assert_one_sentence(run("manage.py", "prune", var_dir=tmp_path), f"{file} is damaged")


def test_development_creates_its_secrets_only_once_with_private_permissions(tmp_path):
    program = "import sys; from config.settings import SECRET_KEY; print(SECRET_KEY, file=sys.stderr)"
    assert len({run("-c", program, var_dir=tmp_path) for _ in range(2)}) == 1
    assert (tmp_path / "development-secrets.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("command", "address"),
    [
        (["migrate"], "postgres://127.0.0.1:{port}/none"),
        (["deliver_webhooks", "--once"], "sqlite:////nowhere/at/all.sqlite3"),
    ],
)
def test_command_with_an_unreachable_database_prints_an_error_of_one_sentence(tmp_path, command, address):
    result = run("manage.py", *command, var_dir=tmp_path, DATABASE_URL=address.format(port=free_port()))
    assert_one_sentence(result, "The database does not respond: ", os.EX_UNAVAILABLE)


def test_server_with_an_invalid_setting_prints_an_error_of_one_sentence(tmp_path):
    result = run(*SERVER, "config.wsgi", var_dir=tmp_path, METRICS="perhaps")
    assert result == (os.EX_CONFIG, "METRICS='perhaps' is neither yes nor no: set it to 1 or 0.")


def test_make_run_with_invalid_settings_or_ports_prints_an_error_of_one_sentence(tmp_path):
    ports = {name: str(free_port()) for name in ("PORT", "LEDGER_PORT", "METRICS_PORT")}
    wrong = run(*MAKE_RUN, var_dir=tmp_path, SETTLEMENT_TOKEN_ADDRESS="usdc", **ports)
    assert_one_sentence(wrong, "SETTLEMENT_TOKEN_ADDRESS='usdc' must be an address", 1)
    with silent_port() as taken:
        result = run(*MAKE_RUN, var_dir=tmp_path, **ports | {"METRICS_PORT": str(taken)})
    in_use = (
        f"Cannot listen on 127.0.0.1:{taken} (Address already in use). Choose another port: make run METRICS_PORT=…"
    )
    assert result == (1, in_use)
    twice = run(*MAKE_RUN, var_dir=tmp_path, **ports | {"LEDGER_PORT": ports["PORT"]})
    must_differ = "PORT, LEDGER_PORT, and METRICS_PORT must differ: choose other ports."
    assert twice == (1, must_differ)


def test_server_with_an_empty_database_prints_an_error_of_one_sentence(tmp_path):
    for command in ([*SERVER, "config.wsgi"], ["manage.py", "deliver_webhooks"]):
        result = run(*command, var_dir=tmp_path)
        sentence = "The database 'default' is empty: run `manage.py migrate --database default` first."
        assert result == (os.EX_CONFIG, sentence)


def test_production_with_development_settings_does_not_start(tmp_path):
    production = PRODUCTION | {
        "ALLOWED_HOSTS": "*", "DATABASE_URL": f"sqlite:///{tmp_path}/platform.sqlite3", "REVIEW_POLICY": "open",
        "BACKOFFICE_SECOND_FACTOR": "0",
    }  # fmt: skip
    status, printed = run(*SERVER, "config.wsgi", var_dir=tmp_path, **production)
    assert status == os.EX_CONFIG, printed
    for name in ("CARD_PROCESSOR", "REVIEW_POLICY=open", "BACKOFFICE_SECOND_FACTOR=0", "ALLOWED_HOSTS=*", "SQLite"):
        assert printed.count(name) == 1


def test_a_process_starts_only_with_the_encryption_key_of_the_stored_values(tmp_path, migrated):
    key, other = (Fernet.generate_key().decode() for _ in range(2))
    environment = {"DATABASE_URL": f"sqlite:///{tmp_path}/platform.sqlite3", "FIELD_ENCRYPTION_KEYS": key}
    shutil.copyfile(migrated, tmp_path / "platform.sqlite3")
    manage({"VAR_DIR": str(tmp_path), **environment}, "rotate_signing_key")
    environment |= {"var_dir": tmp_path, "FIELD_ENCRYPTION_KEYS": other}
    # The ledger is not tested, because it has no encrypted values and reads no key.
    status, printed = run("manage.py", "deliver_webhooks", **environment)
    assert status == os.EX_CONFIG, printed
    assert printed.count("No key in FIELD_ENCRYPTION_KEYS decrypts the stored values of ") == 1
    assert other not in printed
    # With the old key after the new one, the process starts again.
    environment["FIELD_ENCRYPTION_KEYS"] = f"{other},{key}"
    assert run("manage.py", "deliver_webhooks", "--once", **environment)[0] == 0

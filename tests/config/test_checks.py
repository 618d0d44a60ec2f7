"""Start-up: the checks of our own, and a production that refuses what is weak."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.checks import run_checks
from django.urls import get_resolver, path

from config import checks
from config.api.views import ApiViewSet, endpoint
from config.webhooks.sandbox_views import SandboxEventViewSet

ROOT = Path(__file__).resolve().parent.parent.parent


class _Wrong(ApiViewSet):
    """A view with every mistake."""

    def undeclared(self, request):
        """Answer anybody."""

    @endpoint(access="everything")
    def unknown(self, request):
        """Ask for a scope that does not exist."""

    @endpoint(access="any", limit="no-such-limit")
    def unlimited(self, request):
        """Name a limit that does not exist."""

    @endpoint(access="offers:read", limit="read")
    def right(self, request):
        """Make no mistake."""


def problems_of(action, method="get"):
    """Return the ids of what is wrong with one method."""
    found = list(checks.endpoint_problems([path("x", _Wrong.as_view({method: action}))]))
    assert all(problem.hint for problem in found)
    return [problem.id for problem in found]


def test_each_mistake_has_its_id():
    assert problems_of("undeclared") == ["platform.E001"]
    assert problems_of("unknown") == ["platform.E002"]
    assert problems_of("unlimited") == ["platform.E003"]
    assert problems_of("right") == []


def test_the_problem_names_the_place():
    (problem,) = checks.endpoint_problems([path("x/<str:y>", _Wrong.as_view({"get": "undeclared"}))])
    assert "GET /x/<str:y>" in problem.msg
    assert "_Wrong.undeclared" in problem.msg


@pytest.mark.parametrize("environment", ["development", "production"])
def test_the_sandbox_is_refused_outside_development(settings, environment):
    settings.ENVIRONMENT = environment
    pattern = path("sandbox/events", SandboxEventViewSet.as_view({"post": "send"}))
    found = [(problem.id, bool(problem.hint)) for problem in checks.endpoint_problems([pattern])]
    assert found == ([("platform.E004", True)] if environment == "production" else [])


@pytest.mark.slow  # a process
def test_production_has_no_address_of_the_sandbox():
    code = (
        "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'; django.setup()\n"
        "from django.urls import get_resolver\n"
        "from config.checks import routes\n"
        "print([route for route, _ in routes(get_resolver().url_patterns) if route.startswith('v1/sandbox/')])"
    )
    status, printed = production("-c", code)
    assert (status, printed.strip()) == (0, "[]")
    here = [route for route, _ in checks.routes(get_resolver().url_patterns) if route.startswith("v1/sandbox/")]
    assert len(here) == 5


def test_the_project_itself_is_well(settings):
    assert run_checks(tags=["platform"]) == []


def test_service_b_is_well():
    from ledger import urls

    assert list(checks.endpoint_problems(urls.urlpatterns)) == []


# --- Production ----------------------------------------------------------------------------------------------------


CHECK = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
LOAD_SETTINGS = ("-c", "import config.settings")


def production(*command, **changes):
    """Run a command under production with a proper environment, changed; (exit status, what was printed)."""
    env = {
        "PATH": os.environ["PATH"],
        "ENVIRONMENT": "production",
        "SECRET_KEY": secrets.token_urlsafe(64),
        "FIELD_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "DATABASE_URL": "postgres://nobody:secret@127.0.0.1:1/none",
        "ALLOWED_HOSTS": "api.example",
        "BASE_URL": "https://api.example/v1",
        "CHAIN_URL": "https://ledger.example",
    }
    env |= {name: value for name, value in changes.items() if value is not None}
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow  # a process
@pytest.mark.parametrize("service", ["platform", "ledger"])
def test_a_proper_production_has_no_issue(service):
    status, printed = production(*CHECK, SERVICE=service)
    assert status == 0, printed
    assert "System check identified no issues" in printed


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"SECRET_KEY": None}, "SECRET_KEY is missing or weak: set it to at least 50 random characters."),
        ({"SECRET_KEY": "short"}, "SECRET_KEY is missing or weak"),
        ({"SECRET_KEY": "a" * 60}, "SECRET_KEY is missing or weak"),
        ({"SECRET_KEY": "   "}, "SECRET_KEY is missing or weak"),
        ({"FIELD_ENCRYPTION_KEYS": None}, "FIELD_ENCRYPTION_KEYS is missing: set it to one or more Fernet keys"),
        ({"FIELD_ENCRYPTION_KEYS": ","}, "FIELD_ENCRYPTION_KEYS is missing"),
        ({"FIELD_ENCRYPTION_KEYS": "not-a-key"}, "FIELD_ENCRYPTION_KEYS holds a value that is no Fernet key"),
        ({"DATABASE_URL": None}, "DATABASE_URL is missing: set it to postgres://"),
        ({"DATABASE_URL": "mysql://x/y"}, "DATABASE_URL"),
        (
            {"DATABASE_REPLICA_URLS": "sqlite:///:memory:"},
            "DATABASE_REPLICA_URLS needs postgres:// there and in DATABASE_URL.",
        ),
        ({"DATABASE_REPLICA_URLS": "replica.internal"}, "DATABASE_REPLICA_URLS"),
        ({"DATABASE_REPLICA_URLS": "postgres://x:y@127.0.0.1:1/z"}, "REDIS_URL is missing: DATABASE_REPLICA_URLS"),
        ({"TRUSTED_PROXIES": "10.0.0.1,10.0.0.0/8"}, "TRUSTED_PROXIES holds '10.0.0.0/8'"),
        ({"TRUSTED_PROXIES": "*"}, "TRUSTED_PROXIES holds '*'"),
        ({"TRUSTED_PROXIES": "proxy.internal"}, "TRUSTED_PROXIES holds 'proxy.internal'"),
        ({"ALLOWED_HOSTS": None}, "ALLOWED_HOSTS is missing: set it to the host names served"),
        ({"BASE_URL": "http://api.example/v1"}, "BASE_URL='http://api.example/v1' must begin with https://"),
        ({"BASE_URL": "https://api.example"}, "BASE_URL='https://api.example' must end in '/v1'."),
        ({"BASE_URL": None}, "BASE_URL"),
        ({"APP_URL": "http://app.example"}, "APP_URL='http://app.example' must begin with https://"),
        ({"ENVIRONMENT": "prod"}, "ENVIRONMENT='prod' is not known: set it to one of development, production."),
        ({"REVIEW_POLICY": "none"}, "REVIEW_POLICY='none' is not known"),
        ({"DECISIONING": "auto"}, "DECISIONING='auto' is not known"),
        ({"REQUIRE_LISTED_OFFERS": "perhaps"}, "REQUIRE_LISTED_OFFERS='perhaps' is neither yes nor no"),
        ({"LEDGER_CA_FILE": "/nowhere.pem"}, "LEDGER_CA_FILE='/nowhere.pem' is no file"),
        ({"PLATFORM_CA_FILE": "/nowhere.pem"}, "PLATFORM_CA_FILE='/nowhere.pem' is no file"),
        ({"LEDGER_PREVIOUS_URL": "old"}, "LEDGER_PREVIOUS_URL='old' is not an address"),
        ({"STATEMENT_TIMEOUT_SECONDS": "-1"}, "STATEMENT_TIMEOUT_SECONDS='-1' must be a whole number"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(f"{name}={text}" for name, text in value.items()),
)
def test_production_says_what_to_set(changes, sentence):
    status, printed = production(*LOAD_SETTINGS, **changes)
    assert status != 0
    assert sentence in printed


def test_no_secret_is_printed_when_it_is_refused():
    weak = "hunter2" * 3
    _, printed = production(*LOAD_SETTINGS, SECRET_KEY=weak)
    assert weak not in printed
    _, printed = production(*LOAD_SETTINGS, FIELD_ENCRYPTION_KEYS="hunter2")
    assert "hunter2" not in printed


@pytest.mark.slow  # a process
def test_development_makes_its_secrets_once(tmp_path):
    env = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path / "var")}
    program = "import django; django.setup(); from django.conf import settings; print(settings.SECRET_KEY)"
    keys = {
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True, check=True,
            env={**env, "DJANGO_SETTINGS_MODULE": "config.settings"},
        ).stdout
        for _ in range(2)
    }  # fmt: skip
    assert len(keys) == 1
    assert (tmp_path / "var" / "development-secrets.json").stat().st_mode & 0o077 == 0

"""Test the settings and the behavior of the development, sandbox, and production environments."""

import base64
import re
import runpy
import secrets
import tempfile

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from config.checks import routes
from config.core.databases import database_of
from config.core.seeds import read_seed
from config.docs.views import _demo
from config.ops.checks import check_installation, check_production, require_at_start
from config.ops.models import Installation
from credit.api.commerce.discovery import switched_on
from identity.access import keys
from identity.access.tokens import InvalidToken
from identity.kyc.services import _next_possible_at
from identity.models import KycVerification
from ledger.access import MayUseLedger
from tests.processes import ROOT

ENVIRONMENTS = ("development", "sandbox", "production")
SERVED = {
    "SECRET_KEY": secrets.token_urlsafe(64), "FIELD_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    "DATABASE_URL": "postgres://nobody:secret@127.0.0.1:1/none", "ALLOWED_HOSTS": "api.example",
    "BASE_URL": "https://api.example/v1", "CHAIN_URL": "https://ledger.example",
}  # fmt: skip
REAL = {
    "STRIPE_SECRET_KEY": "sk_test_x", "STRIPE_WEBHOOK_SECRET": "whsec_x", "PLAID_CLIENT_ID": "x", "PLAID_SECRET": "x",
    "CIRCLE_API_KEY": "x", "CIRCLE_ENTITY_SECRET": "0" * 64, "CIRCLE_WALLET_SET_ID": "x",
    "SETTLEMENT_RPC_URL": "https://node.example/key", "CARD_PROCESSOR": "stripe", "OPEN_BANKING": "plaid",
    "CUSTODY": "circle",
}  # fmt: skip

# Each setting has its values in development, in a sandbox, and in production.
SETTINGS = {
    "PRODUCTION": (False, True, True),
    "SANDBOX": (False, True, False),
    "REVIEW_POLICY": ("open", "four_eyes", "four_eyes"),
    "PROVIDERS": ("open", "granted", "granted"),
    "SIGN_UP": ("open", "invited", "invited"),
    "PAYMENT_METHODS": ("documented", "persistent", "persistent"),
    "ANCHOR_DECISIONS": (True, False, False),
    "BACKOFFICE_SECOND_FACTOR": (False, True, True),
    "ACCESS_LOG": (False, True, True),
    "API_KEY_PREFIX": ("ck_test_", "ck_test_", "ck_live_"),
    "EMAIL_BACKEND": ("config.mail.development.EmailBackend", "", ""),
    "WHITENOISE_USE_FINDERS": (True, False, False),
    "SECURE_HSTS_SECONDS": (None, 63_072_000, 63_072_000),
    "SESSION_COOKIE_SECURE": (None, True, True),
    "CSRF_COOKIE_SECURE": (None, True, True),
    "DEBUG": (False, False, False),
    "CARD_PROCESSOR": ("sandbox",) * 3,
    "OPEN_BANKING": ("sandbox",) * 3,
    "CUSTODY": ("sandbox",) * 3,
    "SETTLEMENT_RPC_URL": ("",) * 3,
}


def read(environment, **variables):
    """Read the settings of an environment from variables; None unsets a variable."""
    fields = {"ENVIRONMENT": environment, **(SERVED if environment != "development" else {}), **variables}
    with pytest.MonkeyPatch.context() as here, tempfile.TemporaryDirectory() as folder:
        for name, value in {**dict.fromkeys(SERVED), "EMAIL_URL": "", **fields, "VAR_DIR": folder}.items():
            here.setenv(name, value or "")
        return runpy.run_path(str(ROOT / "config/settings.py"))


@pytest.fixture(scope="module")
def of_each():
    """Return the settings of each environment, by its name."""
    return {environment: read(environment) for environment in ENVIRONMENTS}


@pytest.fixture(params=ENVIRONMENTS)
def here(request, of_each, settings):
    """Apply the settings that differ in an environment; return its name."""
    environment_values = of_each[request.param]
    for name in ("ENVIRONMENT", *SETTINGS):
        if name in environment_values:
            setattr(settings, name, environment_values[name])
    return request.param


def by_environment(**answers):
    return lambda environment: answers[environment]


def test_each_setting_has_its_documented_value_in_each_environment(of_each):
    for name, values in SETTINGS.items():
        assert tuple(of_each[environment].get(name) for environment in ENVIRONMENTS) == values, name


def test_sandbox_environment_rejects_settings_of_real_vendors_without_printing_their_values():
    assert read("sandbox", REPORTS="off")["REPORTS"] == "off"
    for name in ["STRIPE_SECRET_KEY", "CUSTODY"]:
        with pytest.raises(ImproperlyConfigured) as refused:
            read("sandbox", **{name: REAL[name]})
        assert (
            str(refused.value)
            == f"{name} is set: ENVIRONMENT=sandbox supports only built-in vendors. Unset these variables."
        )
    with pytest.raises(ImproperlyConfigured) as refused:
        read("sandbox", **REAL)
    assert set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", str(refused.value))) == {*REAL} - {"CUSTODY"}
    assert "sk_test_x" not in str(refused.value)
    read("sandbox", CARD_PROCESSOR="sandbox", CUSTODY="sandbox", OPEN_BANKING="sandbox", STRIPE_SECRET_KEY="")


def test_sandbox_and_development_urls_exist_only_in_their_environments(here):
    routes_found = [route for route, _ in routes(runpy.run_path(str(ROOT / "config/urls.py"))["urlpatterns"])]
    sandbox = [route for route in routes_found if route.startswith("v1/sandbox/")]
    assert len(sandbox) == by_environment(development=4, sandbox=4, production=0)(here)
    assert ("dev/mail" in routes_found) == (here == "development")


@pytest.mark.django_db
def test_identity_verification_attempts_are_limited_only_in_production(here, user):
    now = timezone.now()
    for attempt in range(1, 4):
        KycVerification.objects.create(
            user=user, attempt=attempt, status="failed", provider="sandbox", provider_reference=f"x-{attempt}",
            provider_status="failed", steps={}, expires_at=now, refreshed_at=now, completed_at=now, created_at=now,
            updated_at=now,
        )  # fmt: skip
    assert (_next_possible_at(user, now) is None) == (here != "production")


def test_built_in_vendors_are_listed_as_capabilities_only_outside_of_production(here):
    assert ("payments" in switched_on()) == (here != "production")


def test_error_for_an_api_key_of_another_environment_states_the_environment(here, settings):
    theirs = "ck_test_" if settings.API_KEY_PREFIX == "ck_live_" else "ck_live_"
    kinds = "development or sandbox" if theirs == "ck_test_" else "production"
    with pytest.raises(InvalidToken) as refused:
        keys.check_profile(f"{theirs}x")
    assert str(refused.value).startswith(f"This is a key for {kinds} ({theirs}…). Send a key")
    keys.check_profile(f"{settings.API_KEY_PREFIX}x")


def test_production_ledger_requires_authorized_writers(here, rf):
    class View:
        class declared:  # noqa: N801
            access, body = "identity:write", object()

    request = rf.post("/anchor")
    request.auth = None
    asks = MayUseLedger().has_permission
    if here == "development":
        assert asks(request, View)
    else:
        with pytest.raises(Exception, match="bearer token or an API key"):
            asks(request, View)


@pytest.mark.parametrize("command", [["seed_demo"], ["listen", "--account", "x", "--once"]])
@pytest.mark.django_db
def test_production_rejects_development_settings(here, command, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    if here != "development":
        with pytest.raises(CommandError, match=r"does not run in production|is for development"):
            call_command(*command)


def test_production_does_not_show_the_demo_key(here, rf, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    (tmp_path / "demo.json").write_text('{"api_key": "x"}')
    shown = _demo(rf.get("/v1/docs/try", HTTP_HOST="127.0.0.1", REMOTE_ADDR="127.0.0.1"))
    assert bool(shown) == (here == "development")


def test_use_of_built_in_vendors_is_reported_only_in_production(here, settings, monkeypatch):
    for database in settings.DATABASES.values():
        monkeypatch.setitem(database, "ENGINE", "django.db.backends.postgresql")
    settings.ALLOWED_HOSTS, settings.ALLOW_SANDBOX = ["api.example"], False
    said = [str(message.msg) for message in check_production()]
    assert any("vendors are simulated" in item for item in said) == (here == "production")
    assert here == "production" or said == [{"development": "development"}.get(here, "set for a sandbox")]


# Files that read the environment where the production profile (settings.PRODUCTION) is not enough. If you add a file,
# decide its behavior in a sandbox, and cover it by a test above.
ASKS = {
    "config/checks.py", "config/urls.py", "config/ops/checks.py",
    "config/ops/migrations/0001_initial.py", "identity/kyc/services.py",
}  # fmt: skip


def test_only_listed_files_depend_on_the_environment_setting():
    apps = ("config", "identity", "credit", "claims", "payments", "staging", "ledger")
    texts = {
        str(file.relative_to(ROOT))
        for app in apps
        for file in (ROOT / app).rglob("*.py")
        if "settings.ENVIRONMENT" in file.read_text()
    }
    assert texts == ASKS


@pytest.mark.django_db
class TestEnvironmentOfADatabase:
    @pytest.fixture(params=ENVIRONMENTS)
    def theirs(self, request):
        Installation.objects.update(kind=request.param)
        return request.param

    @pytest.fixture(params=ENVIRONMENTS)
    def ours(self, request, settings):
        settings.ENVIRONMENT = request.param
        return request.param

    def test_installation_table_has_one_row_with_the_environment_of_the_first_migration(self):
        assert [str(item) for item in Installation.objects.all()] == ["development"]
        for columns in ({"id": 2, "kind": "sandbox"}, {"id": 1, "kind": "sandbox"}):
            with pytest.raises(IntegrityError), transaction.atomic():
                Installation.objects.create(**columns)
        with pytest.raises(IntegrityError), transaction.atomic():
            Installation.objects.update(kind="staging")

    def test_no_process_starts_on_a_database_of_another_environment(self, ours, theirs):
        if ours == theirs:
            require_at_start()
            return
        with pytest.raises(ImproperlyConfigured) as refused:
            require_at_start()
        sentence = f"The database 'default' is one of ENVIRONMENT={theirs}, and this is ENVIRONMENT={ours}."
        assert str(refused.value).startswith(sentence)

    def test_migrate_rejects_a_database_of_another_environment(self, ours, theirs):
        if ours != theirs:
            with pytest.raises(ImproperlyConfigured, match=f"one of ENVIRONMENT={theirs}"):
                call_command("migrate", verbosity=0)

    def test_a_database_without_tables_is_accepted_in_every_environment(self, settings, monkeypatch):
        settings.ENVIRONMENT = "production"
        monkeypatch.setattr(connection.introspection, "table_names", lambda *_: [])
        assert [message.msg for message in check_installation(["default"])] == ["production"]


def test_signing_key_of_records_is_required_outside_of_development(here, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    ask = lambda base: read_seed("X_KEY", base, without="", file_name="x", damaged="")  # noqa: E731
    assert len(ask(base64.b64encode(bytes(range(32))).decode())) == 32
    if here == "development":
        assert len(ask("")) == 32
    else:
        with pytest.raises(ImproperlyConfigured, match="X_KEY is missing"):
            ask("")


DATABASE_URLS = [
    ("sqlite:////srv/a+b%20c/d.sqlite3", {"NAME": "/srv/a+b c/d.sqlite3"}),
    ("sqlite://:memory:", {"NAME": ":memory:"}),
    ("postgresql://u:p%40ss@db/name", {"USER": "u", "PASSWORD": "p@ss", "HOST": "db", "PORT": "", "NAME": "name"}),
    ("postgres://u@[::1]:6432/name", {"HOST": "::1", "PORT": "6432"}),
    ("postgres://u@one:1,two:2/name", {"HOST": "one,two", "PORT": "1,2"}),
]


def test_database_url_is_parsed_into_the_database_settings():
    for address, parts in DATABASE_URLS:
        assert database_of(address, statement_timeout_seconds=0).items() >= parts.items(), (address, parts)


def test_error_for_a_malformed_database_url_omits_its_password():
    for address in ["sqlite://host/name", "postgres://u:pa%ss@db/name", "postgres://db:x/name"]:
        with pytest.raises(ImproperlyConfigured, match="is not a postgres:// or sqlite:/// URL") as caught:
            database_of(address, statement_timeout_seconds=0)
        assert caught.value.__context__ is None or "pa%ss" not in str(caught.value.__context__), address

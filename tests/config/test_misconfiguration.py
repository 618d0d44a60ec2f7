"""Test that one sentence names a wrong setting. `tests/system/config` tests the output of the processes."""

import runpy

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.core import faults
from tests.config.test_environments import read
from tests.payments.wallet_support import ADDRESS, MISTYPED_ADDRESS


def refusal_of(environment, variable, value):
    """Return the error of an environment's settings for a variable."""
    with pytest.raises(ImproperlyConfigured) as refused:
        read(environment, **{variable: value})
    return str(refused.value)


IN_DEVELOPMENT = [
    ("ENVIRONMENT", "prod", "ENVIRONMENT='prod' is not known: set it to one of development, sandbox, production."),
    ("BASE_URL", "http://[::1/v1", "BASE_URL='http://[::1/v1' is not a URL"),
    ("CHAIN_URL", "http://127.0.0.1:99999", "CHAIN_URL='http://127.0.0.1:99999' is not a URL"),
    ("REDIS_URL", "127.0.0.1:6379", "REDIS_URL is not a URL such as redis://"),
    ("METRICS_PORT", "70000", "METRICS_PORT='70000' must be a whole number of at least 1 and at most 65535."),
    ("WEBHOOK_LEASE_SECONDS", "9" * 5_000, "must be a whole number of at least 1 and at most 2147483."),
    ("FIELD_ENCRYPTION_KEYS", "é", "FIELD_ENCRYPTION_KEYS contains an invalid Fernet key"),
    ("DATABASE_URL", "postgres://db.internal:5432/", "DATABASE_URL has no database name"),
    ("DATABASE_URL", "postgres://db.internal:port/name", "DATABASE_URL is not a postgres:// or sqlite:///"),
    ("DATABASE_URL", "postgres://db/x?connect_timeout=soon", "connect_timeout='soon' must be a whole number."),
    ("LEDGER_DATABASE_URL", "oracle://db/x", "LEDGER_DATABASE_URL must begin with postgres:// or sqlite:///."),
    ("LEDGER_API_KEYS", "the-key-itself", "LEDGER_API_KEYS must be SHA-256 digests of keys"),
    ("SETTLEMENT_RPC_URL", "http://[", "SETTLEMENT_RPC_URL is not a URL"),
    ("SETTLEMENT_NETWORK", "solana", "SETTLEMENT_NETWORK must be eip155:<chain id> or one of ethereum, "),
    ("SETTLEMENT_NETWORK", "eip155:0", "SETTLEMENT_NETWORK must be eip155:<chain id>"),
    ("SETTLEMENT_TOKEN_ADDRESS", MISTYPED_ADDRESS, "has a wrong EIP-55 checksum"),
    ("SETTLEMENT_TOKEN_ADDRESS", "usdc", "must be an address: 0x and 40 hex digits"),
    ("DOCUMENT_STORAGE", "documents", "DOCUMENT_STORAGE='documents' must be an absolute folder"),
    ("DOCUMENT_STORAGE", "s3://", "DOCUMENT_STORAGE='s3://' has no bucket"),
    ("DOCUMENT_STORAGE", "s3://lender-documents/x", "pip install 'django-storages[s3]'"),
    ("DOCUMENT_SCANNER", "127.0.0.1:3310", "DOCUMENT_SCANNER='127.0.0.1:3310' must be a URL such as clamd://"),
    ("DOCUMENT_SCANNER", "clamd://127.0.0.1", "must be a URL such as clamd://127.0.0.1:3310"),
    ("DOCUMENT_SCANNER", "clamd://127.0.0.1:port", "must be a URL such as clamd://127.0.0.1:3310"),
    ("ACCESS_LOG", "sometimes", "ACCESS_LOG='sometimes' is neither yes nor no"),
    ("REVIEW_POLICY", "none", "REVIEW_POLICY='none' is not known"),
    ("DECISIONING", "auto", "DECISIONING='auto' is not known"),
    ("REQUIRE_LISTED_OFFERS", "perhaps", "REQUIRE_LISTED_OFFERS='perhaps' is neither yes nor no"),
    ("LEDGER_CA_FILE", "/nowhere.pem", "LEDGER_CA_FILE='/nowhere.pem' must be a file"),
    ("PLATFORM_CA_FILE", "/nowhere.pem", "PLATFORM_CA_FILE='/nowhere.pem' must be a file"),
    ("LEDGER_PREVIOUS_URL", "old", "LEDGER_PREVIOUS_URL='old' is not a URL"),
    ("STATEMENT_TIMEOUT_SECONDS", "-1", "STATEMENT_TIMEOUT_SECONDS='-1' must be a whole number"),
    ("OPEN_BANKING", "other", "OPEN_BANKING"),
    ("OPEN_BANKING", "plaid", "PLAID_BASE_URL is missing"),
    ("PLAID_BASE_URL", "p.example", "PLAID_BASE_URL"),
    ("STAFF_OIDC", "issuer.example", "STAFF_OIDC is not a URL such as https://client:secret@issuer.example"),
    ("STAFF_OIDC", "https://issuer.example", "STAFF_OIDC must contain client and secret"),
    ("STAFF_OIDC", "https://a:b@issuer.example?x=1", "remove the query and the fragment"),
    ("STAFF_OIDC", "https://a:b@issuer.example", "STAFF_OIDC requires STAFF_OIDC_GROUPS."),
    ("STAFF_OIDC_GROUPS", "admins", "STAFF_OIDC_GROUPS contains 'admins'. Write issuer-group=Reviewer"),
    ("STAFF_OIDC_GROUPS", "admins=Superuser", "'Superuser', which must be one of Reviewer, Support, Operations."),
    ("STAFF_OIDC_GROUPS", "a=Reviewer,a=Support", "STAFF_OIDC_GROUPS maps 'a' twice"),
    ("STAFF_OIDC_GROUPS", "a=Reviewer", "STAFF_OIDC_GROUPS has no effect without STAFF_OIDC"),
    ("STAFF_PASSWORDS", "0", "STAFF_PASSWORDS=0 locks all staff out: set STAFF_OIDC as well."),
    ("STAFF_PASSWORDS", "never", "STAFF_PASSWORDS='never' is neither yes nor no"),
    ("STAFF_BREAK_GLASS", "glass", "STAFF_BREAK_GLASS has no effect while staff have passwords"),
    ("PLAID_COUNTRY_CODES", "US, Canada", "PLAID_COUNTRY_CODES"),
]


def test_invalid_environment_variable_error_in_development_contains_the_name():
    for variable, value, sentence in IN_DEVELOPMENT:
        said = refusal_of("development", variable, value)
        assert "\n" not in said, (variable, value, sentence)
        assert sentence in said, (variable, value, sentence)


@pytest.mark.parametrize("environment", ["sandbox", "production"])
@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("SECRET_KEY", None, "SECRET_KEY is missing or weak: set it to at least 50 random characters."),
        ("SECRET_KEY", "hunter2", "SECRET_KEY is missing or weak"),
        ("SECRET_KEY", "a" * 60, "SECRET_KEY is missing or weak"),
        ("SECRET_KEY", "   ", "SECRET_KEY is missing or weak"),
        ("FIELD_ENCRYPTION_KEYS", None, "FIELD_ENCRYPTION_KEYS is missing: set it to one or more Fernet keys"),
        ("FIELD_ENCRYPTION_KEYS", ",", "FIELD_ENCRYPTION_KEYS is missing"),
        ("FIELD_ENCRYPTION_KEYS", "hunter2", "FIELD_ENCRYPTION_KEYS contains an invalid Fernet key"),
        ("DATABASE_URL", None, "DATABASE_URL is missing: set it to postgres://"),
        ("DATABASE_URL", "mysql://x/y", "DATABASE_URL"),
        ("TRUSTED_PROXIES", "10.0.0.1,10.0.0.1/8", "TRUSTED_PROXIES contains '10.0.0.1/8'"),
        ("TRUSTED_PROXIES", "0.0.0.0/0", "TRUSTED_PROXIES contains '0.0.0.0/0'"),
        *(
            ("TRUSTED_PROXIES", text, f"TRUSTED_PROXIES contains '{text}'")
            for text in (
                "::/0",
                "2001:db8::/129",
                "2001:db8::1/64",
                "[2001:db8::1]",
                "2001:db8:::1",
                "2001:db8::g",
                "2001:db8::/-1",
                "1:2:3:4:5:6:7:8:9",
                "::1::",
                "2001:db8::/ffff::",
                "fd00::5:http",
            )
        ),
        ("REVIEW_POLCY", "open", "Did you mean REVIEW_POLICY?"),
        ("TRUSTED_PROXIES", "*", "TRUSTED_PROXIES contains '*'"),
        ("TRUSTED_PROXIES", "proxy.internal", "TRUSTED_PROXIES contains 'proxy.internal'"),
        ("ALLOWED_HOSTS", None, "ALLOWED_HOSTS is missing: set it to the host names served"),
        *(
            ("ALLOWED_HOSTS", host, "ALLOWED_HOSTS must be host names")
            for host in ("https://a.example", "a.example:443", "a b")
        ),
        *(
            ("EMAIL_FROM", sender, "EMAIL_FROM must be an email")
            for sender in ("bad bad<", "a@b@c.example", "name", "A <a@")
        ),
        ("BASE_URL", "http://api.example/v1", "BASE_URL='http://api.example/v1' must begin with https://"),
        ("BASE_URL", "https://api.example", "BASE_URL='https://api.example' must end in '/v1'."),
        ("BASE_URL", None, "BASE_URL"),
        ("APP_URL", "http://app.example", "APP_URL='http://app.example' must begin with https://"),
        (
            "PRIVACY_POLICY_URL",
            "http://www.example/privacy",
            "PRIVACY_POLICY_URL='http://www.example/privacy' is not a",
        ),
        (
            "TERMS_URL",
            "www.example/terms",
            "TERMS_URL='www.example/terms' is not a URL such as https://www.example/page.",
        ),
        ("SETTLEMENT_RPC_URL", "ws://node.example/hunter2", "SETTLEMENT_RPC_URL"),
        ("STAFF_OIDC", "http://client:hunter2@issuer.example", "STAFF_OIDC must begin with https://"),
        ("STAFF_OIDC", "https://:hunter2@issuer.example", "STAFF_OIDC must contain client and secret"),
        ("FAULT_POINT", "charged", "FAULT_POINT kills processes"),
        ("WEBHOOK_ALLOW_PRIVATE", "1", "WEBHOOK_ALLOW_PRIVATE"),
    ],
)
def test_invalid_environment_variable_error_in_production_omits_the_secret(environment, variable, value, sentence):
    said = refusal_of(environment, variable, value)
    assert "\n" not in said
    assert sentence in said
    assert "hunter2" not in said


def test_error_for_a_malformed_fault_chance_contains_the_setting_name(monkeypatch):
    monkeypatch.setenv("FAULT_CHANCE", "often")
    with pytest.raises(ImproperlyConfigured, match="FAULT_CHANCE must be a number"):
        runpy.run_path(faults.__file__)


def test_settlement_token_address_is_accepted_in_any_case():
    for address in [ADDRESS, ADDRESS.lower(), f"0x{ADDRESS[2:].upper()}"]:
        assert read("development", SETTLEMENT_TOKEN_ADDRESS=address)["SETTLEMENT_TOKEN_ADDRESS"], address


HOSTS = [
    ({"BASE_URL": "http://[2001:db8::5]:8000/v1"}, ["localhost", "127.0.0.1", "[::1]", "[2001:db8::5]"]),
    ({"ALLOWED_HOSTS": "2001:DB8:0::5, [::1], api.example, .example, *, a_b, 10.0.0.1"},
     ["[2001:db8::5]", "[::1]", "api.example", ".example", "*", "a_b", "10.0.0.1"]),
]  # fmt: skip


@pytest.mark.parametrize("sender", ["no-reply@api.example", "Bank of Ada <no-reply@api.example>", "ñ@xn--a.example"])
def test_mail_sender_setting_can_contain_a_display_name(sender):
    assert read("development", EMAIL_FROM=sender)["DEFAULT_FROM_EMAIL"] == sender


def test_ipv6_addresses_are_accepted_with_or_without_brackets():
    for variables, hosts in HOSTS:
        assert read("development", **variables)["ALLOWED_HOSTS"] == hosts, (variables, hosts)
    for host in ["::1", "[::1]"]:
        assert read("development", METRICS_HOST=host)["METRICS_HOST"] == "::1", host


def test_staff_oidc_settings_are_parsed_completely():
    settings_read = read(
        "production",
        STAFF_OIDC="https://client%3A1:s%2Fecret@issuer.example:8443/realms/staff/",
        STAFF_OIDC_GROUPS="cn=b=Reviewer, idp support=Support",
        STAFF_BREAK_GLASS="glass",
    )
    assert settings_read["STAFF_OIDC"] == ("https://issuer.example:8443/realms/staff/", "client:1", "s/ecret")
    assert settings_read["STAFF_OIDC_GROUPS"] == {"cn=b": "Reviewer", "idp support": "Support"}
    assert (settings_read["STAFF_PASSWORDS"], settings_read["STAFF_BREAK_GLASS"]) == (False, "glass")

"""Test the business profile and the enabled capabilities of GET {host_root}/.well-known/ucp."""

import pytest

from credit.api.commerce.discovery import switched_on
from identity.access import signing_keys
from identity.models import SigningKey
from tests.credit.commerce import judge
from tests.credit.commerce.support import VERSION

pytestmark = pytest.mark.django_db
PATH = "/.well-known/ucp"
ALWAYS = {
    "accounts", "api_keys", "applications", "bank_data", "catalog", "claims", "documents", "identity",
    "invitations", "oauth", "offers",
    "payments", "quotes", "scoring", "signed_requests", "staging", "wallets", "webhooks", "crypto_payments",
}  # fmt: skip


@pytest.fixture
def document(anonymous):
    """Return the profile as an anonymous caller reads it."""
    return anonymous.read(PATH).json()


def test_ucp_json_schemas_reject_an_empty_profile():
    if not judge.has_schemas():
        pytest.skip(judge.ABSENT)
    assert judge.by_schema(judge.PROFILE[0], {}) != []


def test_ucp_profile_is_valid_and_lists_the_endpoint_and_the_capabilities(document, settings):
    assert judge.complaints(judge.PROFILE, document) == []
    profile = document["ucp"]
    assert profile["version"] == VERSION
    (service,) = profile["services"]["dev.ucp.shopping"]
    assert (service["transport"], service["endpoint"]) == ("rest", f"{settings.BASE_URL}/ucp")
    assert set(profile["capabilities"]) == {"dev.ucp.shopping.catalog.search", "dev.ucp.shopping.catalog.lookup"}
    assert {capability["version"] for (capability,) in profile["capabilities"].values()} == {VERSION}
    assert profile["payment_handlers"] == {}


def test_api_serves_every_operation_of_the_ucp_profile(document, api, settings):
    endpoint = document["ucp"]["services"]["dev.ucp.shopping"][0]["endpoint"].removeprefix(settings.HOST_ROOT)
    for operation, body in (("search", {}), ("lookup", {"ids": ["1"]}), ("product", {"id": "1"})):
        assert api.send(f"{endpoint}/catalog/{operation}", body).status_code == 200


class TestMutants:
    """The validators find an error in each changed profile."""

    def test_profile_validator_detects_an_invalid_version_or_a_missing_field(self, document):
        for version in ("ucp/1.0", "2026-8-25", "", "latest", None):
            changed = {**document, "ucp": {**document["ucp"], "version": version}}
            assert judge.complaints(judge.PROFILE, changed)
            assert judge.by_models(judge.PROFILE[1], changed)
        for member in ("services", "payment_handlers"):
            less = {name: value for name, value in document["ucp"].items() if name != member}
            assert judge.by_models(judge.PROFILE[1], {**document, "ucp": less})

    def test_profile_validator_detects_private_or_missing_fields_in_a_signing_key(self, document):
        if not judge.has_schemas():
            pytest.skip(judge.ABSENT)
        (key,) = document["keys"]
        for changed in (*({**key, name: "c2VjcmV0"} for name in "dpqk"), {**key, "y": None}):
            valid = {name: value for name, value in changed.items() if value is not None}
            assert judge.by_schema(judge.PROFILE[0], {**document, "keys": [valid]})


class TestKeys:
    def test_ucp_profile_keys_equal_the_published_token_keys(self, document, anonymous):
        assert document["keys"] == anonymous.read("/.well-known/jwks.json").json()["keys"]
        (key,) = document["keys"]
        assert set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"}

    def test_ucp_profile_does_not_publish_private_fields_of_a_key(self, anonymous):
        signing_keys.key_ring.signing()
        key = SigningKey.objects.get()
        SigningKey.objects.update(public_jwk={**key.public_jwk, "k": "c2VjcmV0", "key_ops": ["sign"]})
        shown = anonymous.read(PATH).json()["keys"]
        assert [set(item) for item in shown] == [{"kty", "crv", "x", "y", "kid", "use", "alg"}]
        assert b"c2VjcmV0" not in anonymous.read("/.well-known/jwks.json").content


class TestCapabilities:
    def test_ucp_profile_lists_enabled_capabilities_in_alphabetical_order(self, anonymous, settings):
        for settings.ANCHOR_DECISIONS in (True, False):
            wanted = ALWAYS | ({"decision_proofs"} if settings.ANCHOR_DECISIONS else set())
            assert anonymous.read(PATH).json()["capabilities"] == sorted(wanted)

    @pytest.mark.parametrize(("setting", "real", "names"), [
        ("CARD_PROCESSOR", "stripe", {"payments"}), ("SETTLEMENT_RPC_URL", "https://node.example", {"crypto_payments"}),
        ("CUSTODY", "circle", {"wallets"}), ("OPEN_BANKING", "plaid", {"identity", "bank_data"}),
    ])  # fmt: skip
    def test_production_capabilities_include_only_real_vendors_and_allowed_sandboxes(
        self, settings, setting, real, names
    ):
        assert names <= set(switched_on())
        settings.PRODUCTION = True
        assert not names & set(switched_on())
        setattr(settings, setting, real)
        assert names <= set(switched_on())
        setattr(settings, setting, "" if setting == "SETTLEMENT_RPC_URL" else "sandbox")
        settings.ALLOW_SANDBOX = True
        assert names <= set(switched_on())

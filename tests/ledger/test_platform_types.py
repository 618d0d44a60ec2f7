"""Test that only the platform key and listed keys can anchor report types of platform records."""

import hashlib
from itertools import product

import pytest

from ledger.credentials import PLATFORM_TYPES
from ledger.models import Entry
from tests.ledger.conftest import assert_error
from tests.ledger.test_credentials import MACHINE_KEY, bearer, production, service_a, token  # noqa: F401  fixtures

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def item(kind, **changes):
    return {"user_id": "42", "report_type": kind, "report_data": '{"decision":"approved"}', **changes}


def test_user_token_cannot_anchor_platform_report_types(client, settings):
    for claims in ({}, {"staff": True}, {"scope": "identity:write"}):
        headers = bearer(token(settings, **claims))
        for kind in PLATFORM_TYPES:
            rejected = client.post_json("/anchor", item(kind), **headers)
            assert_error(rejected, 403, "E2005")
            assert rejected.json()["details"] == {"report_type": kind}
            mixed = {"items": [item("credit_report"), item(kind)]}
            assert_error(client.post_json("/anchor/batch", mixed, **headers), 403, "E2005")
        assert not Entry.objects.exists()


def test_report_type_that_looks_like_a_platform_type_is_rejected(client, settings):
    for kind in (
        "Release", "release ", " release", "RELEASE", "\uff52\uff45\uff4c\uff45\uff41\uff53\uff45", "rel\u200bease",
        "r\u0435lease", "record_key\u00a0", "Application_Decision", "acceptance\u2060", "not\u00adice", "\u202enotice",
    ):  # fmt: skip
        rejected = client.post_json("/anchor", item(kind), **bearer(token(settings)))
        assert_error(rejected, 403, "E2005")


def test_user_token_can_anchor_other_report_types(client, settings):
    for kind in ("press release", "released", "credit_report", "mitteilung"):
        assert client.post_json("/anchor", item(kind), **bearer(token(settings))).status_code == 200


def test_listed_keys_and_the_platform_key_can_anchor_platform_report_types(client, settings):
    assert {
        "application_decision", "acceptance", "scoring_model_version", "notice", "record_key", "release",
        "contract_withdrawal",
    } == PLATFORM_TYPES  # fmt: skip
    settings.LEDGER_CLIENT_KEY = "the-platforms-own-key"
    for key, kind in product((MACHINE_KEY, settings.LEDGER_CLIENT_KEY), PLATFORM_TYPES):
        assert client.post_json("/anchor", item(kind), **{"x-api-key": key}).status_code == 200
        batch = {"items": [item(kind, user_id="43"), item("credit_report")]}
        assert client.post_json("/anchor/batch", batch, **bearer(key)).status_code == 200


def test_empty_ledger_key_is_rejected_without_a_configured_platform_key(client, settings):
    settings.LEDGER_CLIENT_KEY = ""
    for text in ("", hashlib.sha256(b"").hexdigest()):
        answer = client.post_json("/anchor", item("release"), **{"x-api-key": text})
        assert_error(answer, 401, "E2002")


class TestInDevelopment:
    """In development, every client can write, except under the platform's types."""

    @pytest.fixture(autouse=True)
    def development(self, settings, production):  # noqa: F811
        settings.PRODUCTION = False

    def test_platform_report_types_without_the_platform_key_are_rejected_in_development(self, client):
        for headers in ({}, {"x-api-key": "another"}, {"authorization": "Bearer a.b.c"}):
            assert_error(client.post_json("/anchor", item("application_decision"), **headers), 403, "E2005")
            batch = {"items": [item("credit_report"), item("release")]}
            assert_error(client.post_json("/anchor/batch", batch, **headers), 403, "E2005")
            assert client.post_json("/anchor", item("credit_report"), **headers).status_code == 200

    def test_platform_key_can_anchor_platform_report_types_in_development(self, client, settings):
        assert len(settings.LEDGER_CLIENT_KEY) >= 32
        headers = {"x-api-key": settings.LEDGER_CLIENT_KEY}
        assert client.post_json("/anchor", item("application_decision"), **headers).status_code == 200

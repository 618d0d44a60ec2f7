"""Test that `manage.py seed_demo` creates the demo data of every app once."""

import pytest
from django.apps import apps
from django.core.management import CommandError
from django.utils import timezone

from claims.models import Claim
from config.core.registration import declared
from config.ops import demo_ids
from config.webhooks.models import Endpoint
from credit.core.machine import MACHINE
from credit.demo import book
from credit.models import Application, Counteroffer, Offer
from credit.terms import counteroffers
from identity.management.commands import seed_demo
from identity.models import KycVerification
from payments.crypto.models import CryptoPayment
from payments.wallets.models import Wallet
from staging.models import StagedItem
from tests.api import ApiClient
from tests.commands import run_json
from tests.factories import UserFactory


def count_all():
    return {model._meta.label: model.objects.count() for model in apps.get_models()}


@pytest.fixture
def here(db, settings, tmp_path, bookless):
    settings.VAR_DIR = tmp_path


@pytest.mark.parametrize(("policy", "providers"), [("open", "open"), ("four_eyes", "granted")])
def test_seed_demo_creates_every_kind_of_record_and_a_second_run_adds_no_records(here, settings, policy, providers):
    settings.REVIEW_POLICY, settings.PROVIDERS = policy, providers
    first = run_json("seed_demo")
    counts = count_all()
    assert {application.status for application in Application.objects.all()} == set(MACHINE.statuses)
    (offered,) = Counteroffer.objects.all()
    assert (offered.pk, offered.status) == (demo_ids.COUNTEROFFER, "open")
    assert counteroffers.acceptable_of(offered.application, now=timezone.now()) == offered
    assert (Offer.objects.count(), Offer.objects.values("provider").distinct().count()) == (6, 3)
    for label in ("claims.Claim", "staging.StagedItem", "identity.KycVerification", "identity.BankItem",
                  "payments.Payment", "payments.Wallet", "payments.CryptoPayment", "webhooks.Endpoint"):  # fmt: skip
        assert counts[label], label
    assert run_json("seed_demo") == first
    assert count_all() == counts


def test_seed_demo_after_a_failed_run_creates_every_record(here, monkeypatch, tmp_path):
    empty, seeds = count_all(), declared("demo")
    for reached in (0, len(seeds) - 1, len(seeds)):
        monkeypatch.setattr(seed_demo, "declared", lambda _what, reached=reached: [*seeds[:reached], fail])
        with pytest.raises(OSError, match="The power is gone"):
            run_json("seed_demo")
        assert count_all() == empty, reached
        assert not {path.name for path in tmp_path.iterdir()} - {"decision-signing-key"}
    monkeypatch.setattr(seed_demo, "declared", lambda _what: seeds)
    run_json("seed_demo")
    assert count_all()["webhooks.Endpoint"] == 2
    assert {application.status for application in Application.objects.all()} == set(MACHINE.statuses)


def fail(**_given):
    """Fail like a seed that is interrupted."""
    raise OSError("The power is gone")


def test_seed_demo_does_not_recreate_records_moved_to_another_account(here):
    owner, keeper = run_json("seed_demo")["user_id"], UserFactory().pk
    handed = {Application: "consumer_id", Claim: "user_id", CryptoPayment: "user_id", Endpoint: "account_id",
              KycVerification: "user_id", StagedItem: "user_id", Wallet: "user_id"}  # fmt: skip
    for model, column in handed.items():
        assert model._default_manager.filter(**{column: owner}).update(**{column: keeper}), model
    counts = count_all()
    run_json("seed_demo")
    assert count_all() == counts


def test_number_questions_of_demo_offers_have_limits_and_months_have_an_example_in_years():
    schemas = [offer.get("application_schema", {}) for offer in [*book.DATA["offers"], book.DATA["offer"]]]
    questions = [question for schema in schemas for question in schema.get("properties", {}).items()]
    numbers = {name: schema for name, schema in questions if schema["type"] == "integer" and "enum" not in schema}
    assert {name for name, schema in numbers.items() if not {"minimum", "maximum"} <= schema.keys()} == set()
    months = {name: schema["description"] for name, schema in numbers.items() if name.startswith("months_")}
    assert months == dict.fromkeys(["months_employed", "months_at_address"], "For example, 3 years are 36 months.")


def test_demo_api_key_and_passwords_are_accepted(here, client):
    demo = run_json("seed_demo")
    assert ApiClient(api_key=demo["api_key"]).read("/applications").status_code == 200
    for name, password in (("username", "password"), ("staff_username", "staff_password")):
        body = {"username": demo[name], "password": demo[password]}
        assert ApiClient().send("/auth/token", body).status_code == 200


def test_seed_demo_is_rejected_in_production(here, settings):
    settings.PRODUCTION = True
    with pytest.raises(CommandError):
        run_json("seed_demo")

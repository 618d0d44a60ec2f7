"""Test that lenders, a lender's offers, and an account's keys can't have names that look alike."""

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import F
from django.utils import timezone

from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor
from config.ops.checks import examine
from credit.api.offers.serializers import OfferRequestSerializer
from credit.models import Offer, Provider, ProviderMember
from credit.offers.providers import change_provider, make_provider
from credit.offers.services import create_offer, replace_offer
from identity.models import ApiKey
from tests.api import assert_error
from tests.factories import OfferFactory, ProviderFactory, UserFactory
from tests.identity.support import issue
from tests.identity.test_own_oauth_clients import LOOK_ALIKES, NAME
from tests.properties import quick_or_full
from tests.races import run_concurrently

PATH = "/providers"
NAMES = [NAME, *LOOK_ALIKES]
OFFER = {"provider_id": "700", "product_type": "personal_loan"}


def make_lender(user):
    user.user_permissions.add(Permission.objects.get(codename="add_provider"))
    return user


@pytest.mark.django_db
def test_lender_cannot_have_a_name_that_looks_like_the_name_of_another_lender(
    api, user, stranger_api, stranger, no_rate_limits
):
    make_lender(user), make_lender(stranger)
    assert api.send(PATH, {"name": NAME}).status_code == 201
    other = stranger_api.send(PATH, {"name": "Other"}).json()["id"]
    for name in NAMES:
        changed = stranger_api.replace(f"{PATH}/{other}", {"name": name})
        for answer in (stranger_api.send(PATH, {"name": name}), changed):
            assert assert_error(answer, 400, "E1001")["details"][0]["field"] == "name", name
    assert Provider.objects.get(pk=other).name == "Other"
    assert stranger_api.replace(f"{PATH}/{other}", {"name": "OTHER"}).json()["name"] == "OTHER"


@pytest.mark.django_db
def test_lender_and_offer_names_with_invisible_characters_are_rejected(api, user):
    make_lender(user)
    for name in (" ", "\u3164", "Bank\u200b", "a\u202eb"):
        assert_error(api.send(PATH, {"name": name}), 400, "E1001")
        assert_error(api.send("/provider-offers", {**OFFER, "name": name}), 400, "E1001")
    for address in ("1 Bank Street\u202e\nAmes", "1 Bank Street\n\u200b", "1 Bank\x07Street"):
        answer = assert_error(api.send(PATH, {"name": "Bank", "address": address}), 400, "E1001")
        assert answer["details"][0]["field"] == "address"
    address = "\u0628\u0646\u06a9 \u0645\u06cc\u200c\u0646\u0627\r\n1\u00a0Street\n"
    made = api.send(PATH, {"name": "Bank", "address": address})
    assert made.json()["address"] == "\u0628\u0646\u06a9 \u0645\u06cc\u200c\u0646\u0627\n1 Street"


@pytest.mark.django_db
def test_offer_cannot_have_a_name_that_looks_like_another_offer_name_of_the_lender(api, stranger_api, no_rate_limits):
    path = "/provider-offers"
    first = api.send(path, {**OFFER, "name": NAME}).json()["id"]
    other = api.send(path, {**OFFER, "name": "Other"}).json()["id"]
    for name in NAMES:
        changed = api.replace(f"{path}/{other}", {**OFFER, "name": name})
        for answer in (api.send(path, {**OFFER, "name": name}), changed):
            assert assert_error(answer, 400, "E1001")["details"][0]["field"] == "name", name
    name = NAMES[-1]
    assert stranger_api.send(path, {**OFFER, "name": name, "provider_id": "701"}).status_code == 201
    assert api.replace(f"{path}/{first}", {**OFFER, "name": NAME.upper()}).json()["version"] == 2
    assert api.remove(f"{path}/{first}").status_code == 200
    assert api.replace(f"{path}/{other}", {**OFFER, "name": name}).json()["version"] == 2
    assert api.replace(f"{path}/{first}", {**OFFER, "name": name}).json()["is_active"] is False


@pytest.mark.django_db
def test_api_key_cannot_have_a_name_that_looks_like_another_key_name_of_the_account(api, stranger_api, no_rate_limits):
    first = api.send("/api-keys", {"name": NAME}).json()["id"]
    for name in NAMES:
        assert assert_error(api.send("/api-keys", {"name": name}), 400, "E1001")["details"][0]["field"] == "name"
    assert stranger_api.send("/api-keys", {"name": name}).status_code == 201
    rotated = api.send(f"/api-keys/{first}/rotate", {"grace_days": 7}).json()
    assert rotated["name"] == NAME
    assert_error(api.send("/api-keys", {"name": name}), 400, "E1001")
    api.remove(f"/api-keys/{rotated['id']}")
    ended = api.send("/api-keys", {"name": name}).json()["id"]
    past = timedelta(days=93)
    ApiKey.objects.filter(pk=ended).update(created_at=F("created_at") - past, expires_at=F("expires_at") - past)
    assert api.send("/api-keys", {"name": name}).status_code == 201


def making_lender(actor, name):
    return make_provider(name, actor=actor, now=timezone.now())


def making_offer(actor, name):
    provider = Provider.objects.get_or_create(pk="700", defaults={"owner": actor.user, "created_at": timezone.now()})[0]
    ProviderMember.objects.get_or_create(provider=provider, user=actor.user, defaults={"role": ProviderMember.OWNER})
    terms = OfferRequestSerializer.read({**OFFER, "name": name})
    return create_offer(actor=actor, terms=terms, now=timezone.now())


@pytest.mark.usefixtures("needs_postgresql")
@pytest.mark.parametrize(("model", "make"), [(Provider, making_lender), (Offer, making_offer)])
def test_concurrent_creations_with_the_same_name_create_a_single_record(committed, model, make):
    actors = [Actor(make_lender(UserFactory()), "jwt:x", second_factor=True) for _ in range(4)]

    def create(actor, name):
        try:
            return make(actor, name).name
        except ValidationFailed as error:
            return [detail["field"] for detail in error.details]

    for round_ in range(quick_or_full(3, 10)):
        names = [f"Bank {round_}", f"BANK {round_}", f"B\u0430nk {round_}", f"Bank {round_}"]
        outcomes = run_concurrently(*[lambda pair=pair: create(*pair) for pair in zip(actors, names, strict=True)])
        assert outcomes.count(["name"]) == 3, outcomes
        assert model.objects.count() == round_ + 1


@pytest.mark.django_db
def test_existing_lenders_with_equal_names_remain_usable_and_are_listed_by_doctor(user):
    # Version 1.0 stored the names in this form.
    for pk, name in (("1", "Harbour"), ("2", "H\u0430rbour"), ("3", ""), ("4", "")):
        Provider.objects.create(pk=pk, name=name, owner=user, created_at=timezone.now())
    fill_keys("credit.migrations.0004_provider_name_keys")
    assert list(Provider.objects.filter(name_key__isnull=True).order_by("pk").values_list("pk", flat=True)) == [
        "2", "3", "4",
    ]  # fmt: skip
    (line,) = [check for check in examine() if check["name"] == "provider_names"]
    assert line["why"].startswith("warning")
    assert "H\u0430rbour (2)" in line["why"]
    assert "(1)" not in line["why"]
    owner = Actor(user, "jwt:x", second_factor=True)
    ProviderMember.objects.create(provider_id="2", user=user, role=ProviderMember.OWNER)
    changed = change_provider("2", name="H\u0430rbour", address="1 Bank Street", by=owner)
    assert (changed.name_key, changed.address) == (None, "1 Bank Street")


def fill_keys(name):
    import_module(name).fill_keys(apps, SimpleNamespace(connection=connection))


@pytest.mark.django_db
def test_existing_offers_with_equal_names_remain_usable_and_are_listed_by_doctor(user):
    lender = ProviderFactory(id="700", owner=user)
    ProviderMember.objects.get_or_create(provider=lender, user=user, defaults={"role": ProviderMember.OWNER})
    first, second, inactive = (
        OfferFactory(provider=lender, name=name, is_active=is_active)
        for name, is_active in (("Harbour", True), ("H\u0430rbour", True), ("Harbour", False))
    )
    fill_keys("credit.migrations.0030_fill_offer_name_keys")
    assert [Offer.objects.get(pk=offer.pk).name_key is None for offer in (first, second, inactive)] == [
        False, True, True,
    ]  # fmt: skip
    (line,) = [check for check in examine() if check["name"] == "offer_names"]
    assert line["why"].startswith("warning")
    assert f"({second.pk})" in line["why"]
    assert f"({first.pk})" not in line["why"]
    terms = OfferRequestSerializer.read({**OFFER, "name": second.name, "description": "New"})
    owner = Actor(user, "jwt:x", second_factor=True)
    assert replace_offer(second.pk, actor=owner, terms=terms, now=timezone.now()).description == "New"


@pytest.mark.django_db
def test_existing_api_keys_with_equal_names_remain_usable(user):
    first, second, other = (issue(user).record.pk for _ in range(3))
    ApiKey.objects.update(name="shop", name_key=None)
    ApiKey.objects.filter(pk=other).update(name="Shop ")
    fill_keys("identity.migrations.0020_fill_api_key_name_keys")
    assert [ApiKey.objects.get(pk=pk).name_key is None for pk in (first, second, other)] == [False, True, True]

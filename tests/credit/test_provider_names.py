"""Names of lenders: applicants read them, so that no two look alike."""

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor
from config.ops.checks import examine
from credit.models import Provider, ProviderMember
from credit.offers.providers import change_provider, make_provider
from tests.api import assert_error
from tests.factories import UserFactory
from tests.identity.test_own_oauth_clients import LOOK_ALIKES, NAME
from tests.races import at_once

PATH = "/providers"


def make_lender(user):
    user.user_permissions.add(Permission.objects.get(codename="add_provider"))
    return user


@pytest.mark.django_db
@pytest.mark.parametrize("name", [NAME, *LOOK_ALIKES])
def test_a_lender_cannot_have_a_name_that_looks_like_anothers(api, user, stranger_api, stranger, name):
    make_lender(user), make_lender(stranger)
    assert api.send(PATH, {"name": NAME}).status_code == 201
    other = stranger_api.send(PATH, {"name": "Other"}).json()["id"]
    for answer in (stranger_api.send(PATH, {"name": name}), stranger_api.replace(f"{PATH}/{other}", {"name": name})):
        assert assert_error(answer, 400, "E1001")["details"][0]["field"] == "name"
    assert Provider.objects.get(pk=other).name == "Other"
    assert stranger_api.replace(f"{PATH}/{other}", {"name": "OTHER"}).json()["name"] == "OTHER"


@pytest.mark.django_db
@pytest.mark.parametrize("name", [" ", "\u3164", "Bank\u200b", "a\u202eb"])
def test_the_name_of_a_lender_and_of_an_offer_is_visible(api, user, name):
    make_lender(user)
    assert_error(api.send(PATH, {"name": name}), 400, "E1001")
    terms = {"provider_id": "700", "name": name, "product_type": "personal_loan"}
    assert_error(api.send("/provider-offers", terms), 400, "E1001")


@pytest.mark.usefixtures("needs_postgresql")
def test_of_lenders_created_at_once_one_has_the_name(committed):
    actors = [Actor(make_lender(UserFactory()), "jwt:x", second_factor=True) for _ in range(4)]

    def create(actor, name):
        try:
            return make_provider(name, actor=actor, now=timezone.now()).name
        except ValidationFailed as error:
            return [detail["field"] for detail in error.details]

    for round_ in range(10):
        names = [f"Bank {round_}", f"BANK {round_}", f"B\u0430nk {round_}", f"Bank {round_}"]
        outcomes = at_once(*[lambda pair=pair: create(*pair) for pair in zip(actors, names, strict=True)])
        assert outcomes.count(["name"]) == 3, outcomes
        assert Provider.objects.count() == round_ + 1


@pytest.mark.django_db(transaction=True)
def test_lenders_that_have_one_name_already_go_on_working_and_doctor_lists_them(user):
    call_command("migrate", "credit", "0003", verbosity=0)
    model = MigrationExecutor(connection).loader.project_state([("credit", "0003_provider_agency")]).apps
    old, facts = model.get_model("credit", "Provider"), {"owner_id": user.pk, "created_at": timezone.now()}
    for pk, name in (("1", "Harbour"), ("2", "H\u0430rbour"), ("3", ""), ("4", "")):
        old.objects.create(pk=pk, name=name, **facts)
    call_command("migrate", "credit", verbosity=0)
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

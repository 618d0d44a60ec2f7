"""Names of OAuth clients: people read them when they consent, so that no two look alike."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor
from config.ops.checks import examine
from identity.models import OAuthClient
from identity.oauth.own_clients import change_own_client, create_own_client
from tests.api import assert_error
from tests.factories import UserFactory
from tests.identity.oauth_support import REDIRECT
from tests.identity.test_own_oauth_clients import BODY, PATH, made
from tests.races import at_once

NAME = "Caf\u00e9 Bank x"
LOOK_ALIKES = [
    "Cafe\u0301 Bank x",
    "  Caf\u00e9\u3000 Bank x ",
    "CAF\u00c9 BANK X",
    "\uff23\uff41\uff46\u00e9 \uff22\uff41\uff4e\uff4b \uff58",
    "C\u0430f\u00e9 B\u0430nk x",
]


@pytest.mark.django_db
@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_client_cannot_have_a_name_that_looks_like_anothers(api, stranger_api, name):
    made(api, name=NAME)
    other = made(stranger_api, name="Other")["client_id"]
    for answer in (
        stranger_api.send(PATH, {**BODY, "name": name}),
        stranger_api.call("PATCH", f"{PATH}/{other}", {"name": name}),
    ):
        assert assert_error(answer, 400, "E1001")["details"][0]["field"] == "name"
    with pytest.raises(CommandError):
        call_command("create_oauth_client", name, "--redirect-uri", REDIRECT, "--scope", "offers:read")
    assert OAuthClient.objects.get(name="Other").client_id == other


@pytest.mark.django_db
@pytest.mark.parametrize("name", [" ", "\u3164", "Bank\u200b", "a\u202eb", "\u2800"])
def test_a_clients_name_is_visible(api, name):
    assert_error(api.send(PATH, {**BODY, "name": name}), 400, "E1001")


@pytest.mark.django_db
def test_a_client_can_be_renamed_to_another_spelling_of_its_own_name(api):
    path = f"{PATH}/{made(api, name=NAME)['client_id']}"
    assert api.call("PATCH", path, {"name": LOOK_ALIKES[1]}).json()["name"] == NAME
    assert api.call("PATCH", path, {"name": LOOK_ALIKES[2]}).json()["name"] == LOOK_ALIKES[2]


@pytest.mark.usefixtures("needs_postgresql")
def test_of_two_clients_registered_at_once_one_has_the_name(committed):
    actors = [Actor(UserFactory(), "jwt:x") for _ in range(4)]

    def register(actor, name):
        try:
            facts = {"redirect_uris": [REDIRECT], "scopes": ["offers:read"], "public": True}
            return create_own_client(actor, name=name, **facts, now=timezone.now()).name
        except ValidationFailed as error:
            return [detail["field"] for detail in error.details]

    for round_ in range(10):
        names = [f"Bank {round_}", f"BANK {round_}", f"B\u0430nk {round_}", f"Bank {round_}"]
        outcomes = at_once(
            *[lambda pair=pair: register(*pair) for pair in zip(actors, names, strict=True)],
        )
        assert outcomes.count(["name"]) == 3, outcomes
        assert OAuthClient.objects.count() == round_ + 1


@pytest.mark.django_db(transaction=True)
def test_clients_that_have_one_name_already_go_on_working_and_doctor_lists_them():
    user = UserFactory()
    call_command("migrate", "identity", "0008", verbosity=0)
    loader = MigrationExecutor(connection).loader
    model = loader.project_state([("identity", "0008_user_names")]).apps.get_model("identity", "OAuthClient")
    old = [model.objects.create(name=name, user_id=user.pk).pk for name in ("Budget app", "Budget \u0430pp", "Other")]
    call_command("migrate", "identity", verbosity=0)
    first, second, third = OAuthClient.objects.order_by("pk")
    assert [first.pk, second.pk, third.pk] == old
    assert (first.name_key is None, second.name_key is None, third.name_key is None) == (False, True, False)
    (line,) = [check for check in examine() if check["name"] == "client_names"]
    assert line["why"].startswith("warning")
    assert f"{second.name} ({second.pk})" in line["why"]
    assert first.name + " (" not in line["why"]
    change_own_client(
        Actor(user, "jwt:x"),
        second.client_id,
        changes={"name": second.name, "scopes": ["wallet:read"]},
        now=timezone.now(),
    )
    second.refresh_from_db()
    assert (second.name_key, second.scopes) == (None, ["wallet:read"])

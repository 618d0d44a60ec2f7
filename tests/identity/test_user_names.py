"""Test which user names can be chosen, and that user names are unique in any case."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.management import CommandError
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from config.ops.checks import examine
from credit.models import ProviderInvitation
from identity.models import AccountHistory, User
from tests.api import ApiClient
from tests.backoffice.conftest import backoffice_client
from tests.commands import run_json
from tests.factories import PASSWORD, ProviderFactory, UserFactory
from tests.identity.test_invitations import token_of
from tests.identity.test_managed_accounts import EMAIL, PASSWORDS, create_account, partner, shop  # noqa: F401  fixtures
from tests.second_factors import authenticator_of, code_of

pytestmark = pytest.mark.django_db
ILL_FORMED = ["\u0430lice", "al\u00efce", "root@example.com", "al ice", "al-ice", "al_ice", "al.ice", "1", "20260101"]


def claim(name):
    return Client().post(f"/account/claim/{token_of('claim')}", {"username": name, **PASSWORDS})


def test_claiming_an_account_accepts_only_a_new_name_of_letters_and_digits(shop):  # noqa: F811
    UserFactory(username="alice")
    create_account(shop, email=EMAIL)
    for name in (*ILL_FORMED, "admin", "Admin", "SUPPORT", "Alice", "alice", "\u212aelvin\u0130"):
        page = claim(name)
        assert page.status_code == 200, name
        assert "errorlist" in page.content.decode()
        assert not User.objects.filter(username=name).exclude(username="alice").exists()
    for name in ("Alice2", "a", "x1"):
        create_account(shop, name, email=f"{name}@example.org")
        assert claim(name).status_code == 302, name
        assert User.objects.filter(username=name).exists()


def test_database_rejects_a_user_name_that_differs_only_by_case(db):
    UserFactory(username="alice")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.bulk_create([User(username="Alice", password="!")])


def test_create_user_accepts_punctuation_and_reserved_names_but_no_deceptive_user_names(db):
    for name in ("\u0430da", "ada@example.org", "12", "a b"):
        with pytest.raises(CommandError):
            run_json("create_user", name, "--password", PASSWORD)
    assert not User.objects.exists()
    for name in ("ada.lovelace", "ada-2", "ada_3", "admin"):
        assert run_json("create_user", name, "--password", PASSWORD)["created"]
    first = run_json("create_user", "ada", "--password", PASSWORD)
    assert run_json("create_user", "Ada", "--password", PASSWORD) == first | {"created": False}


def test_back_office_rejects_deceptive_user_names_and_retains_existing_names(db):
    root = UserFactory(is_staff=True, is_superuser=True)
    old = UserFactory(username="jos\u00e9@home")
    browser = backoffice_client(root)
    for name in ("\u0430lice", root.username.upper()):
        form = {"username": name, "usable_password": "true", **PASSWORDS}
        assert browser.post("/admin/identity/user/add/", form).status_code == 200
        assert not User.objects.filter(username=name).exists()
    assert browser.post("/admin/identity/user/add/", {"username": "al-ice", "usable_password": "true", **PASSWORDS})
    assert User.objects.filter(username="al-ice").exists()
    page = f"/admin/identity/user/{old.pk}/change/"
    form = {"username": old.username, "first_name": "Jos\u00e9", "is_active": "on", "edit": "1"}
    browser.post(f"{page}?edit=1", form)
    old.refresh_from_db()
    assert old.first_name == "Jos\u00e9"
    page = browser.post(f"{page}?edit=1", {**form, "first_name": "Jos\u202ee"})
    assert "U+202E" in page.content.decode()
    old.refresh_from_db()
    assert old.first_name == "Jos\u00e9"


def test_log_in_finds_the_account_and_its_second_factor_by_user_name_in_any_case(anonymous):
    user, body = UserFactory(username="alice"), {"username": "ALICE", "password": PASSWORD}
    token = anonymous.send("/auth/token", body)
    assert ApiClient(bearer=token.json()["access_token"]).read("/auth/me").json()["id"] == user.pk
    assert Client().post("/account/login", {"login": "Alice", "password": PASSWORD}).status_code == 302
    authenticator_of(user)
    assert anonymous.send("/auth/token", body).status_code == 401
    assert anonymous.send("/auth/token", {**body, "otp": code_of()}).status_code == 200


def test_an_invitation_by_name_finds_the_account_in_any_case(api, user):
    provider = ProviderFactory(id="700", owner=user)
    alice = UserFactory(username="alice")
    for name in ("alice", "aLICE"):  # Version 1.0 stored the names in this form.
        ProviderInvitation.objects.create(provider=provider, username=name, user=alice, invited_at=timezone.now())
    for name in ("Alice", "ALICE"):
        assert api.send("/providers/700/members", {"username": name}).status_code == 202
    assert [row.user for row in ProviderInvitation.objects.filter(provider=provider)] == [alice]


@pytest.mark.django_db
def test_migration_renames_later_accounts_with_equal_names_and_doctor_lists_the_accounts():
    with connection.cursor() as cursor:
        # Version 1.0 had no such constraint. The transaction of the test restores the constraint.
        cursor.execute("DROP INDEX identity_user_name")
    names = ("Alice", "alice", "ALICE", "ALICE-2")
    first, second, third, taken = (User.objects.create(username=name) for name in names)
    migration, editor = import_module("identity.migrations.0008_user_names"), SimpleNamespace(connection=connection)
    migration.rename_colliding(apps, editor)
    names = dict(User.objects.values_list("pk", "username"))
    assert names == {first.pk: "Alice", second.pk: "alice-3", third.pk: "ALICE-4", taken.pk: "ALICE-2"}
    assert AccountHistory.objects.get(account=second.pk).details == {"from": "alice", "to": "alice-3"}
    (line,) = [check for check in examine() if check["name"] == "user_names"]
    assert f"alice is now alice-3 (account {second.pk})" in line["why"]
    assert line["why"].startswith("warning")
    migration.restore_names(apps, editor)
    assert set(User.objects.values_list("username", flat=True)) == {"Alice", "alice", "ALICE", "ALICE-2"}

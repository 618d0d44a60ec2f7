"""Test that identity commands are idempotent and print one JSON object on the last line."""

import io
import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from config.webhooks.models import Event
from identity.access.signing_keys import key_ring
from identity.models import ApiKey, SigningKey, User
from tests.api import ApiClient, assert_error
from tests.commands import run_json
from tests.factories import PASSWORD, UserFactory
from tests.identity.support import issue, signed_call

pytestmark = pytest.mark.django_db


def run_for_people(name, *arguments):
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


class TestCreateUser:
    def test_create_user_makes_an_account_that_can_log_in(self, anonymous):
        printed = run_json("create_user", "ada", "--password", PASSWORD)
        assert printed["username"] == "ada"
        assert "username: bob" in run_for_people("create_user", "bob", "--password", PASSWORD)
        response = anonymous.send("/auth/token", {"username": "ada", "password": PASSWORD})
        assert response.status_code == 200
        assert User.objects.get(pk=printed["id"]).is_staff is False

    def test_create_user_makes_staff_and_superusers_and_changes_no_existing_account(self):
        groups = ("--group", "Reviewer", "--group", "Support")
        first = run_json("create_user", "ada", "--password", PASSWORD, "--staff", *groups)
        assert run_json("create_user", "ada", "--password", PASSWORD) == first | {"created": False}
        run_json("create_user", "root", "--password", PASSWORD, "--superuser")
        staff, root = User.objects.get(username="ada"), User.objects.get(username="root")
        assert (staff.is_staff, staff.is_superuser) == (True, False)
        assert sorted(group.name for group in staff.groups.all()) == ["Reviewer", "Support"]
        assert (root.is_staff, root.is_superuser) == (True, True)

    def test_create_user_rejects_the_name_of_a_different_account(self):
        run_json("create_user", "ada", "--password", PASSWORD)
        for arguments, named in (
            (["--password", "quite another one"], "password"), (["--password", PASSWORD, "--staff"], "--staff"),
            (["--password", PASSWORD, "--superuser"], "--staff, --superuser"),
            (["--password", PASSWORD, "--group", "Reviewer"], "groups"),
            (["--password", PASSWORD, "--email", "ada@example.org"], "email"),
        ):  # fmt: skip
            with pytest.raises(
                CommandError, match=f"already exists, with other values of: {named}. Nothing was changed"
            ):
                run_json("create_user", "ada", *arguments)
            ada = User.objects.get()
            assert ada.check_password(PASSWORD)
            assert (ada.is_staff, ada.is_superuser, ada.email, ada.groups.count()) == (False, False, "", 0)

    def test_create_user_with_an_invalid_argument_creates_no_account(self):
        for arguments in (("ada", "--group", "Nobodies"), ("a b c!",), ("a" * 151,)):
            with pytest.raises(CommandError):
                run_json("create_user", *arguments, "--password", PASSWORD)
        assert User.objects.count() == 0


class TestPasswordOptions:
    """Test passwords of `create_user` and `set_password`."""

    @pytest.fixture(params=["create_user", "set_password"])
    def command(self, request):
        """Return the command and a user name that it accepts."""
        if request.param == "set_password":
            UserFactory(username="ada-lovelace", password=make_password("what it was before"))
        return request.param, "ada-lovelace"

    def test_password_command_rejects_a_weak_password_or_two_passwords(self, command):
        before = list(User.objects.values())
        for password in ("x", "", "password1234", "4711471147114711", "ada-lovelace"):
            with pytest.raises(CommandError, match="password"):
                run_json(*command, "--password", password)
        with pytest.raises(CommandError, match="not allowed with"):
            run_json(*command, "--password", PASSWORD, "--password-stdin")
        assert list(User.objects.values()) == before

    @pytest.mark.parametrize(("again", "is_set"), [(PASSWORD, True), ("quite another one", False)])
    def test_password_command_prompts_twice_at_a_terminal(self, command, again, is_set, monkeypatch):
        typed = iter([PASSWORD, again])
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("identity.access.accounts.getpass", lambda _prompt: next(typed))
        if is_set:
            run_json(*command)
        else:
            with pytest.raises(CommandError, match="The passwords differ"):
                run_json(*command)
        assert User.objects.filter(username=command[1]).exists() is (is_set or command[0] == "set_password")
        assert all(ada.check_password(PASSWORD) is is_set for ada in User.objects.all())

    def test_password_command_without_a_terminal_lists_the_password_options(self, command, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO())
        with pytest.raises(CommandError, match="--password-stdin"):
            run_json(*command)

    def test_password_command_in_production_accepts_a_password_only_from_standard_input(
        self, command, settings, monkeypatch
    ):
        settings.PRODUCTION = True
        with pytest.raises(CommandError, match="--password-stdin"):
            run_json(*command, "--password", PASSWORD)
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\nnot this line\n"))
        run_json(*command, "--password-stdin")
        assert User.objects.get().check_password(PASSWORD)


class TestCreateApiKey:
    def test_create_api_key_makes_a_key_that_works_and_signs(self, user):
        printed = run_json("create_api_key", user.username, "--name", "server")
        assert set(printed) == {"id", "key", "secret", "scopes", "expires_at"}
        assert printed["scopes"] is None
        assert printed["key"].startswith(f"ck_test_{printed['id']}_")
        assert printed["secret"].startswith("cs_")
        assert ApiClient(api_key=printed["key"]).read("/auth/me").json()["id"] == user.pk
        record = ApiKey.objects.get()
        assert signed_call(SimpleNamespace(**printed), "GET", "/v1/auth/me").status_code == 200
        assert timedelta(days=89, hours=23) < record.expires_at - timezone.now() <= timedelta(days=90)

    def test_create_api_key_accepts_scopes_and_an_expiry(self, user):
        arguments = ("--scope", "offers:read", "--scope", "webhooks", "--expires-at", "2099-01-31T12:00:00Z")
        printed = run_json("create_api_key", user.username, "--name", "n", *arguments)
        assert printed["scopes"] == ["offers:read", "webhooks"]
        assert printed["expires_at"] == "2099-01-31T12:00:00.000000Z"
        with pytest.raises(CommandError, match="looks like it"):
            run_json("create_api_key", user.username, "--name", "N")
        printed = run_json("create_api_key", user.username, "--name", "day", "--expires-days", "1")
        assert ApiKey.objects.get(pk=printed["id"]).expires_at < timezone.now() + timedelta(days=1, minutes=1)

    def test_create_api_key_with_an_invalid_argument_creates_no_key(self, user):
        for arguments in (
            ("--scope", "nonsense"), ("--expires-days", "0"), ("--expires-days", "-1"),
            ("--expires-days", "99999999999"), ("--expires-at", "2001-01-31T12:00:00Z"),
            ("--expires-at", "2099-01-31T12:00:00"), ("--expires-at", "tomorrow"),
            ("--expires-at", "2099-13-31T12:00:00Z"),
        ):  # fmt: skip
            with pytest.raises(CommandError):
                run_json("create_api_key", user.username, "--name", "n", *arguments)
        for name in ("", "\u3164", "Shop\u202e", "x" * 256):
            with pytest.raises(CommandError):
                run_json("create_api_key", user.username, "--name", name)
        assert ApiKey.objects.count() == 0


class TestRotateApiKey:
    def test_rotate_api_key_creates_a_successor_and_shortens_the_validity_of_the_old_key(self, user):
        old = issue(user, scopes=["offers:read"])
        printed = run_json("rotate_api_key", old.record.pk)
        assert (printed["replaces"], printed["scopes"]) == (old.record.pk, ["offers:read"])
        assert {"id", "key", "secret", "expires_at", "replaces", "old_expires_at"} <= set(printed)
        event = Event.objects.get(type="api_key.rotated").object
        assert (event["api_key_id"], event["replaces"]) == (printed["id"], old.record.pk)
        record = ApiKey.objects.get(pk=old.record.pk)
        assert timedelta(days=6, hours=23) < record.expires_at - timezone.now() <= timedelta(days=7)
        assert ApiClient(api_key=printed["key"]).read("/auth/me").status_code == 200
        assert ApiClient(api_key=old.key).read("/auth/me").status_code == 200

    def test_rotation_grace_period_does_not_extend_the_expiry_of_a_key(self, user):
        old = issue(user, expires_at=timezone.now() + timedelta(days=2))
        run_json("rotate_api_key", old.record.pk, "--grace-days", "30")
        assert ApiKey.objects.get(pk=old.record.pk).expires_at == old.record.expires_at

    def test_two_rotations_of_a_key_create_two_successors_and_all_keys_work(self, user):
        old = issue(user)
        keys = [run_json("rotate_api_key", old.record.pk)["key"] for _ in range(2)]
        for key in (*keys, old.key):
            assert ApiClient(api_key=key).read("/auth/me").status_code == 200

    def test_rotate_api_key_rejects_an_invalid_grace_period_and_a_revoked_key(self, user):
        old = issue(user)
        for days in ("-1", "9999999999"):
            with pytest.raises(CommandError):
                run_json("rotate_api_key", old.record.pk, "--grace-days", days)
        run_json("revoke_api_key", old.record.pk)
        with pytest.raises(CommandError, match="revoked"):
            run_json("rotate_api_key", old.record.pk)


class TestRevokeApiKey:
    def test_revoke_api_key_revokes_and_prints_the_key(self, user):
        issued = issue(user)
        printed = run_json("revoke_api_key", issued.record.pk)
        assert printed["id"] == issued.record.pk
        assert run_json("revoke_api_key", issued.record.pk) == printed
        assert Event.objects.filter(type="api_key.revoked").count() == 1
        with pytest.raises(CommandError, match="none-such"):
            run_json("revoke_api_key", "none-such")
        assert_error(ApiClient(api_key=issued.key).read("/auth/me"), 401, "E2009")


class TestListApiKeys:
    def test_list_api_keys_prints_the_state_of_each_key_without_secrets_and_filters_by_age(self, user):
        now = timezone.now()
        revoked, expired, active = issue(user), issue(user), issue(user, scopes=["offers:read"])
        run_json("revoke_api_key", revoked.record.pk)
        earlier = now - timedelta(days=2)
        ApiKey.objects.filter(pk=expired.record.pk).update(created_at=earlier, expires_at=earlier + timedelta(days=1))
        ApiKey.objects.filter(pk=active.record.pk).update(created_at=now - timedelta(days=91))
        assert [key["id"] for key in run_json("list_api_keys", "--older-than", "90")["keys"]] == [active.record.pk]
        listed = run_json("list_api_keys")
        entry = next(entry for entry in listed["keys"] if entry["id"] == active.record.pk)
        assert (entry["username"], entry["scopes"]) == (user.username, ["offers:read"])
        for secret in (active.key, active.secret, active.record.digest):
            assert secret not in json.dumps(listed)
        states = {entry["id"]: entry["state"] for entry in listed["keys"]}
        assert states == {
            revoked.record.pk: "revoked", expired.record.pk: "expired", active.record.pk: "active",
        }  # fmt: skip


class TestPasswordsAndDisabling:
    def test_set_password_changes_the_password_and_revokes_tokens(self, user, api, anonymous):
        assert api.read("/auth/me").status_code == 200
        assert run_json("set_password", user.username, "--password", "quite another one") == {"id": user.pk}
        assert_error(api.read("/auth/me"), 401, "E2002")
        body = {"username": user.username, "password": "quite another one"}
        assert anonymous.send("/auth/token", body).status_code == 200
        assert run_json("set_password", user.username, "--password", "quite another one") == {"id": user.pk}

    def test_disable_user_revokes_tokens_and_keys_and_ends_log_ins(self, user, api, anonymous):
        key = issue(user).key
        assert run_json("disable_user", user.username) == {"id": user.pk}
        assert run_json("disable_user", user.username) == {"id": user.pk}
        assert_error(api.read("/auth/me"), 401, "E2002")
        assert_error(ApiClient(api_key=key).read("/auth/me"), 401, "E2009")
        body = {"username": user.username, "password": PASSWORD}
        assert_error(anonymous.send("/auth/token", body), 401, "E2001")

    def test_account_command_error_contains_the_unknown_user_name(self):
        for name, *rest in (("set_password", "--password", "x"), ("disable_user",), ("create_api_key", "--name", "n")):
            with pytest.raises(CommandError, match="nobody"):
                run_json(name, "nobody", *rest)


class TestRotateSigningKey:
    def test_rotate_signing_key_publishes_a_new_key_and_the_old_key_remains_valid(self, user, api):
        before = SigningKey.objects.get()
        printed = run_json("rotate_signing_key")
        assert printed["retired"] == [before.kid]
        assert printed["kid"] != before.kid
        assert api.read("/auth/me").status_code == 200
        before.refresh_from_db()
        assert timedelta(days=6, hours=23) < before.retires_at - timezone.now() <= timedelta(days=7)
        for days in ("-1", "9999999999"):
            with pytest.raises(CommandError):
                run_json("rotate_signing_key", "--overlap-days", days)
        assert run_json("rotate_signing_key", "--overlap-days", "1")["retired"] == [printed["kid"]]


class TestRotateEncryptionKey:
    @staticmethod
    def stored():
        """Return every encrypted value as stored in the database."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT secret FROM identity_apikey UNION ALL SELECT private_key FROM identity_signingkey")
            return [row[0] for row in cursor.fetchall()]

    def test_rotate_encryption_key_encrypts_every_value_with_the_first_key(self, user, api, settings):
        issued = issue(user)
        old = list(settings.FIELD_ENCRYPTION_KEYS)
        fresh = Fernet.generate_key().decode()
        settings.FIELD_ENCRYPTION_KEYS = [fresh, *old]
        rows = run_json("rotate_encryption_key")["rows"]
        assert rows == len(self.stored()) == 2
        assert {text[:3] for text in self.stored()} == {"b1."}
        assert run_json("rotate_encryption_key")["rows"] == rows, "it can be repeated"
        settings.FIELD_ENCRYPTION_KEYS = [fresh]
        assert signed_call(issued, "GET", "/v1/auth/me").status_code == 200
        key_ring.forget()
        assert api.read("/auth/me").status_code == 200

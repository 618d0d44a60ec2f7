"""Test invitations by user name without account enumeration, acceptance, and removal of lender members."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.webhooks.models import Event
from credit.models import ProviderInvitation, ProviderMember
from identity.access import tokens
from identity.access.keys import create_api_key
from identity.access.scopes import SCOPES
from tests.api import ApiClient, assert_error, client_of
from tests.factories import ApplicationFactory, OfferFactory, UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.second_factors import authenticator_of

PATH = "/providers/700/members"
TERMS = {"name": "Loan", "product_type": "personal_loan"}


@pytest.fixture
def colleague(provider):
    user = UserFactory(username="colleague")
    ProviderMember.objects.create(provider=provider, user=user)
    return user


def invite(client, username, **options):
    return client.send(PATH, {"username": username}, **options)


def accept(client):
    return client.send(f"{PATH}/me")


def submitted():
    return ApplicationFactory(status="submitted", submitted_at=timezone.now())


class TestInvitations:
    def test_invitation_does_not_reveal_whether_the_user_name_exists(self, api, user, provider, stranger):
        UserFactory(username="former", is_active=False)
        for name in (stranger.username, "nobody", "former", provider.owner.username, "a/b <c>", "\u00e9" * 255):
            answer = invite(api, name)
            assert (answer.status_code, answer.json()) == (202, {"username": name, "invited": True})
            shown = api.read(PATH).json()["invitations"]
            assert set(shown[-1]) == {"id", "username", "role", "invited_at", "expires_at"}
            assert shown[-1]["username"] == name
        assert api.read(PATH).json()["total"] == 1
        assert_error(api.remove(f"{PATH}/{stranger.pk}"), 404, "E4001")
        late = client_of(UserFactory(username="nobody"))  # This account got the user name after the invitation.
        assert late.read("/providers").json()["total"] == 0
        assert_error(accept(late), 404, "E4012")
        events = api.read("/webhooks/events").json()["events"]
        invitation_ids = {shown["id"] for shown in api.read(PATH).json()["invitations"]}
        assert [event["type"] for event in events] == ["provider.member_invited"] * 6
        assert {event["data"]["object"].pop("invitation_id") for event in events} == invitation_ids
        assert all(event["data"]["object"] == {"provider_id": "700"} for event in events)
        assert not Event.objects.exclude(account_id=user.pk).exists()

    def test_invitation_of_an_unknown_user_name_executes_the_same_sql_statements(
        self, api, provider, stranger, no_rate_limits
    ):
        invite(api, "somebody")  # This call fills the caches of the process.
        statements = []
        for name in (stranger.username, "nobody"):
            with CaptureQueriesContext(connection) as captured:
                assert invite(api, name).status_code == 202
            statements.append([query["sql"].split()[0] for query in captured])
        assert statements[0] == statements[1]

    def test_lender_is_limited_to_50_open_invitations(self, api, provider):
        now = timezone.now()
        ProviderInvitation.objects.bulk_create(
            ProviderInvitation(provider=provider, username=f"name{number}", invited_at=now) for number in range(49)
        )
        assert invite(api, "the fiftieth").status_code == 202
        assert_error(invite(api, "another"), 400, "E1001")
        assert invite(api, "the fiftieth").status_code == 202, "it waits already"
        ProviderInvitation.objects.update(invited_at=now - timedelta(days=8))
        assert invite(api, "another").status_code == 202


class TestAcceptedInvitations:
    def test_invited_account_has_no_access_before_the_acceptance(self, api, provider, stranger, stranger_api, settings):
        settings.REVIEW_POLICY = "reviewed"
        application = submitted()
        invite(api, stranger.username)
        terms = {"provider_id": "700", "name": "Loan", "product_type": "personal_loan"}
        move = {"status": "under_review", "updated_by": "me"}
        for answer, code in (
            (stranger_api.read("/providers/700/applications"), "E4012"),
            (stranger_api.read(PATH), "E4012"),
            (stranger_api.read(f"/applications/{application.pk}"), "E4002"),
            (stranger_api.replace(f"/applications/{application.pk}/status", move), "E4002"),
        ):
            assert_error(answer, 404, code)
        assert_error(stranger_api.send("/provider-offers", terms), 403, "E2011")
        assert not application.is_sent_to(stranger)
        assert stranger_api.read("/scoring/models").json()["total"] == 0

    def test_invited_account_can_list_and_accept_the_invitation(self, api, provider, stranger, stranger_api):
        application = submitted()
        invite(api, stranger.username)
        page = stranger_api.read("/providers").json()
        assert [(member["provider_id"], member["membership"]) for member in page["providers"]] == [("700", "invited")]
        accepted = accept(stranger_api)
        assert accepted.status_code == 200
        assert accepted.json() == {
            "user_id": str(stranger.pk), "username": stranger.username, "role": "reviewer", "is_owner": False,
        }  # fmt: skip
        assert accept(stranger_api).json() == accepted.json(), "again is no error"
        assert stranger_api.read("/providers").json()["providers"][0]["membership"] == "member"
        assert stranger_api.read(f"/applications/{application.pk}").status_code == 200
        shown = api.read(PATH).json()
        assert ([member["user_id"] for member in shown["members"]], shown["invitations"]) == (
            [str(provider.owner_id), str(stranger.pk)], [],
        )  # fmt: skip

    def test_member_invitation_expires_after_7_days_and_can_be_revoked(self, api, provider, stranger, stranger_api):
        invite(api, stranger.username)
        [shown] = api.read(PATH).json()["invitations"]
        ProviderInvitation.objects.update(invited_at=timezone.now() - timedelta(days=7, seconds=1))
        assert_error(accept(stranger_api), 404, "E4012")
        assert stranger_api.read("/providers").json()["total"] == 0
        assert api.read(PATH).json()["invitations"] == []
        assert_error(api.remove(f"/providers/700/invitations/{shown['id']}"), 404, "E4001")
        invite(api, stranger.username)
        [shown] = api.read(PATH).json()["invitations"]
        assert api.remove(f"/providers/700/invitations/{shown['id']}").status_code == 200
        assert_error(api.remove(f"/providers/700/invitations/{shown['id']}"), 404, "E4001")
        assert_error(accept(stranger_api), 404, "E4012")

    @pytest.mark.parametrize("reason", ["disabled", "no longer an owner"])
    def test_member_invitation_ends_when_its_inviter_loses_the_owner_role(
        self, api, provider, user, colleague, stranger, stranger_api, reason
    ):
        assert api.send(PATH, {"username": stranger.username, "role": "owner"}).status_code == 202
        if reason == "disabled":
            type(user).objects.filter(pk=user.pk).update(is_active=False)
        else:
            ProviderMember.objects.filter(provider=provider, user=user).update(role="reader")
        assert_error(accept(stranger_api), 404, "E4012")
        assert stranger_api.read("/providers").json()["total"] == 0
        assert not ProviderMember.objects.filter(user=stranger).exists()
        ProviderMember.objects.filter(user=colleague).update(role="owner")
        assert_error(accept(stranger_api), 404, "E4012")
        assert invite(client_of(colleague), stranger.username).status_code == 202
        assert accept(stranger_api).json()["role"] == "reviewer"

    def test_member_invitation_without_a_stored_inviter_requires_any_active_owner(
        self, api, provider, stranger, stranger_api
    ):
        invite(api, stranger.username)
        ProviderInvitation.objects.update(invited_by=None)
        assert accept(stranger_api).status_code == 200

    def test_lender_owner_can_remove_a_member(self, api, provider, stranger, stranger_api):
        invite(api, stranger.username)
        accept(stranger_api)
        assert_error(api.remove(f"{PATH}/{provider.owner_id}"), 400, "E1001")
        assert api.remove(f"{PATH}/{stranger.pk}").status_code == 200
        assert_error(stranger_api.read("/providers/700/applications"), 404, "E4012")
        assert_error(api.remove(f"{PATH}/{stranger.pk}"), 404, "E4001")


class TestRightsOfMembers:
    def calls(self, client, stranger):
        """Yield the responses to all calls that change the members of the provider."""
        yield invite(client, stranger.username)
        yield client.remove(f"{PATH}/{stranger.pk}")
        yield client.remove("/providers/700/invitations/01900000-0000-7000-8000-000000000001")
        yield accept(client)

    def test_app_and_scoped_key_cannot_change_lender_members(self, user, provider, stranger):
        scopes = ["offers:read", "offers:write", "applications:read"]
        client, secret = make_client(scopes=scopes)
        code = code_for(user, client, scope=" ".join(scopes))
        app = ApiClient(bearer=exchange(code, client, secret).json()["access_token"])
        limited = create_api_key(owner=user, name="n", scopes=scopes, now=timezone.now()).key
        for caller in (app, ApiClient(api_key=limited)):
            for answer in self.calls(caller, stranger):
                assert_error(answer, 403, "E2005")
        assert not ProviderInvitation.objects.exists()

    @pytest.mark.parametrize("why", ["has a second factor", "staff need one"])
    def test_login_without_the_second_factor_cannot_change_lender_members(
        self, api, user, provider, stranger, settings, why
    ):
        if why == "staff need one":
            settings.BACKOFFICE_SECOND_FACTOR, user.is_staff = True, True
            user.save()
        else:
            authenticator_of(user)
        key = create_api_key(owner=user, name="n", scopes=None, now=timezone.now()).key
        for caller in (client_of(user), ApiClient(api_key=key)):
            for answer in self.calls(caller, stranger):
                assert_error(answer, 403, "E2012")
        pair = tokens.start_family(user=user, now=timezone.now(), second_factor=True)
        assert invite(ApiClient(bearer=pair.access_token), stranger.username).status_code == 202

    DOORS = (
        ("GET", "/providers/700/applications", None),
        ("GET", "/providers/700/decisions", None),
        ("GET", PATH, None),
        ("POST", PATH, {"username": "new"}),
        ("PUT", "/providers/700", {"name": "Cedar"}),
        ("POST", "/provider-offers", {**TERMS, "provider_id": "700"}),
        ("PUT", "/provider-offers/{offer}", {**TERMS, "name": "Car loan", "provider_id": "700"}),
        ("DELETE", "/provider-offers/{offer}", None),
        ("GET", "/applications/{application}", None),
        ("PUT", "/applications/{application}/status", {"status": "under_review", "updated_by": "me"}),
        ("POST", "/scoring/models", {"provider_id": "700", "name": "Card"}),
    )

    @pytest.mark.parametrize(
        ("why", "credential"), [("the setting", "token"), ("an authenticator", "key"), ("an authenticator", "app")]
    )
    def test_member_without_a_second_factor_cannot_use_lender_rights(self, user, provider, settings, why, credential):
        if why == "the setting":
            settings.BACKOFFICE_SECOND_FACTOR = True
        else:
            authenticator_of(user)
        application = ApplicationFactory(provider_id=700, status="submitted", submitted_at=timezone.now())
        offer = OfferFactory(provider=provider, owner=user)
        without, with_factor = (self.client_with(user, credential, is_second) for is_second in (False, True))
        for method, path, body in self.DOORS:
            address = path.format(offer=offer.pk, application=application.pk)
            refused, allowed = (client.call(method, address, body, key=True) for client in (without, with_factor))
            if credential == "app" and allowed.status_code in {403, 404}:  # Apps can't manage members or decide.
                assert refused.status_code in {403, 404}, (method, path)
            else:
                assert (refused.status_code, refused.json().get("code")) == (403, "E2012"), (method, path)
                assert allowed.status_code < 300, (method, path)

    def client_with(self, user, credential, has_second_factor):
        fields = {"now": timezone.now(), "second_factor": has_second_factor}
        if credential == "key":
            key = create_api_key(owner=user, name=f"{has_second_factor}", scopes=None, **fields).key
            return ApiClient(api_key=key)
        if credential == "app":
            app = make_client(name=f"App {has_second_factor}", scopes=list(SCOPES))[0]
            fields |= {"client": app, "scope": " ".join(SCOPES)}
        return ApiClient(bearer=tokens.start_family(user=user, **fields).access_token)

    def test_member_without_the_owner_role_cannot_manage_members_or_invitations(self, api, colleague, user, stranger):
        client = client_of(colleague)
        invite(api, stranger.username)
        page = client.read(PATH).json()
        assert (page["total"], page["invitations"]) == (2, [])
        assert_error(invite(client, user.username), 403, "E2011")
        assert_error(client.remove(f"{PATH}/{colleague.pk}"), 403, "E2011")

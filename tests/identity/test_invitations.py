"""Test invitations over the API, the command, and the back office, and the effect of a mailed link."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from config.core.groups import OPERATIONS
from config.mail.models import OutgoingMail
from config.ops.pruning import prune
from config.webhooks.models import Event
from credit.models import ProviderMember
from identity.accounts import invitations
from identity.accounts.addresses import confirm
from identity.accounts.invitations import accept, find
from identity.accounts.links import LinkEnded, end_links, find_link, make_link, use_link
from identity.models import AccountHistory, Invitation, OneTimeLink, User
from tests.api import ApiClient, assert_error, client_of
from tests.factories import ProviderFactory, UserFactory
from tests.identity.support import issue
from tests.races import run_concurrently

PATH = "/invitations"
EMAIL = "jane@example.org"


@pytest.fixture
def operator(db):
    """Return a client of an Operations user, who has permission to invite."""
    person = UserFactory(username="olga", is_staff=True)
    person.groups.add(Group.objects.get(name=OPERATIONS))
    return client_of(person)


@pytest.fixture
def jane(db):
    return person_with(EMAIL)


def person_with(email):
    """Return a user with a confirmed address."""
    person = UserFactory()
    confirm(person, email)
    return User.objects.get(pk=person.pk)


def invited(client, role="developer", email=EMAIL, **more):
    """Send an invitation; return the response and the token in the mail."""
    answer = client.send(PATH, {"email": email, "role": role, **more})
    assert answer.status_code == 201, answer.content
    return answer.json(), token_of()


def token_of(template="invitation"):
    mail = OutgoingMail.objects.filter(template=template).latest("created_at", "id")
    return json.loads(mail.context)["link"].rpartition("/")[2]


def test_an_invitation_is_sent_by_mail_and_can_be_accepted_only_once(operator, jane, api):
    shown, token = invited(operator)
    assert (shown["email"], shown["role"], shown["state"]) == (EMAIL, "developer", "waiting")
    assert token not in json.dumps(shown)
    for _ in range(2):  # GET changes nothing
        assert str(find(token, now=timezone.now()).pk) == shown["id"]
    assert accept(token, jane, timezone.now()).accepted_by == jane
    with pytest.raises(LinkEnded):
        accept(token, jane, timezone.now())
    assert operator.read(PATH).json()["invitations"][0]["state"] == "accepted"
    assert api.read(PATH).json()["total"] == 0, "nobody else's"
    inviter = User.objects.get(username="olga")
    events = Event.objects.filter(account_id=inviter.pk).order_by("id")
    assert [event.type for event in events] == ["invitation.created", "invitation.accepted"]
    assert EMAIL not in json.dumps([event.object for event in events])
    actions = AccountHistory.objects.order_by("id").values_list("account_id", "action")
    assert list(actions) == [(inviter.pk, "invitation.created"), (jane.pk, "invitation.accepted")]


def revoked(operator, shown):
    assert operator.remove(f"{PATH}/{shown['id']}").status_code == 200


def without_inviter(operator, shown):
    User.objects.filter(username="olga").update(is_active=False)


def without_right(operator, shown):
    User.objects.get(username="olga").groups.clear()


@pytest.mark.parametrize("ending", [revoked, without_inviter, without_right])
def test_a_revoked_invitation_grants_no_role(operator, jane, ending):
    shown, token = invited(operator, "partner")
    ending(operator, shown)
    with pytest.raises(LinkEnded):
        find(token, now=timezone.now())
    with pytest.raises(LinkEnded):
        accept(token, jane, timezone.now())
    assert not jane.groups.exists()


def test_invitation_can_be_accepted_only_before_its_expiry_by_the_invited_address(operator, jane):
    _shown, real = invited(operator, "partner")
    for person, token, days in (
        (person_with("other@example.org"), real, 0), (UserFactory(), real, 0), (jane, real, 7), (jane, "x" * 43, 0),
        (jane, "", 0),
    ):  # fmt: skip
        with pytest.raises(LinkEnded):
            accept(token, person, timezone.now() + timedelta(days=days))
        assert not person.groups.exists()
    assert Invitation.objects.get().accepted_at is None


def test_invitation_accepts_any_case_of_its_address_and_rejects_disabled_accounts(operator, jane):
    _shown, token = invited(operator, email="JANE@Example.org")
    jane.is_active = False
    with pytest.raises(LinkEnded):
        accept(token, jane, timezone.now())
    jane.is_active = True
    assert accept(token, jane, timezone.now())


def test_invited_partners_and_lenders_are_added_to_their_group(operator, jane):
    for role in ("partner", "lender"):
        accept(invited(operator, role)[1], jane, timezone.now())
    assert sorted(jane.groups.values_list("name", flat=True)) == ["Lender", "Partner"]
    assert not User.objects.get(pk=jane.pk).is_staff


def test_only_the_owner_of_a_lender_can_invite_members(api, stranger_api, operator, user, jane):
    provider = ProviderFactory(id="700", owner=user)
    _shown, token = invited(api, "member", provider_id=provider.pk)
    accept(token, jane, timezone.now())
    assert ProviderMember.objects.filter(provider=provider, user=jane).exists()
    for caller in (stranger_api, operator):
        body = {"email": EMAIL, "role": "member", "provider_id": provider.pk}
        assert_error(caller.send(PATH, body), 404, "E4012")
    assert_error(client_of(jane).send(PATH, {"email": EMAIL, "role": "member", "provider_id": "700"}), 403, "E2011")
    assert_error(api.send(PATH, {"email": EMAIL, "role": "member"}), 400, "E1001")


def test_the_invitation_of_a_disabled_owner_grants_no_role(api, user):
    ProviderFactory(id="700", owner=user)
    people = {role: person_with(f"{role}@example.org") for role in ("member", "owner", "reviewer", "reader")}
    tokens = {role: invited(api, role, email=person.email, provider_id="700")[1] for role, person in people.items()}
    User.objects.filter(pk=user.pk).update(is_active=False)
    for role, token in tokens.items():
        with pytest.raises(LinkEnded):
            accept(token, people[role], timezone.now())
    assert not ProviderMember.objects.filter(user__in=people.values()).exists()


def test_joining_a_lender_revokes_other_invitations_of_the_address_to_the_same_lender(api, user, jane):
    for number in ("700", "701"):
        ProviderFactory(id=number, owner=user)
    first, token = invited(api, "reader", provider_id="700")
    again = api.send(PATH, {"email": EMAIL.upper(), "role": "owner", "provider_id": "700"})
    assert assert_error(again, 400, "E1001")["details"][0]["field"] == "email"
    Invitation.objects.filter(pk=first["id"]).update(provider_id="701")
    invited(api, "owner", email=EMAIL.upper(), provider_id="700")
    Invitation.objects.filter(pk=first["id"]).update(provider_id="700")
    elsewhere, _token = invited(api, "reader", provider_id="701")
    accept(token, jane, timezone.now())
    states = {shown["id"]: shown["state"] for shown in api.read(PATH).json()["invitations"]}
    assert sorted(states.values()) == ["accepted", "revoked", "waiting"]
    assert (states[first["id"]], states[elsewhere["id"]]) == ("accepted", "waiting")
    assert ProviderMember.objects.get(user=jane).role == "reader"


def test_invitation_fields_that_a_role_does_not_use_are_rejected(api, user):
    ProviderFactory(id="700", owner=user)
    superuser = client_of(UserFactory(is_staff=True, is_superuser=True))
    for role in ("developer", "partner", "lender"):
        for field, value in {"provider_id": "700", "group": "Reviewer"}.items():
            assert_error(superuser.send(PATH, {"email": EMAIL, "role": role, field: value}), 400, "E1001")
    staff = {"email": EMAIL, "role": "staff", "group": "Reviewer", "provider_id": "700"}
    assert_error(superuser.send(PATH, staff), 400, "E1001")
    owner = {"email": EMAIL, "role": "owner", "provider_id": "700", "group": "Reviewer"}
    assert_error(api.send(PATH, owner), 400, "E1001")
    assert not Invitation.objects.exists()


def test_only_superusers_can_invite_staff(operator, jane):
    body = {"email": EMAIL, "role": "staff", "group": "Reviewer"}
    assert_error(operator.send(PATH, body), 403, "E2005")
    superuser = client_of(UserFactory(is_staff=True, is_superuser=True))
    for group in ("", "Partner", "Lender", "Nobody"):
        assert_error(superuser.send(PATH, {**body, "group": group}), 400, "E1001")
    _shown, token = invited(superuser, "staff", group="Reviewer")
    accept(token, jane, timezone.now())
    person = User.objects.get(pk=jane.pk)
    assert (person.is_staff, person.is_superuser, [item.name for item in person.groups.all()]) == (
        True, False, ["Reviewer"],
    )  # fmt: skip


def test_invitation_to_an_invalid_address_or_above_the_pending_limit_is_rejected(operator, jane, monkeypatch):
    for email in ("jane", "a b@c.de", "x" * 250 + "@a.de", "a@b.de\nBcc: c@d.de"):
        assert_error(operator.send(PATH, {"email": email, "role": "developer"}), 400, "E1001")
    assert not OutgoingMail.objects.exists()
    monkeypatch.setattr(invitations, "WAITING_MAX", 2)
    known, _token = invited(operator)
    unknown, _token = invited(operator, email="nobody@example.org")
    own = dict.fromkeys(("id", "created_at", "expires_at", "email"))
    assert known | own == unknown | own, "the response does not show whether an account exists"
    assert_error(operator.send(PATH, {"email": "third@example.org", "role": "developer"}), 400, "E1001")


def test_accounts_without_permission_cannot_create_or_list_invitations(user, api):
    key = ApiClient(api_key=issue(user).key)
    for caller in (api, key):
        assert_error(caller.send(PATH, {"email": EMAIL, "role": "developer"}), 403, "E2005")
    assert_error(key.read(PATH), 403, "E2005")
    assert not OutgoingMail.objects.exists()


def test_invite_command_creates_an_invitation(db, jane):
    call_command("invite", EMAIL, "--role", "partner", stdout=StringIO())
    accept(token_of(), jane, timezone.now())
    assert jane.groups.get().name == "Partner"
    for wrong in (["--role", "staff"], ["--role", "member"], ["--role", "member", "--provider-id", "none"]):
        with pytest.raises(CommandError):
            call_command("invite", EMAIL, *wrong, stdout=StringIO())


def test_prune_deletes_invitations_one_month_after_they_end(operator):
    invited(operator)
    end = Invitation.objects.get().expires_at
    prune(now=end + timedelta(days=29))
    assert Invitation.objects.exists()
    assert prune(now=end + timedelta(days=30))["invitations"] == 1
    assert not Invitation.objects.exists()


def made_link(**options):
    return make_link("invitation", email=EMAIL, subject="7", lasts=timedelta(days=7), now=timezone.now(), **options)


def test_one_time_link_works_only_once_and_remains_valid_after_opening_its_page(db):
    token, ended = made_link(), make_link("claim", email=EMAIL, subject="8", lasts=timedelta(7), now=timezone.now())
    for _ in range(2):
        assert find_link(token, "invitation", now=timezone.now()).subject == "7"
    assert use_link(token, "invitation", email="JANE@example.org", now=timezone.now()).email == EMAIL
    assert end_links("claim", subject="8", now=timezone.now()) == 1
    for open_it in (find_link, use_link):
        for text, purpose in ((token, "invitation"), (ended, "claim")):
            with pytest.raises(LinkEnded):
                open_it(text, purpose, now=timezone.now())
    assert prune(now=timezone.now() + timedelta(days=8))["one_time_links"] == 2
    assert not OneTimeLink.objects.exists()


def test_one_time_link_is_valid_only_for_its_purpose_its_address_and_its_validity_period(db):
    token = made_link()
    for wrong in (
        {"purpose": "claim"}, {"email": "other@example.org"}, {"now": timezone.now() + timedelta(days=8)},
        {"token": "x"}, {"token": ""}, {"token": "\x00"},
    ):  # fmt: skip
        fields = {"token": token, "purpose": "invitation", "email": EMAIL, "now": timezone.now()} | wrong
        with pytest.raises(LinkEnded):
            use_link(**fields)
    assert use_link(token, "invitation", email=EMAIL, now=timezone.now())


def test_table_of_one_time_links_contains_no_plaintext_tokens_and_no_addresses(db):
    token = made_link()
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM identity_onetimelink")
        kept = str(cursor.fetchall())
    assert token not in kept
    assert EMAIL not in kept


def test_only_one_of_concurrent_uses_of_a_one_time_link_succeeds(committed):
    token = made_link()

    def use():
        try:
            return use_link(token, "invitation", now=timezone.now()) is not None
        except LinkEnded:
            return False

    assert run_concurrently(*[use] * 6).count(True) == 1

"""Test what owners of a lender change in the console: members, invitations, and the postal address."""

import pytest
from django.urls import reverse

from config.mail.models import OutgoingMail
from credit.models import Provider, ProviderMember
from identity.models import Invitation
from tests.backoffice.lenders import ROLES, console_client, lender_of
from tests.backoffice.pages import confirm, text_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def lender():
    return lender_of("quartz", 701)


def page_of(lender):
    return reverse("admin:credit_provider_change", args=[str(lender.number)])


def invite_of(lender):
    return reverse("admin:credit_provider_do", args=[str(lender.number), "invite"])


def test_owner_can_invite_a_lender_member_by_mail(lender):
    owner = console_client(lender.people["owner"])
    page = owner.get(page_of(lender))
    assert "Invite a member" in text_of(page)
    assert page.context["title"] == "Bank quartz (701)"
    assert b"_continue" not in page.content
    answer = confirm(owner, invite_of(lender), email="new@example.test", role="reviewer")
    assert "The invitation was sent by mail." in text_of(answer)
    invitation = Invitation.objects.get()
    assert (invitation.email, invitation.role, invitation.provider_id) == ("new@example.test", "reviewer", "701")
    assert invitation.invited_by == lender.people["owner"]
    assert OutgoingMail.objects.count() == 1
    assert "new@example.test reviewer, expires" in text_of(owner.get(page_of(lender)))
    assert not ProviderMember.objects.filter(user__email="new@example.test").exists()


def test_team_link_opens_the_page_of_the_only_lender(lender):
    client = console_client(lender.people["owner"])
    changelist = reverse("admin:credit_provider_changelist")
    assert client.get(changelist).headers["Location"] == page_of(lender)
    assert client.get(changelist + "?q=quartz").status_code == 200


@pytest.mark.parametrize("role", ROLES)
def test_offer_list_shows_owners_the_create_button(lender, role):
    page = console_client(lender.people[role]).get(reverse("admin:credit_offer_changelist")).content.decode()
    address = reverse("admin:credit_provider_do", args=[str(lender.number), "offer"])
    assert (f'href="{address}">Create an offer</a>' in page) == (role == "owner")


@pytest.mark.parametrize("role", ROLES[1:])
def test_lender_members_who_are_not_owners_cannot_manage_invitations(lender, role):
    confirm(console_client(lender.people["owner"]), invite_of(lender), email="new@example.test", role="reader")
    client = console_client(lender.people[role])
    text = text_of(client.get(page_of(lender)))
    assert "Invite a member" not in text
    assert "new@example.test" not in text
    assert client.get(invite_of(lender)).status_code == 403
    assert client.post(invite_of(lender), {"seen": "701", "email": "x@y.test", "role": "owner"}).status_code == 403
    assert Invitation.objects.count() == 1


def test_owner_cannot_invite_to_another_lender(lender):
    other = lender_of("zircon", 702)
    client = console_client(lender.people["owner"])
    response = client.post(invite_of(other), {"seen": "702", "email": "x@y.test", "role": "owner"})
    assert response.status_code in {302, 403}
    assert not Invitation.objects.exists()


def test_staff_without_an_owned_lender_cannot_invite_members(lender, reviewers_client, operations_client):
    for client in (reviewers_client, operations_client):
        assert "Invite a member" not in text_of(client.get(page_of(lender)))
        assert client.get(invite_of(lender)).status_code == 403


@pytest.mark.parametrize("fields", [{"email": "no address", "role": "reader"}, {"email": "a@b.test", "role": "boss"}])
def test_invitation_form_shows_an_invalid_email_or_role_at_the_field(lender, fields):
    answer = confirm(console_client(lender.people["owner"]), invite_of(lender), **fields)
    assert len(answer.context["form"].errors) == 1
    assert not Invitation.objects.exists()


def test_invitations_above_the_limit_are_rejected_with_a_message(lender, monkeypatch):
    monkeypatch.setattr("identity.accounts.invitations.WAITING_MAX", 1)
    owner = console_client(lender.people["owner"])
    confirm(owner, invite_of(lender), email="a@example.test", role="reader")
    answer = confirm(owner, invite_of(lender), email="b@example.test", role="reader")
    assert "at most 1 open invitations" in text_of(answer)
    assert Invitation.objects.count() == 1


def test_second_factor_page_states_whether_the_factor_is_required(lender, client, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    sentence = "You must add an app or a passkey before you can open the back office."
    for person, must in ((lender.people["reader"], True), (UserFactory(is_staff=True), False), (UserFactory(), False)):
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        assert (sentence in client.get(reverse("mfa_index")).content.decode()) == must
    settings.BACKOFFICE_SECOND_FACTOR = True
    client.force_login(UserFactory(is_staff=True), backend="django.contrib.auth.backends.ModelBackend")
    assert sentence in client.get(reverse("mfa_index")).content.decode()


def test_owner_can_revoke_only_invitations_of_their_lender(lender):
    owner, other = console_client(lender.people["owner"]), lender_of("zircon", 702)
    path = reverse("admin:credit_provider_do", args=[str(lender.number), "revoke"])
    assert "No invitations are pending." in text_of(owner.get(path, follow=True))
    confirm(owner, invite_of(lender), email="new@example.test", role="reviewer")
    confirm(console_client(other.people["owner"]), invite_of(other), email="far@example.test", role="reviewer")
    theirs = Invitation.objects.get(provider_id="702")
    assert "far@example.test" not in text_of(owner.get(path))
    owner.post(path, {"seen": "701", "invitation": str(theirs.pk)})
    mine = Invitation.objects.get(provider_id="701")
    assert "The invitation was revoked." in text_of(confirm(owner, path, invitation=str(mine.pk)))
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.state, theirs.state) == ("revoked", "waiting")
    for role in ROLES[1:]:
        assert console_client(lender.people[role]).get(path).status_code == 403


class TestPostalAddress:
    @staticmethod
    def address_of(lender):
        return reverse("admin:credit_provider_do", args=[str(lender.number), "address"])

    def test_owner_can_set_the_postal_address_in_the_console(self, lender):
        provider = Provider.objects.get(pk=str(lender.number))
        owner = console_client(lender.people["owner"])
        confirm(owner, self.address_of(lender), postal_address=" 1  Bank Street \r\n\r\nSpringfield")
        changed = Provider.objects.get(pk=provider.pk)
        assert changed.address == "1 Bank Street\nSpringfield"
        confirm(owner, self.address_of(lender), postal_address="2 Bank Street")
        assert Provider.objects.get(pk=provider.pk).address == "2 Bank Street"
        assert (changed.name, changed.name_key, changed.phone) == (provider.name, provider.name_key, provider.phone)

    @pytest.mark.parametrize("address", ["", " ", "1 Bank\u202eStreet", "x" * 501])
    def test_address_form_rejects_a_blank_or_invalid_address_at_the_field(self, lender, address):
        before = Provider.objects.get(pk=str(lender.number)).address
        answer = confirm(console_client(lender.people["owner"]), self.address_of(lender), postal_address=address)
        assert list(answer.context["form"].errors) == ["postal_address"]
        assert Provider.objects.get(pk=str(lender.number)).address == before

    @pytest.mark.parametrize("role", ROLES[1:])
    def test_members_who_are_not_owners_cannot_set_the_address(self, lender, role):
        client = console_client(lender.people[role])
        assert client.get(self.address_of(lender)).status_code == 403
        assert client.post(self.address_of(lender), {"seen": "x", "postal_address": "1 Bank Street"}).status_code == 403

    def test_address_form_of_a_lender_without_a_name_refers_to_the_api(self, lender):
        Provider.objects.filter(pk=str(lender.number)).update(name="", name_key=None)
        page = console_client(lender.people["owner"]).get(self.address_of(lender), follow=True)
        assert "Set the lender's name first, with PUT /v1/providers/701." in text_of(page)

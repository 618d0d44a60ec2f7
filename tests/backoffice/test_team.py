"""Test what owners of a lender change in the console: members, invitations, and the data of the lender."""

import pytest
from django.urls import reverse
from django.utils import timezone

from config.core.lifecycle import Actor
from config.core.names import name_key
from config.mail.models import OutgoingMail
from config.mail.outbox import queue_requested_mail
from credit.core.eu_credit import LENDER_FIELDS
from credit.models import Provider, ProviderMember
from identity.accounts.invitations import invite
from identity.models import Invitation
from tests.backoffice.lenders import ROLES, console_client, lender_of
from tests.backoffice.pages import confirm, messages_of, seen_value, send_form, text_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def lender():
    return lender_of("quartz", 701)


def page_of(lender):
    return reverse("admin:credit_provider_change", args=[str(lender.number)])


def invite_of(lender):
    return reverse("admin:credit_provider_do", args=[str(lender.number), "invite"])


def test_lender_owner_can_invite_a_member_by_mail(lender):
    owner = console_client(lender.people["owner"])
    page = owner.get(page_of(lender))
    assert "Invite a member" in text_of(page)
    assert page.context["title"] == "Bank quartz (701)"
    assert b"_continue" not in page.content
    answer = confirm(owner, invite_of(lender), email="new@example.test", role="reviewer")
    assert "The invitation is stored." in text_of(answer)
    invitation = Invitation.objects.get()
    assert (invitation.email, invitation.role, invitation.provider_id) == ("new@example.test", "reviewer", "701")
    assert invitation.invited_by == lender.people["owner"]
    assert OutgoingMail.objects.count() == 1
    assert "new@example.test Reviewer invited expires" in text_of(owner.get(page_of(lender)))
    assert not ProviderMember.objects.filter(user__email="new@example.test").exists()
    now = timezone.now()
    invite(actor=Actor.system("test"), email="old@example.test", role="member", provider_id="701", now=now)
    text = text_of(console_client(lender.people["owner"]).get(page_of(lender)))
    assert "old@example.test Reviewer invited expires" in text


def test_invitation_above_the_mail_limit_of_the_address_sends_no_mail(lender, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_recipient": 1}
    owner = console_client(lender.people["owner"])
    queue_requested_mail("new@example.test", "has_no_account", {}, now=timezone.now())
    answer = confirm(owner, invite_of(lender), email="new@example.test", role="reviewer")
    assert "The invitation is stored. The link is mailed, unless" in text_of(answer)
    assert (Invitation.objects.count(), OutgoingMail.objects.count()) == (1, 1)


def test_second_invitation_of_an_address_to_the_same_lender_is_rejected(lender):
    owner = console_client(lender.people["owner"])
    for email in ("new@example.test", "NEW@Example.test"):
        answer = confirm(owner, invite_of(lender), email=email, role="reader")
    assert "The address has an open invitation to this lender." in text_of(answer)
    assert Invitation.objects.count() == OutgoingMail.objects.count() == 1


def test_lender_list_redirects_owners_to_their_lender_and_offer_list_shows_owners_a_create_button(lender):
    client = console_client(lender.people["owner"])
    changelist = reverse("admin:credit_provider_changelist")
    assert client.get(changelist).headers["Location"] == page_of(lender)
    assert client.get(changelist + "?q=quartz").status_code == 200
    for role in ROLES:
        page = console_client(lender.people[role]).get(reverse("admin:credit_offer_changelist")).content.decode()
        address = reverse("admin:credit_provider_do", args=[str(lender.number), "offer"])
        assert (f'href="{address}">Create an offer</a>' in page) == (role == "owner"), role


@pytest.mark.parametrize("role", ROLES[1:])
def test_lender_members_who_are_not_owners_cannot_manage_invitations(lender, role):
    send_form(console_client(lender.people["owner"]), invite_of(lender), email="new@example.test", role="reader")
    client = console_client(lender.people[role])
    text = text_of(client.get(page_of(lender)))
    assert "Invite a member" not in text
    assert "new@example.test" not in text
    assert client.get(invite_of(lender)).status_code == 403
    assert client.post(invite_of(lender), {"seen": "701", "email": "x@y.test", "role": "owner"}).status_code == 403
    assert Invitation.objects.count() == 1


def test_staff_and_owners_of_other_lenders_cannot_invite_members(lender, reviewers_client, operations_client):
    for client in (reviewers_client, operations_client):
        assert "Invite a member" not in text_of(client.get(page_of(lender)))
        assert client.get(invite_of(lender)).status_code == 403
    other = lender_of("zircon", 702)
    client = console_client(lender.people["owner"])
    response = client.post(invite_of(other), {"seen": "702", "email": "x@y.test", "role": "owner"})
    assert response.status_code == 404
    assert not Invitation.objects.exists()


def test_invalid_invitations_and_invitations_above_the_limit_are_rejected(lender, monkeypatch):
    for fields in [{"email": "no address", "role": "reader"}, {"email": "a@b.test", "role": "boss"}]:
        answer = confirm(console_client(lender.people["owner"]), invite_of(lender), **fields)
        assert len(answer.context["form"].errors) == 1, fields
        assert not Invitation.objects.exists(), fields
    monkeypatch.setattr("identity.accounts.invitations.WAITING_MAX", 1)
    owner = console_client(lender.people["owner"])
    send_form(owner, invite_of(lender), email="a@example.test", role="reader")
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


def revoke_of(lender, invitation):
    return reverse("admin:credit_provider_revoke", args=[str(lender.number), invitation.pk])


def test_lender_owner_can_revoke_only_invitations_of_their_lender(lender):
    owner, other = console_client(lender.people["owner"]), lender_of("zircon", 702)
    send_form(owner, invite_of(lender), email="new@example.test", role="reviewer")
    send_form(console_client(other.people["owner"]), invite_of(other), email="far@example.test", role="reviewer")
    theirs, mine = Invitation.objects.get(provider_id="702"), Invitation.objects.get(provider_id="701")
    assert "far@example.test" not in text_of(owner.get(page_of(lender)))
    assert "The invitation has already ended." in messages_of(send_form(owner, revoke_of(lender, theirs)))
    assert revoke_of(lender, mine) in owner.get(page_of(lender)).content.decode()
    for role in ROLES[1:]:
        assert console_client(lender.people[role]).post(revoke_of(lender, mine)).status_code == 403
    assert "The invitation was revoked." in messages_of(send_form(owner, revoke_of(lender, mine)))
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.state, theirs.state) == ("revoked", "waiting")


class TestMembers:
    @staticmethod
    def address_of(lender, role, verb):
        member = ProviderMember.objects.get(provider=str(lender.number), user=lender.people[role])
        return reverse("admin:credit_provider_member", args=[str(lender.number), member.pk, verb])

    def test_member_list_shows_the_lender_owner_how_members_log_in(self, lender):
        person = lender.people["reviewer"]
        person.first_name, person.last_name, person.email = "Ada", "Reyes", "ada@example.test"
        person.save()
        console_client(person)
        text = text_of(console_client(lender.people["owner"]).get(page_of(lender)))
        assert "Ada Reyes ada@example.test Reviewer On" in text
        assert "reader-quartz" in text
        readers_text = text_of(console_client(lender.people["reader"]).get(page_of(lender)))
        assert "Ada Reyes Reviewer" in readers_text
        assert "ada@example.test" not in readers_text
        assert "Second factor" not in readers_text

    def test_lender_owner_can_change_roles_of_members_other_than_the_creator(self, lender):
        owner = console_client(lender.people["owner"])
        for verb, fields in (("change", {"role": "reader"}), ("remove", {})):
            text = text_of(confirm(owner, self.address_of(lender, "owner", verb), **fields))
            assert "The account that created the lender must remain an owner." in text
        assert ProviderMember.objects.get(user=lender.people["owner"]).role == "owner"
        owner, address = console_client(lender.people["owner"]), self.address_of(lender, "reader", "change")
        seen = seen_value(owner.get(address))
        ProviderMember.objects.filter(user=lender.people["reader"]).update(role="owner")
        answer = owner.post(address, {"seen": seen, "role": "reviewer"})
        assert "changed after you opened the page" in text_of(answer)
        owner = console_client(lender.people["owner"])
        change, remove = (self.address_of(lender, "reader", verb) for verb in ("change", "remove"))
        assert "The role of reader-quartz is now reviewer." in messages_of(send_form(owner, change, role="reviewer"))
        assert ProviderMember.objects.get(user=lender.people["reader"]).role == "reviewer"
        assert "The member reader-quartz was removed." in messages_of(send_form(owner, remove))
        assert not ProviderMember.objects.filter(user=lender.people["reader"]).exists()

    def test_only_owners_of_the_lender_can_change_members(self, lender):
        for role in ROLES[1:]:
            client = console_client(lender.people[role])
            for verb, fields in (("change", {"role": "owner"}), ("remove", {})):
                address = self.address_of(lender, role, verb)
                assert client.get(address).status_code == 403, role
                assert client.post(address, {"seen": role, **fields}).status_code == 403, role
            assert ProviderMember.objects.get(user=lender.people[role]).role == role, role
        other = lender_of("zircon", 702)
        owner = console_client(lender.people["owner"])
        assert owner.post(self.address_of(other, "reader", "remove"), {"seen": "reader"}).status_code == 404
        member = ProviderMember.objects.get(user=other.people["reader"])
        foreign = reverse("admin:credit_provider_member", args=["701", member.pk, "remove"])
        assert owner.post(foreign, {"seen": "reader"}).status_code == 403
        assert ProviderMember.objects.filter(user=other.people["reader"]).exists()


def sent(client, place, **fields):
    """Open a form and send it; return the response after redirects. The fields can be named like arguments."""
    return client.post(place, {"seen": seen_value(client.get(place)), **fields}, follow=True)


class TestLenderData:
    @staticmethod
    def address_of(lender):
        return reverse("admin:credit_provider_do", args=[str(lender.number), "lender"])

    def test_lender_owner_can_change_the_lenders_data_in_the_console(self, lender):
        owner, place = console_client(lender.people["owner"]), self.address_of(lender)
        fields = {
            "name": "Quartz Lending", "address": " 1  Bank Street \r\n\r\nSpringfield", "phone": "+1 515 555 0100",
            "email": "help@quartz.example", "agency": "ftc", "supervisor_name": "Authority",
            "supervisor_address": "2 Main Street",
        }  # fmt: skip
        assert "The lender's data are stored." in text_of(sent(owner, place, **fields))
        changed = Provider.objects.get(pk=str(lender.number))
        assert (changed.name, changed.address) == ("Quartz Lending", "1 Bank Street\n\nSpringfield")
        assert (changed.phone, changed.email, changed.agency) == ("+1 515 555 0100", "help@quartz.example", "ftc")
        assert changed.supervisor == {"name": "Authority", "address": "2 Main Street"}
        assert (changed.redress, changed.register_number) == (None, None)
        initial = owner.get(place).context["form"].initial
        assert {name: initial[name] for name in ("name", "phone", "supervisor_name")} == {
            "name": "Quartz Lending", "phone": "+1 515 555 0100", "supervisor_name": "Authority",
        }  # fmt: skip

    def test_lender_data_form_marks_required_fields_and_shows_errors_at_the_field(self, lender):
        form = console_client(lender.people["owner"]).get(self.address_of(lender)).context["form"]
        title, grouped = form.fieldset
        marked = [*(field.name for field in grouped), *(field.name for field in form if title in field.help_text)]
        assert {name for name in LENDER_FIELDS if not any(field.startswith(name) for field in marked)} == set()
        for fields, at in [
            ({"name": ""}, "name"), ({"address": "1 Bank\u202eStreet"}, "address"), ({"email": "none"}, "email"),
            ({"address": "x" * 501}, "address"), ({"redress_name": "Body"}, "redress_url"),
            ({"redress_name": "Body", "redress_url": "javascript:x"}, "redress_url"),
        ]:  # fmt: skip
            before = Provider.objects.filter(pk=str(lender.number)).values().get()
            named = {"name": "Quartz Lending", "address": "1 Bank Street", **fields}
            answer = sent(console_client(lender.people["owner"]), self.address_of(lender), **named)
            assert list(answer.context["form"].errors) == [at], (fields, at)
            assert Provider.objects.filter(pk=str(lender.number)).values().get() == before, (fields, at)
        lender_of("zircon", 702)
        Provider.objects.filter(pk="702").update(name_key=name_key("Bank zircon"))
        fields = {"name": "BANK ZIRCON", "address": "1 Bank Street"}
        answer = sent(console_client(lender.people["owner"]), self.address_of(lender), **fields)
        assert "Must not look like the name of another lender." in text_of(answer)
        assert Provider.objects.get(pk=str(lender.number)).name == "Bank quartz"
        for role in ROLES[1:]:
            client = console_client(lender.people[role])
            assert client.get(self.address_of(lender)).status_code == 403, role
            assert client.post(self.address_of(lender), {"seen": "x", "name": "Mine"}).status_code == 403, role

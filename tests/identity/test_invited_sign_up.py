"""Test sign-up with an invitation, and acceptance of an invitation by an account."""

import json

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from config.core.lifecycle import Actor
from config.mail.models import OutgoingMail
from identity.accounts.adapter import AccountAdapter
from identity.accounts.addresses import confirm
from identity.accounts.invitations import invite
from identity.models import OneTimeLink, User
from tests.factories import PASSWORD, ProviderFactory, UserFactory
from tests.identity.test_account_pages import EMAIL, log_in, session_of, sign_up
from tests.identity.test_invitations import token_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _invited(settings):
    settings.SIGN_UP = "invited"


def link(role="partner", **options):
    invite(actor=Actor.system("test"), email=EMAIL, role=role, now=timezone.now(), **options)
    return f"/account/invitation/{token_of()}"


@pytest.fixture
def lender():
    return ProviderFactory(id="701", name="Cedar Lending")


def test_sign_up_without_a_valid_invitation_to_the_address_is_rejected(settings):
    assert b"By invitation" in sign_up().content
    path, browser = link(), Client()
    browser.post(path)
    assert "first_name" not in browser.get("/account/signup").context["form"].fields, "only members need a name"
    assert "for another address" in sign_up(browser, "other@example.org").content.decode()
    settings.SIGN_UP = "closed"
    assert b"By invitation" in sign_up(browser).content
    settings.SIGN_UP = "invited"
    OneTimeLink.objects.update(expires_at=timezone.now())
    assert b"By invitation" in sign_up(browser).content
    assert Client().get(path).status_code == 410
    assert not User.objects.exists()


def test_an_invitation_creates_one_account_with_a_confirmed_address():
    path, browser = link(), Client()
    assert EMAIL in browser.get(path).content.decode()
    assert not OneTimeLink.objects.filter(used_at__isnull=False).exists()
    assert browser.post(path).headers["Location"] == "/account/signup"
    sign_up(browser)
    assert EmailAddress.objects.get().verified
    assert User.objects.get().groups.get().name == "Partner"
    assert log_in(EMAIL)[1].headers["Location"] == "/account/"
    again = Client()
    assert again.get(path).status_code == again.post(path).status_code == 410
    assert b"By invitation" in sign_up(again, "other@example.org").content


def test_second_concurrent_sign_up_with_an_invitation_returns_410(monkeypatch):
    path, browser = link(), Client()
    browser.post(path)
    taken = AccountAdapter.generate_unique_username

    def overtaken(*given):
        OneTimeLink.objects.update(used_at=timezone.now())
        return taken(*given)

    monkeypatch.setattr(AccountAdapter, "generate_unique_username", overtaken)
    assert sign_up(browser).status_code == 410
    assert not User.objects.exists()


def test_logged_in_account_can_accept_an_invitation_to_its_address():
    path, jane = link(), UserFactory(email=EMAIL)
    unconfirmed = session_of(jane).post(path).content.decode()
    assert "Your account has not confirmed this address yet." in unconfirmed
    assert "logged in with another address" not in unconfirmed
    other = session_of(UserFactory())
    assert b"logged in with another address" in other.post(path).content
    confirm(jane, EMAIL)
    browser = session_of(jane)
    confirmation = browser.post(path).headers["Location"]
    assert "You accepted the invitation of" in browser.get(confirmation).content.decode()
    assert other.get(confirmation).status_code == 404
    assert Client().get(confirmation).status_code == 302
    assert jane.groups.get().name == "Partner"
    assert browser.post(path).status_code == 410


def test_invitation_page_and_mail_state_the_lender_and_the_role(lender):
    path = link("owner", provider_id=lender.pk)
    for language, text in (
        ("en", "Cedar Lending invites you as an owner."), ("es", "Cedar Lending le invita como propietario."),
    ):  # fmt: skip
        assert text in Client().get(path, headers={"accept-language": language}).content.decode()
    context = json.loads(OutgoingMail.objects.latest("id").context)
    assert (context["inviter"], context["role"]) == ("Cedar Lending", "an owner")


def test_sign_up_of_a_member_requires_a_name(lender):
    browser = Client()
    browser.post(link("owner", provider_id=lender.pk))
    fields = {"email": EMAIL, "password1": PASSWORD}
    assert "first_name" in browser.post("/account/signup", fields).context["form"].errors
    wrong = {**fields, "first_name": "Car\u202emen"}
    assert "first_name" in browser.post("/account/signup", wrong).context["form"].errors
    browser.post("/account/signup", {**fields, "first_name": " Carmen ", "last_name": "de  la Cruz"})
    assert User.objects.get(emailaddress__email=EMAIL).get_full_name() == "Carmen de la Cruz"


def test_sign_up_through_an_invitation_shows_and_confirms_the_invitation(lender):
    browser = Client()
    lender.owner.groups.add(Group.objects.get(name="Lender"))
    path = link("reader", provider_id=lender.pk)
    browser.post(path)
    page = browser.get("/account/signup").content.decode()
    assert "You accept the invitation of Cedar Lending as a reader." in page
    assert "You will get a mail" not in page
    assert f'href="/account/login?next={path}"' in page
    mails = OutgoingMail.objects.count()
    answer = browser.post("/account/signup", {"email": EMAIL, "password1": PASSWORD, "first_name": "Carmen"})
    page = browser.get(answer.headers["Location"]).content.decode()
    assert "You are now a reader of Cedar Lending" in page
    assert 'href="/admin/"' in page
    assert "The console requires a second factor." in page
    assert OutgoingMail.objects.count() == mails


def test_invitation_confirmation_of_an_owner_without_console_access_states_how_to_get_access(lender):
    jane = UserFactory()
    confirm(jane, EMAIL)
    browser = session_of(jane)
    confirmation = browser.post(link("owner", provider_id=lender.pk)).headers["Location"]
    page = browser.get(confirmation).content.decode()
    assert "You are now an owner of Cedar Lending" in page
    assert "to the group Lender" in page
    assert 'href="/admin/"' not in page
    refused = browser.get("/admin/login/", follow=True)
    assert refused.status_code == 403
    assert "You are an owner of Cedar Lending. " in refused.content.decode()
    assert "to the group Lender" in refused.content.decode()
    lender.owner.groups.add(Group.objects.get(name="Lender"))
    assert 'href="/admin/"' in browser.get(confirmation).content.decode()
    jane.providermember_set.all().delete()
    assert browser.get(confirmation).status_code == 404

"""Test the help of Support for the owner of an account, and the history on the account's page."""

import re
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.backoffice.timeline import way_in_words
from config.mail.models import OutgoingMail
from credit.core.figures import reference_of
from identity.access.keys import create_api_key
from identity.access.tokens import start_family
from identity.models import AccountHistory, TokenFamily
from identity.oidc.models import StaffIdentity
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, links_of, messages_of, seen_value, send_form, text_of
from tests.backoffice.test_searches import apply_with
from tests.factories import PASSWORD, ProviderFactory, UserFactory
from tests.second_factors import authenticator_of

pytestmark = pytest.mark.django_db
BECAUSE = {"reason": "Request 42"}


@pytest.fixture
def person():
    return UserFactory(username="jane", email="jane@example.org")


def page_of(person):
    return reverse("admin:identity_user_change", args=[person.pk])


def help_of(person, name):
    return reverse("admin:identity_user_do", args=[person.pk, name])


def actions_of(person):
    return list(AccountHistory.objects.filter(account=person).order_by("id").values_list("action", flat=True))


def test_support_can_send_a_password_reset_mail(supports_client, person):
    assert "The mail to the address of the account waits to be sent." in messages_of(
        send_form(supports_client, help_of(person, "mail-reset"), **BECAUSE)
    )
    sent = OutgoingMail.objects.get()
    assert (sent.template, sent.recipient) == ("forgotten_password", "jane@example.org")
    assert actions_of(person) == ["account.reset_mailed"]
    entry = AccountHistory.objects.get()
    assert (entry.principal.username, entry.details) == ("sam", BECAUSE)


@pytest.mark.parametrize("name", ["mail-reset", "end-sessions", "unlink-issuer", "reset-second-factor"])
def test_support_action_on_an_account_requires_a_reason(superusers_client, person, name):
    authenticator_of(person)
    StaffIdentity.objects.create(user=person, issuer="https://issuer.example", subject="1", created_at=timezone.now())
    seen = seen_value(superusers_client.get(help_of(person, name)))
    for reason in ("", " ", "\u200b"):
        shown = superusers_client.post(help_of(person, name), {"seen": seen, "reason": reason})
        assert "reason" in shown.context["form"].errors
    assert actions_of(person) == []
    confirm(superusers_client, help_of(person, name), **BECAUSE)
    assert AccountHistory.objects.get(account=person).details == BECAUSE


def test_account_history_describes_actions_in_words_and_masks_reasons_written_by_colleagues(
    supports_client, superusers_client, person
):
    confirm(supports_client, help_of(person, "end-sessions"), **BECAUSE)
    address = reverse("admin:identity_accounthistory_change", args=[AccountHistory.objects.get().pk])
    assert "Request 42" in text_of(superusers_client.get(address))
    assert "Request 42" not in text_of(supports_client.get(address))
    entry = AccountHistory.objects.get()
    for address in (
        reverse("admin:identity_accounthistory_changelist"),
        reverse("admin:identity_accounthistory_change", args=[entry.pk]),
    ):
        text = text_of(supports_client.get(address))
        assert "Logged out on all devices" in text
        assert not re.search("account.logged_out|[Pp]rincipal|[Cc]redential", text), address


def test_title_of_an_account_with_a_generated_user_name_is_the_persons_name_or_email_address(
    reviewers_client, supports_client
):
    for username in ["uaf7a01b2c3d4e5f6", "managed-01a22be5-7516-73c8-ba9a-72f6506be445"]:
        person = UserFactory(username=username, email="jane@example.org")
        assert reviewers_client.get(page_of(person)).context["title"] == "jane@example.org", username
        assert supports_client.get(page_of(person)).context["title"] == "j•••", username
        assert "Name No name" in text_of(supports_client.get(page_of(person))), username
        person.first_name = "Jane"
        person.save()
        assert reviewers_client.get(page_of(person)).context["title"] == "Jane", username
        assert supports_client.get(page_of(person)).context["title"] == "J•••", username
    person = UserFactory(username="uaf7a01b2c3d4e5f7", email="")
    page = reviewers_client.get(page_of(person))
    assert page.context["title"] == "uaf7a01b2c3d4e5f7"
    assert "Name No name Email address No address" in text_of(page)


def test_password_reset_mail_counts_toward_the_mail_limit_of_the_address(supports_client, person, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_recipient": 1}
    confirm(supports_client, help_of(person, "mail-reset"), **BECAUSE)
    assert "hourly limit of mails" in text_of(send_form(supports_client, help_of(person, "mail-reset"), **BECAUSE))
    assert OutgoingMail.objects.count() == 1


def test_account_without_an_email_address_or_access_gets_no_password_reset_mail(supports_client):
    for columns in [{"email": ""}, {"is_active": False}]:
        person = UserFactory(**columns)
        supports_client.post(help_of(person, "mail-reset"), {"seen": str(person.pk)})
        assert not OutgoingMail.objects.exists(), columns


def test_support_can_end_all_sessions_of_an_account(supports_client, person):
    browser = Client()
    browser.post("/account/login", {"login": "jane", "password": PASSWORD})
    assert browser.get("/account/").status_code == 200
    start_family(user=person, second_factor=False, now=timezone.now())
    assert "All sessions of the account ended." in messages_of(
        send_form(supports_client, help_of(person, "end-sessions"), **BECAUSE)
    )
    assert browser.get("/account/").status_code == 302
    assert not TokenFamily.objects.filter(user=person, revoked_at__isnull=True).exists()
    assert actions_of(person) == ["account.logged_out"]


def test_only_support_can_take_account_actions_and_staff_accounts_are_excluded(
    supports_client, superusers_client, person
):
    colleague = staff_of("Reviewer", username="rita", email="rita@example.org")
    for name in ["mail-reset", "end-sessions"]:
        for method in (supports_client.get, supports_client.post):
            assert method(help_of(colleague, name)).status_code == 403, name
        assert superusers_client.get(help_of(colleague, name)).status_code == 200, name
    for group in ["Reviewer", "Operations"]:
        client = backoffice_client(staff_of(group))
        assert "Send a password mail" not in text_of(client.get(page_of(person))), group
        assert client.post(help_of(person, "end-sessions"), {"seen": str(person.pk)}).status_code == 403, group


def test_account_page_shows_the_account_history_only_to_permitted_groups(supports_client, reviewers_client, person):
    create_api_key(owner=person, name="Shop", scopes=[], now=timezone.now())
    confirm(supports_client, help_of(person, "mail-reset"), **BECAUSE)
    text = text_of(supports_client.get(page_of(person)))
    assert "Mail for a new password sent" in text
    assert "account.reset_mailed" not in text
    assert "Timeline" not in text_of(reviewers_client.get(page_of(person)))


def test_account_page_shows_support_a_readable_summary_of_the_person(supports_client, person):
    person.first_name, person.last_name = "Jane", "Doe"
    person.save()
    ProviderFactory(id="8000", name="Cedar Lending")
    reference = reference_of(UUID(apply_with(person)))
    confirm(supports_client, help_of(person, "mail-reset"), **BECAUSE)
    browser = Client(headers={"user-agent": "Mozilla/5.0 Firefox/140.0"})
    browser.post("/account/login", {"login": "jane", "password": PASSWORD})
    page = supports_client.get(page_of(person))
    text = text_of(page)
    for expected in (
        "Status Active",
        "Name J•••",
        "Email address j•••",
        "Forgotten password Waiting",
        "Active sessions",
    ):
        assert expected in text, expected
    assert re.search(f"{reference} submitted Cedar Lending", text)
    assert f"/admin/credit/application/?q=user%3A{person.pk}" in links_of(page)
    assert not re.search("Jane|Doe|jane@|Firefox|Staff status|Superuser|icon-no|Principal|Credential", text)
    assert "icon-no" not in page.content.decode()


def test_account_page_shows_reviewers_the_account_data_without_mails_and_sessions(reviewers_client, person):
    person.first_name, person.is_active = "Jane", False
    person.save()
    text = text_of(reviewers_client.get(page_of(person)))
    assert "Jane · jane" in text
    assert "jane@example.org" in text
    assert "Status Disabled" in text
    assert "Active sessions" not in text
    assert "Mails" not in text


def test_account_page_shows_no_applications_to_operations(person):
    apply_with(person)
    text = text_of(backoffice_client(staff_of("Operations")).get(page_of(person)))
    assert "Applications No applications" not in text
    assert "A-" not in text


def test_account_page_shows_groups_and_second_factor_only_to_support(supports_client, reviewers_client, person):
    assert "Back office Staff, Reviewer" in text_of(supports_client.get(page_of(staff_of("Reviewer", username="ruth"))))
    assert "Second factor None" in text_of(supports_client.get(page_of(person)))
    authenticator_of(person)
    assert "Second factor On" in text_of(supports_client.get(page_of(person)))
    assert "Second factor" not in text_of(reviewers_client.get(page_of(person)))


def test_account_page_does_not_show_mails_and_sessions_of_another_account(supports_client, person):
    other = UserFactory(username="june", email="june@example.org")
    confirm(supports_client, help_of(other, "mail-reset"), **BECAUSE)
    Client().post("/account/login", {"login": "june", "password": PASSWORD})
    text = text_of(supports_client.get(page_of(person)))
    assert "No mails to the present address are stored." in text
    assert "No active sessions." in text


def test_account_history_describes_the_used_credential_in_words():
    for credential, words in [
        ("session", "on the account's pages"), ("session:developers", "on the pages for developers"),
        ("invitation:42", "with the invitation 42"), ("password_reset", "with the mailed link for a new password"),
    ]:  # fmt: skip
        assert way_in_words(credential) == words, (credential, words)


def test_account_search_by_an_applicants_name_states_which_fields_matched(supports_client, person):
    apply_with(person, legal_name="Ada Reyes")
    address, text = (
        reverse("admin:identity_user_changelist"),
        "found accounts by a name, an email address, or a phone number",
    )
    assert text in text_of(supports_client.get(address, {"q": "Ada Reyes"}))
    assert text not in text_of(supports_client.get(address, {"q": "jane"}))

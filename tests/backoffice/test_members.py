"""Test lender members, invitations, and the account page in the back office."""

import pytest
from django.urls import reverse

from config.mail.models import OutgoingMail
from credit.models import ProviderMember
from identity.models import AccountHistory, Invitation
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import messages_of, send_form, text_of
from tests.backoffice.test_applications import make, page_of
from tests.factories import ClaimFactory, ProviderFactory, UserFactory


@pytest.fixture
def provider(db):
    return ProviderFactory(id="501", owner=staff_of("Support", username="olga"))


def provider_page(provider):
    return reverse("admin:credit_provider_change", args=[provider.pk])


def members_of(provider):
    provider_members = ProviderMember.objects.filter(provider=provider).order_by("id")
    return list(provider_members.values_list("user__username", flat=True))


def add(client, provider, person):
    address = reverse("admin:credit_provider_do", args=[provider.pk, "add-member"])
    page = client.get(address)
    if page.status_code != 200:
        return page
    return client.post(address, {"seen": provider.pk, "username": person.username, "role": "reviewer"})


def test_staff_and_owners_of_other_lenders_cannot_add_members(provider):
    for group in ["Operations", "Support", "Reviewer"]:
        person = staff_of(group)
        client = backoffice_client(person)
        assert client.get(provider_page(provider)).status_code == 200, group
        assert add(client, provider, person).status_code == 403, group
        assert members_of(provider) == ["olga"], group
    from django.contrib.auth.models import Permission

    person = staff_of("Operations")
    person.user_permissions.set(Permission.objects.filter(codename__contains="provider"))
    assert add(backoffice_client(person), provider, person).status_code == 403
    assert members_of(provider) == ["olga"]
    other = ProviderFactory(id="502")
    assert add(backoffice_client(provider.owner), other, provider.owner).status_code == 403
    assert members_of(other) == [other.owner.username]


def test_lender_owner_and_superuser_can_add_members_and_the_owner_can_remove_members(provider, superusers_client):
    first, second = UserFactory(username="first"), UserFactory(username="second")
    olga = backoffice_client(provider.owner)
    assert add(olga, provider, first).status_code == 302
    member = ProviderMember.objects.get(user=first)
    remove = reverse("admin:credit_provider_member", args=[provider.pk, member.pk, "remove"])
    assert "The member first was removed." in messages_of(send_form(olga, remove))
    assert members_of(provider) == ["olga"]
    assert add(superusers_client, provider, second).status_code == 302
    assert members_of(provider) == ["olga", "second"]


def test_lender_page_shows_the_members_to_every_viewer(provider, operations_client, reviewers_client):
    ProviderMember.objects.create(provider=provider, user=UserFactory(username="member-of-501"))
    for client in (operations_client, reviewers_client):
        assert "member-of-501" in text_of(client.get(provider_page(provider)))


ADD, LIST = "/admin/identity/invitation/add/", "/admin/identity/invitation/"
FORM = {"email": "jane@example.org", "role": "partner", "group": ""}


def test_operations_can_create_and_revoke_an_invitation(operations_client, supports_client):
    assert operations_client.get(ADD).status_code == 200
    assert supports_client.post(ADD, FORM).status_code == 403
    assert operations_client.post(ADD, FORM).status_code == 302
    sent = Invitation.objects.get()
    assert (sent.email, sent.role, OutgoingMail.objects.count()) == ("jane@example.org", "partner", 1)
    page = reverse("admin:identity_invitation_change", args=[sent.pk])
    for address in (LIST, page):  # Both groups get a masked address.
        for client in (operations_client, supports_client):
            assert "jane@" not in client.get(address).content.decode()
    button = reverse("admin:identity_invitation_do", args=[sent.pk, "revoke"])
    assert supports_client.get(button).status_code == 403
    assert "was revoked" in messages_of(send_form(operations_client, button))
    assert Invitation.objects.get().state == "revoked"
    assert list(AccountHistory.objects.values_list("action", flat=True)) == ["invitation.revoked", "invitation.created"]


def test_invitation_form_shows_the_errors_of_an_invitation(operations_client):
    for wrong in [{"email": "jane"}, {"role": "king"}, {"role": "staff", "group": "Reviewer"}, {"role": "owner"}]:
        response = operations_client.post(ADD, {**FORM, **wrong})
        assert (response.status_code, Invitation.objects.count()) == (200, 0), wrong


def person_page(person):
    return reverse("admin:identity_user_change", args=[person.pk])


def test_account_and_case_pages_show_summaries_of_applications_claims_and_identity_checks(reviewers_client):
    person = UserFactory()
    for status in ("submitted", "submitted", "approved"):
        make(status, consumer=person)
    ClaimFactory(user=person, status="approved")
    text = text_of(reviewers_client.get(person_page(person)))
    assert "Applications 1 approved, 2 submitted" in text
    assert "Publication claims 1 approved" in text
    assert "Identity checks none" in text
    assert "Card payments none" in text
    assert "Bank accounts none" in text
    assert "Active API keys 0" in text
    assert "Edit the account" not in text
    application = make()
    ClaimFactory(user=application.consumer)
    assert "Publication claims 1 draft" in text_of(reviewers_client.get(page_of(application)))


def test_account_page_shows_editors_the_summary_before_the_form(superusers_client):
    person = UserFactory(username="before")
    summary = superusers_client.get(person_page(person))
    assert "Summary" in text_of(summary)
    assert b'name="username"' not in summary.content
    assert "Edit the account" in text_of(summary)
    form = superusers_client.get(person_page(person), {"edit": "1"})
    assert b'name="username"' in form.content
    fields = form.context["adminform"].form.initial
    body = {name: value for name, value in fields.items() if isinstance(value, str)} | {"username": "after"}
    answer = superusers_client.post(f"{person_page(person)}?edit=1", {**body, "is_active": "on"})
    assert answer.status_code == 302, answer.content
    person.refresh_from_db()
    assert person.username == "after"


def test_only_editors_can_open_the_forms_of_an_account(reviewers_client, superusers_client):
    page = reviewers_client.get(person_page(UserFactory()), {"edit": "1"})
    assert b'name="username"' not in page.content
    address = reverse("admin:auth_user_password_change", args=[UserFactory().pk])
    assert superusers_client.get(address).status_code == 200
    assert reviewers_client.get(address).status_code == 403

"""Invitations at the back office: sent, refused, masked, taken back."""

import pytest
from django.urls import reverse

from config.mail.models import OutgoingMail
from identity.models import AccountHistory, Invitation
from tests.backoffice.pages import confirm, text_of

ADD, LIST = "/admin/identity/invitation/add/", "/admin/identity/invitation/"
FORM = {"email": "jane@example.org", "role": "partner", "provider_id": "", "group": ""}


def test_operations_invite_and_take_it_back(operations_client, supports_client):
    assert operations_client.get(ADD).status_code == 200
    assert operations_client.post(ADD, FORM).status_code == 302
    sent = Invitation.objects.get()
    assert (sent.email, sent.role, OutgoingMail.objects.count()) == ("jane@example.org", "partner", 1)
    page = reverse("admin:identity_invitation_change", args=[sent.pk])
    for address in (LIST, page):  # neither of them sees whom
        for client in (operations_client, supports_client):
            assert "jane@" not in client.get(address).content.decode()
    button = reverse("admin:identity_invitation_do", args=[sent.pk, "revoke"])
    assert supports_client.get(button).status_code == 403
    assert "taken back" in text_of(confirm(operations_client, button))
    assert Invitation.objects.get().state == "revoked"
    assert list(AccountHistory.objects.values_list("action", flat=True)) == ["invitation.revoked", "invitation.created"]


@pytest.mark.parametrize("wrong", [{"email": "jane"}, {"role": "king"}, {"role": "staff", "group": "Reviewer"}])
def test_the_form_shows_the_errors_of_an_invitation(operations_client, wrong):
    response = operations_client.post(ADD, {**FORM, **wrong})
    assert (response.status_code, Invitation.objects.count()) == (200, 0)


def test_support_cannot_invite(supports_client):
    assert supports_client.post(ADD, FORM).status_code == 403
    assert not Invitation.objects.exists()

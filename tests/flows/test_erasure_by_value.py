"""Test personal data without a link to the account: notes, mails, and a bank linked during an erasure."""

import pytest
from allauth.account.models import EmailAddress
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.mail.erasure import erase_mails, index_recipients
from config.mail.models import OutgoingMail
from config.mail.outbox import queue_mail
from identity.bank.models import BankItem
from identity.models import User
from identity.providers.models import SandboxItem
from identity.providers.sandbox import Sandbox
from tests.api import client_of
from tests.factories import UserFactory
from tests.identity.test_bankdata_exchange import exchange

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    return UserFactory()


def test_erasure_updates_only_stored_mails_to_the_account(person):
    EmailAddress.objects.create(user=person, email="Own@example.test", verified=True)
    own = queue_mail("own@example.test", "notice", {}, now=timezone.now())
    for number in range(5):
        queue_mail(f"other{number}@example.test", "notice", {}, now=timezone.now())
    with CaptureQueriesContext(connection) as captured:
        erase_mails(person.pk, now=timezone.now())
    assert len([query for query in captured if query["sql"].startswith("UPDATE")]) == 1
    own.refresh_from_db()
    assert (own.recipient, own.recipient_index) == ("", "")
    assert OutgoingMail.objects.exclude(recipient_index="").count() == 5


def test_mail_of_version_1_0_without_an_index_is_indexed_and_erased(person):
    EmailAddress.objects.create(user=person, email="own@example.test", verified=True)
    queue_mail("own@example.test", "notice", {}, now=timezone.now())
    OutgoingMail.objects.update(recipient_index=None)
    assert index_recipients() == 1
    assert index_recipients() == 0
    OutgoingMail.objects.update(recipient_index=None)
    erase_mails(person.pk, now=timezone.now())
    assert OutgoingMail.objects.get().recipient == ""


def test_bank_linked_during_an_erasure_is_removed_at_the_vendor(person, monkeypatch):
    exchange_token = Sandbox.exchange_public_token

    def erased_meanwhile(provider, public_token):
        User.objects.filter(pk=person.pk).update(erased_at=timezone.now())
        return exchange_token(provider, public_token)

    api = client_of(person)
    monkeypatch.setattr(Sandbox, "exchange_public_token", erased_meanwhile)
    assert exchange(api, person).status_code == 401
    assert SandboxItem.objects.get().removed_at is not None
    assert not BankItem.objects.exists()

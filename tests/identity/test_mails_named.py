"""Test the limit of mails that an account causes by invitations, customer accounts, and address changes."""

import pytest
from django.test import override_settings
from django.utils import timezone

from config.api.rate_limits import RateLimited
from config.core.lifecycle import Actor
from config.mail.models import OutgoingMail
from identity.accounts.addresses import ask_to_change
from identity.accounts.managed import make_account
from identity.models import Invitation, ManagedAccount, User
from tests.api import assert_error, client_of
from tests.factories import UserFactory
from tests.identity.test_managed_accounts import made_partner
from tests.races import run_concurrently

ACCOUNTS, INVITATIONS = "/accounts", "/invitations"
LIMIT, KEY = 4, "0192f0c1-2a3b-7c4d-8e5f-60718293a4b5"


def customer(number):
    return {"external_id": f"c-{number}", "email": f"c-{number}@example.org"}


def invitee(number):
    return {"email": f"i-{number}@example.org", "role": "developer"}


@pytest.fixture
def limit_of_two(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_account": 2}


@pytest.mark.django_db
def test_account_is_limited_to_100_sent_mails_an_hour(settings):
    assert settings.RATE_LIMITS["mail_account"] == 100
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_account": LIMIT}
    partner = UserFactory(is_staff=True, is_superuser=True)
    api, other = client_of(partner), client_of(made_partner())
    for number in range(LIMIT // 2):
        assert api.send(ACCOUNTS, customer(number)).status_code == 201
        assert api.send(INVITATIONS, invitee(number)).status_code == 201
    Invitation.objects.all().delete()  # The limit of pending invitations is lower than the limit of mails.
    refused = api.send(ACCOUNTS, customer(LIMIT))
    assert_error(refused, 429, "E6001")
    assert 1 <= int(refused.headers["Retry-After"]) <= 3600
    assert_error(api.send(INVITATIONS, invitee(LIMIT)), 429, "E6001")
    assert_error(api.send(ACCOUNTS, {**customer(0), "email": "new@example.org"}), 429, "E6001")
    assert OutgoingMail.objects.count() == LIMIT
    assert ManagedAccount.objects.count() == LIMIT // 2
    assert not Invitation.objects.exists()
    # The link is still pending, so the request sends no mail.
    assert api.send(ACCOUNTS, customer(0)).status_code == 200
    assert api.send(ACCOUNTS, {"external_id": "without-mail"}).status_code == 201
    assert other.send(ACCOUNTS, customer(LIMIT)).status_code == 201


@pytest.mark.django_db
@pytest.mark.usefixtures("limit_of_two")
def test_mail_to_a_new_address_counts_toward_the_limit_of_the_account():
    person = UserFactory()
    for number in range(2):
        ask_to_change(person, f"n-{number}@example.org", now=timezone.now())
    with pytest.raises(RateLimited):
        ask_to_change(person, "n-2@example.org", now=timezone.now())
    assert OutgoingMail.objects.count() == 2


@pytest.mark.django_db
def test_request_rejected_by_the_mail_limit_succeeds_later_with_the_same_idempotency_key(settings):
    api = client_of(made_partner())
    limits = settings.RATE_LIMITS
    for limit, status in ((0, 429), (1, 201), (0, 201)):
        settings.RATE_LIMITS = {**limits, "mail_account": limit}
        answer = api.send(ACCOUNTS, customer(1), key=KEY)
        assert answer.status_code == status
    assert OutgoingMail.objects.count() == 1


def test_several_servers_share_the_mail_limit(committed):
    partner = made_partner()

    def make(number):
        try:
            facts = {**customer(number), "name": None}
            return make_account(Actor(partner, "jwt:x"), **facts, now=timezone.now())[1]
        except RateLimited:
            return False

    with override_settings(RATE_LIMITS={"mail_account": 3, "mail_recipient": 10, "mail_own": 10}):
        outcomes = run_concurrently(*[lambda number=number: make(number) for number in range(8)])
    assert outcomes.count(True) == 3
    assert (OutgoingMail.objects.count(), ManagedAccount.objects.count(), User.objects.count()) == (3, 3, 4)

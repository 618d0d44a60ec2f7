"""Email addresses are compared in lower case, with the domain in the ASCII form of IDNA 2008, wherever they count."""

import pytest
from django.utils import timezone

from config.mail.models import OutgoingMail
from config.mail.outbox import queue_mail
from identity.accounts.addresses import is_named, owns
from identity.accounts.invitations import accept
from identity.accounts.links import LinkEnded, make_link, use_link
from identity.models import Invitation, ManagedAccount, User
from tests.commands import run_json
from tests.factories import PASSWORD, UserFactory
from tests.identity.test_invitations import invited, operator, person_with  # noqa: F401  operator is a fixture
from tests.identity.test_managed_accounts import made, partner, shop  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db
UNICODE, ASCII, OTHER = "Jane@Stra\u00dfe.de", "jane@xn--strae-oqa.de", "jane@strasse.de"


def test_an_address_is_owned_in_every_form_and_anothers_is_not():
    person = person_with(UNICODE)
    assert person.email == ASCII
    assert (owns(person, UNICODE), owns(person, ASCII), owns(person, OTHER)) == (True, True, False)
    assert (is_named(person, UNICODE), is_named(person, ASCII), is_named(person, OTHER)) == (True, True, False)
    older = UserFactory(email="jane@stra\u00dfe.de")  # as version 1.0 stored what operators typed
    assert (is_named(older, ASCII), is_named(older, OTHER)) == (True, False)


def test_an_invitation_is_accepted_in_every_form_of_its_address_alone(operator):  # noqa: F811
    _shown, token = invited(operator, email=UNICODE)
    invitation = Invitation.objects.get()
    invitation.email = "jane@stra\u00dfe.de"  # as an older version stored it
    invitation.save()
    with pytest.raises(LinkEnded):
        accept(token, person_with(OTHER), timezone.now())
    assert accept(token, person_with(ASCII), timezone.now()).email == "jane@stra\u00dfe.de"


def test_a_link_is_used_in_every_form_of_its_address_alone():
    now = timezone.now()
    facts = {"lasts": Invitation.VALID_FOR, "now": now}
    with pytest.raises(LinkEnded):
        use_link(make_link("test", email=UNICODE, **facts), "test", email=OTHER, now=now)
    assert use_link(make_link("test", email=UNICODE, **facts), "test", email=ASCII, now=now)


def test_a_customer_is_not_mailed_again_for_another_form_of_the_address(shop):  # noqa: F811
    made(shop, email=UNICODE)
    assert shop.send("/accounts", {"external_id": "c-1", "email": ASCII.upper()}).status_code == 200
    assert ManagedAccount.objects.get().email == ASCII
    assert OutgoingMail.objects.count() == 1
    assert shop.send("/accounts", {"external_id": "c-1", "email": OTHER}).status_code == 200
    assert OutgoingMail.objects.count() == 2


def test_the_limit_of_a_recipient_counts_every_form_of_the_address(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_recipient": 1}
    sent = [queue_mail(address, "claim", {}, now=timezone.now()) for address in (UNICODE, ASCII, OTHER)]
    assert [mail is not None for mail in sent] == [True, False, True]


def test_an_operators_account_is_stored_with_the_compared_form():
    for number, email in enumerate((UNICODE, ASCII)):
        assert run_json("create_user", "jane", "--password", PASSWORD, "--email", email)["created"] is (number == 0)
    assert User.objects.get().email == ASCII

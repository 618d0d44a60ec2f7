"""Test that email addresses are compared in lower case with the IDNA 2008 ASCII form of the domain."""

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from config.mail.addresses import normalize
from config.mail.models import OutgoingMail
from config.mail.outbox import queue_requested_mail
from identity.accounts.addresses import is_named, owns
from identity.accounts.invitations import accept
from identity.accounts.links import LinkEnded, make_link, use_link
from identity.models import Invitation, ManagedAccount, User
from tests.commands import run_json
from tests.factories import PASSWORD, UserFactory
from tests.identity.test_invitations import invited, operator, person_with  # noqa: F401  operator is a fixture
from tests.identity.test_managed_accounts import create_account, partner, shop  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db
UNICODE, ASCII, OTHER = "Jane@Stra\u00dfe.de", "jane@xn--strae-oqa.de", "jane@strasse.de"

# The domains are from Unicode's IdnaTestV2, examples of registries, and phone keyboards.
NORMALIZED = [
    ("fa\u00df.de", "xn--fa-hia.de"), ("\u03b2\u03cc\u03bb\u03bf\u03c2.com", "xn--nxasmm1c.com"),
    ("\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com", "xn--mgba3gch31f060k.com"),
    ("BÜCHER.example", "xn--bcher-kva.example"), ("bu\u0308cher.example", "xn--bcher-kva.example"),
    ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
    ("\u0dc1\u0dca\u200d\u0dbb\u0dd3.com", "xn--10cl1a0b660p.com"), ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
    ("उदाहरण.भारत", "xn--p1b6ci4b4b3a.xn--h2brj9c"), ("실례.테스트", "xn--9n2bp8q.xn--9t4b11yi5a"),
    ("\uff45xample.com", "example.com"), ("example\u3002com", "example.com"), ("l\u00b7l.com", "xn--ll-0ea.com"),
]  # fmt: skip


def test_email_domain_is_normalized_by_idna_2008():
    for domain, ascii_form in NORMALIZED:
        assert normalize(f"jane@{domain}") == f"jane@{ascii_form}"


def test_undeliverable_email_address_is_rejected():
    for domain in (
        "\u2615.us", "a..b", "-a.example", "a_b.example", "xn--a.example", "example.com.", "\u200dx.com",
        "a\u0300\u200cb.com", "1.2.3.4", "[1.2.3.4]", f"{'a' * 64}.com", "x\u00b7y.com", "localhost",
    ):  # fmt: skip
        with pytest.raises(ValidationError):
            normalize(f"jane@{domain}")


def test_account_is_matched_by_every_unicode_form_of_its_email_address():
    person = person_with(UNICODE)
    assert person.email == ASCII
    assert (owns(person, UNICODE), owns(person, ASCII), owns(person, OTHER)) == (True, True, False)
    assert (is_named(person, UNICODE), is_named(person, ASCII), is_named(person, OTHER)) == (True, True, False)
    older = UserFactory(email="jane@stra\u00dfe.de")  # Version 1.0 stored the input of operators in this form.
    assert (is_named(older, ASCII), is_named(older, OTHER)) == (True, False)


def test_invitation_accepts_only_unicode_forms_of_its_email_address(operator):  # noqa: F811
    _shown, token = invited(operator, email=UNICODE)
    invitation = Invitation.objects.get()
    invitation.email = "jane@stra\u00dfe.de"  # An older version stored the address in this form.
    invitation.save()
    with pytest.raises(LinkEnded):
        accept(token, person_with(OTHER), timezone.now())
    assert accept(token, person_with(ASCII), timezone.now()).email == "jane@stra\u00dfe.de"


def test_mailed_link_accepts_only_unicode_forms_of_its_email_address():
    now = timezone.now()
    facts = {"lasts": Invitation.VALID_FOR, "now": now}
    with pytest.raises(LinkEnded):
        use_link(make_link("test", email=UNICODE, **facts), "test", email=OTHER, now=now)
    assert use_link(make_link("test", email=UNICODE, **facts), "test", email=ASCII, now=now)


def test_customer_is_not_mailed_again_for_another_unicode_form_of_the_address(shop):  # noqa: F811
    create_account(shop, email=UNICODE)
    assert shop.send("/accounts", {"external_id": "c-1", "email": ASCII.upper()}).status_code == 200
    assert ManagedAccount.objects.get().email == ASCII
    assert OutgoingMail.objects.count() == 1
    assert shop.send("/accounts", {"external_id": "c-1", "email": OTHER}).status_code == 200
    assert OutgoingMail.objects.count() == 2


def test_mail_limit_counts_all_spellings_of_an_address_together(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_recipient": 1}
    sent = [queue_requested_mail(address, "claim", {}, now=timezone.now()) for address in (UNICODE, ASCII, OTHER)]
    assert [mail is not None for mail in sent] == [True, False, True]


def test_create_user_stores_the_normalized_email_address():
    for number, email in enumerate((UNICODE, ASCII)):
        assert run_json("create_user", "jane", "--password", PASSWORD, "--email", email)["created"] is (number == 0)
    assert User.objects.get().email == ASCII

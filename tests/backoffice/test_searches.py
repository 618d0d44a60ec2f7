"""Test the searches in the console's lists with typical queries."""

from io import StringIO

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.casework import DataAccess
from credit.console import people
from credit.core.jurisdictions import EU
from credit.models import Application, ProviderMember
from identity.access import keys
from tests.api import client_of
from tests.backoffice.lenders import console_client
from tests.credit.applicants import PERSON
from tests.credit.commerce.test_search import SEARCHED
from tests.credit.erasing import erase_applicants
from tests.factories import (
    ApplicationFactory,
    ModelVersionFactory,
    OfferFactory,
    ProviderFactory,
    ScoringModelFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db


def names_found(client, model, query):
    response = client.get(f"/admin/{model}/", {"q": query})
    assert response.status_code == 200
    return [str(row) for row in response.context["cl"].result_list]


# tests/credit/commerce/test_search.py tests all names in SEARCHED with the search of the catalog.
@pytest.mark.parametrize(("name", "query"), SEARCHED[:3])
def test_back_office_search_finds_a_record_by_words_of_its_name(superusers_client, name, query):
    provider = ProviderFactory(name=name)
    ProviderFactory(name="Ferry pass")
    assert names_found(superusers_client, "credit/provider", query) == [str(provider)]


def make_key(name):
    return keys.create_api_key(owner=UserFactory(), name=name, scopes=None, now=timezone.now()).record


def make_version(name):
    return ModelVersionFactory(model=ScoringModelFactory(name=name))


def make_offer(name):
    return OfferFactory(name=name)


@pytest.mark.parametrize(("model", "make"), [
    ("credit/offer", make_offer), ("credit/modelversion", make_version), ("identity/apikey", make_key),
])  # fmt: skip
def test_search_by_name_ignores_accents_and_hyphens_in_every_list(superusers_client, model, make):
    record = make("Rénovation Home-loan")
    make("Ferry pass")
    for query in ("renovation", "homeloan RENOVATION", "loan home", "novat"):
        assert names_found(superusers_client, model, query) == [str(record)], query
    for query in ("renovation boat", "?!", "-"):
        assert names_found(superusers_client, model, query) == [], query


NAMES = [
    ("Rosa Quillfeather", "quillfeather"), ("Rosa Quillfeather", "Quillfeather, Rosa"), ("Jorge Núñez García", "nunez"),
    ("Jorge Núñez García", "GARCÍA JORGE"), ("Anne-Marie O\u2019Brien", "annemarie obrien"),
    ("Annemarie Smith", "Anne-Marie"), ("Siobhán Ní Dhomhnaill", "ni dhomhnaill siobhan"),
    ("Łukasz Żółć", "lukasz zolc"), ("Nguyễn Thị Ánh", "anh nguyen"), ("李伟", "李伟"), ("Иван Ёлкин", "елкин"),
    ("X Æ A-12", "x ae a12"), ("Øyvind Strauß", "strauss oyvind"), ("D'Arcy-Smith", "darcy"),
    ("\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "\u0639\u0644\u06cc\u0631\u0636\u0627"),
    ("Müller Jürgen", "Ju\u0308rgen"), ("Müller Jürgen", "mueller jurgen"), ("Mueller Juergen", "MÜLLER"),
    ("Mu\u0308ller Jürgen", "JUERGEN Müller"), ("Håkon Sørås", "haakon"), ("Haakon Soeraas", "Håkon Sørås"),
    ("\u0639\u0644\u06cc \u06a9\u0631\u06cc\u0645\u06cc", "\u0639\u0644\u064a \u0643\u0631\u064a\u0645\u064a"),
    ("\u0641\u0627\u0637\u0645\u0629 \u0639\u0644\u064a", "\u0641\u0627\u0637\u0645\u0647"),
    ("山田 太郎", "山田太郎"), ("山田太郎", "山田\u3000太郎"), ("김 철수", "김철수"),
    ("Þórdís Ævarsdóttir", "aevarsdottir"),
]  # fmt: skip
EMAILS = [
    ("rosa@example.test", "Rosa@Example.Test"), ("rosa@straße.de", " rosa@xn--strae-oqa.de "),
    ("rosa@example.test", "\u2068rosa@example.test\u2069"),
    ("rosa+loan@example.test", "ROSA+loan@example.test"),
]  # fmt: skip
PHONES = [
    ("+15035550100", "(503) 555-0100"), ("+15035550100", "503.555.0100"), ("+15035550100", "1-503-555-0100"),
    ("+15035550100", "+1 503 555 0100"), ("+15035550100", "503\u2013555\u20130100"),
    ("+15035550100", "503\u00a0555\u00a00100"), ("+447911123456", "07911 123456"),
    ("+447911123456", "+44 (0)7911 123456"), ("+447911123456", "0044 7911 123456"),
    ("+447911123456", "011 44 7911 123456"), ("+4930901820", "030 901820"), ("+33142685300", "01 42 68 53 00"),
    ("+35312345678", "01 234 5678"), ("+525512345678", "55 1234 5678"), ("+15035550100", "\u202a+1 503 555 0100\u202c"),
    ("+971501234567", "\u0660\u0665\u0660 \u0661\u0662\u0663 \u0664\u0665\u0666\u0667"),
]  # fmt: skip
SAID = {
    (field, value): [typed for other, typed in pairs if other == value]
    for field, pairs in (("legal_name", NAMES), ("email", EMAILS), ("phone", PHONES))
    for value, _typed in pairs
}


def apply_with(account, **members):
    body = {"consumer_id": str(account.pk), "offer_id": 7_000, "provider_id": 8_000, "initial_status": "submitted"}
    response = client_of(account).send("/applications", {**body, "applicants": [{**PERSON, **members}]})
    assert response.status_code == 201, response.content
    return response.json()["id"]


def applications_found(client, query):
    return names_found(client, "credit/application", query)


def test_search_finds_an_applicant_by_name_email_or_phone_in_common_spellings(reviewers_client):
    other = {"legal_name": "Tom Ash", "email": "tom@example.test", "phone": "+15035550199"}
    apply_with(UserFactory(), **other)
    for (field, value), spellings in SAID.items():
        with transaction.atomic():
            account = UserFactory()
            application = apply_with(account, **{**other, field: value})
            for typed in spellings:
                assert applications_found(reviewers_client, typed) == [application], typed
                assert names_found(reviewers_client, "identity/user", typed) == [str(account)], typed
            transaction.set_rollback(True)


def test_incomplete_names_emails_and_phones_find_no_applicant(reviewers_client):
    apply_with(UserFactory())
    for typed in ["Quill", "Rosa Ash", "5550100", "rosa@example", "555", "@", "()", "+1"]:
        assert applications_found(reviewers_client, typed) == [], typed


def test_application_search_finds_an_application_by_amount(reviewers_client):
    application = ApplicationFactory(amount_cents=2_000_000)
    for cents in (2_000_001, 200_000, 20_000, None):
        ApplicationFactory(amount_cents=cents)
    for typed in ["$20,000", "20,000.00", "20000.00", "$ 20000", "$20,000.00"]:
        assert applications_found(reviewers_client, typed) == [str(application.pk)], typed


def test_search_by_a_malformed_different_or_masked_amount_finds_nothing(reviewers_client, supports_client):
    ApplicationFactory(amount_cents=2_000_000)
    for typed in ["$", "$20,00", "$1,2345", "$20.000", "200000", "$99999999999999"]:
        assert applications_found(reviewers_client, typed) == [], typed
    for typed in ["$20,000", "20000"]:
        assert applications_found(supports_client, typed) == [], typed


@pytest.mark.parametrize(("currency", "cents"), [("JPY", 20_000), ("EUR", 2_000_000), ("USD", 2_000_000)])
def test_search_by_a_plain_number_interprets_the_number_in_the_currency_of_each_application(
    reviewers_client, currency, cents
):
    offer = OfferFactory() if currency == "USD" else OfferFactory(jurisdiction=EU, currency=currency)
    application = ApplicationFactory(offer_id=offer.pk, amount_cents=cents)
    for others in (cents * 100, cents + 1, cents // 100):
        ApplicationFactory(offer_id=offer.pk, amount_cents=others)
    assert applications_found(reviewers_client, "20000") == [str(application.pk)]


def test_search_for_a_user_id_does_not_match_amounts(reviewers_client):
    account = UserFactory(pk=20_000)
    application = ApplicationFactory(consumer=account)
    ApplicationFactory(amount_cents=2_000_000)
    assert applications_found(reviewers_client, "20000") == [str(application.pk)]


def test_search_by_a_plain_number_executes_at_most_five_more_sql_statements(
    reviewers_client, django_assert_max_num_queries
):
    ApplicationFactory(amount_cents=2_000_000)
    address = "/admin/credit/application/"
    with CaptureQueriesContext(connection) as listed:
        reviewers_client.get(address)
    with django_assert_max_num_queries(len(listed) + 5):
        reviewers_client.get(address, {"q": "20000"})


def test_search_by_a_name_executes_at_most_four_more_sql_statements(reviewers_client, django_assert_max_num_queries):
    apply_with(UserFactory())
    address = "/admin/credit/application/"
    with CaptureQueriesContext(connection) as listed:
        reviewers_client.get(address)
    # The statements find accounts by user name, by email address, and by applicants, after an estimate by PostgreSQL.
    with django_assert_max_num_queries(len(listed) + 4):
        reviewers_client.get(address, {"q": "quillfeather"})


@pytest.mark.usefixtures("needs_postgresql")
@pytest.mark.parametrize(("common", "ordering"), [(8_000, '"credit_application"."created_at"'), (0, "1")])
def test_name_search_uses_different_sort_expressions_for_rare_and_common_names(
    reviewers_client, monkeypatch, common, ordering
):
    monkeypatch.setattr(people, "_COMMON", common)
    first, second = (apply_with(UserFactory()) for _ in range(2))
    with CaptureQueriesContext(connection) as captured:
        assert applications_found(reviewers_client, "quillfeather") == [second, first]
    [searched] = [query["sql"] for query in captured if "@> ARRAY" in query["sql"] and "EXPLAIN" not in query["sql"]]
    assert f"ORDER BY {ordering} DESC LIMIT 51" in searched


def test_search_finds_an_applicant_by_the_account_email_address(supports_client):
    account = UserFactory(email="home@example.test")
    application = apply_with(account)
    for typed in ("HOME@example.test", "quillfeather"):
        assert applications_found(supports_client, typed) == [application], typed
    assert DataAccess.objects.filter(kind="credit.application", action=DataAccess.LIST, was_masked=True).count() == 2


def test_search_does_not_find_former_names_and_erased_applicants(reviewers_client):
    account = UserFactory()
    body = {"consumer_id": str(account.pk), "offer_id": 7_000, "provider_id": 8_000, "applicants": [PERSON]}
    application = client_of(account).send("/applications", body).json()["id"]
    change = {"updated_by": "x", "applicants": [{**PERSON, "legal_name": "Ada Ash"}]}
    assert client_of(account).replace(f"/applications/{application}", change).status_code == 200
    assert applications_found(reviewers_client, "quillfeather") == []
    assert applications_found(reviewers_client, "ada") == [application]
    erase_applicants(account.pk)
    assert applications_found(reviewers_client, "ada") == []
    assert Application.objects.get().applicant_index is None


def test_search_for_a_part_of_a_phone_number_finds_no_applicant(reviewers_client):
    for stored in ("+15035550100", "+447911123456", "+1503555010"):
        apply_with(UserFactory(), phone=stored)
    for typed in (
        "035550100", "0355 50100", "35550100", "0911 123456", "911123456", "11 123456", "555-0100", "5550100", "50100",
    ):  # fmt: skip
        assert applications_found(reviewers_client, typed) == [], typed
        assert names_found(reviewers_client, "identity/user", typed) == [], typed


def test_search_finds_a_phone_number_as_dialed_in_its_country(reviewers_client):
    application = apply_with(UserFactory(), phone="+39061234567")
    for typed in ["06 1234567", "+39 06 1234567", "0039 06 1234567", "0612 34567"]:
        assert applications_found(reviewers_client, typed) == [application], typed
    for stored, dialed in (
        ("+5491112345678", ("11 1234-5678", "011 1234 5678", "+54 9 11 1234 5678", "+54 11 1234 5678")),
        ("+441134960000", ("0113 496 0000",)), ("+5215512345678", ("55 1234 5678", "+52 55 1234 5678")),
    ):  # fmt: skip
        application = apply_with(UserFactory(), phone=stored)
        for typed in dialed:
            assert applications_found(reviewers_client, typed) == [application], typed


def test_applicant_search_index_has_no_plaintext_and_uses_the_first_encryption_key(reviewers_client, settings):
    application = apply_with(UserFactory())
    before = Application.objects.get().applicant_index
    assert not any(text in before for text in ("rosa", "quillfeather", "5035550"))
    settings.FIELD_ENCRYPTION_KEYS = ["bmV3IGtleSBuZXcga2V5IG5ldyBrZXkgbmV3IGtleSE=", *settings.FIELD_ENCRYPTION_KEYS]
    assert applications_found(reviewers_client, "rosa") == [application]
    call_command("rotate_encryption_key", stdout=StringIO())
    settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
    assert Application.objects.get().applicant_index != before
    assert applications_found(reviewers_client, "rosa") == [application]


def test_prune_updates_the_search_index_for_applicants_stored_or_changed_by_older_servers(reviewers_client):
    application = apply_with(UserFactory())
    Application.objects.update(applicant_index=None)
    assert applications_found(reviewers_client, "rosa") == []
    call_command("prune", stdout=StringIO())
    assert applications_found(reviewers_client, "rosa") == [application]
    changed, erased = (Application.objects.get(pk=apply_with(UserFactory())) for _ in range(2))
    earlier = changed.applicant_index.replace(changed.applicants_sha256, "0" * 64)
    Application.objects.filter(pk=changed.pk).update(applicant_index=earlier)
    Application.objects.filter(pk=erased.pk).update(applicants=None)
    call_command("prune", stdout=StringIO())
    assert Application.objects.get(pk=changed.pk).applicant_index == changed.applicant_index
    assert Application.objects.get(pk=erased.pk).applicant_index is None


def test_search_for_thousands_of_words_or_name_parts_executes_a_limited_sql_statement(reviewers_client):
    apply_with(UserFactory())
    for word in ["-".join(["ab"] * 2_000), "-".join(f"p{number}" for number in range(2_000))]:
        with CaptureQueriesContext(connection) as statements:
            assert applications_found(reviewers_client, f"{word} {word}") == [], word
        assert max(statement["sql"].count("applicant_index") for statement in statements) < 100, word
    assert applications_found(reviewers_client, " ".join(f"word{number}" for number in range(1_000))) == []


def test_member_of_a_lender_cannot_search_for_account_email_addresses(db):
    provider, applicant = ProviderFactory(id="8000"), UserFactory(email="private@example.test")
    apply_with(applicant)
    member = UserFactory()
    member.groups.add(Group.objects.get(name="Lender"))
    ProviderMember.objects.create(provider=provider, user=member)
    assert applications_found(console_client(member), "private@example.test") == []


def test_lender_search_finds_only_applicants_of_the_lender(db):
    mine, other = ProviderFactory(id="8000"), ProviderFactory(id="8001")
    application = apply_with(UserFactory())
    for provider, expected in ((mine, [application]), (other, [])):
        member = UserFactory()
        member.groups.add(Group.objects.get(name="Lender"))
        ProviderMember.objects.create(provider=provider, user=member)
        assert applications_found(console_client(member), "rosa") == expected


def test_applicant_search_finds_only_the_matching_applications_of_a_broker(reviewers_client):
    broker = UserFactory()
    wanted, other = (
        apply_with(broker),
        apply_with(broker, legal_name="Ada Ash", email="ada@ash.test", phone="+12125550199"),
    )
    assert applications_found(reviewers_client, "quillfeather") == [wanted]
    assert applications_found(reviewers_client, "ada@ash.test") == [other]
    assert applications_found(reviewers_client, broker.username) == [other, wanted]


def test_search_for_a_common_name_lists_only_the_newest_matches_with_a_message(reviewers_client, monkeypatch):
    monkeypatch.setattr(people, "FOUND_MAX", 1)
    monkeypatch.setattr("credit.console.applications.FOUND_MAX", 1)
    for said in (0, 1):
        newest = apply_with(UserFactory())
        assert applications_found(reviewers_client, "quillfeather") == [newest]
        page = reviewers_client.get("/admin/credit/application/", {"q": "quillfeather"}).content.decode()
        assert page.count("only the newest 1 matches") == said

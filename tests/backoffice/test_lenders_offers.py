"""Test that a lender's owner can create, change, and deactivate offers in the console after a quote."""

import re

import pytest
from django.urls import reverse

from credit.core.eu_credit import REQUIRED_TEXTS
from credit.models import Offer, Provider, ProviderMember
from tests.backoffice.lenders import ROLES, console_client, lender_of
from tests.backoffice.pages import confirm, messages_of, seen_value, send_form, text_of
from tests.credit.eu.offers import LENDER, TEXTS
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
FIELDS = {
    "name": "Harbor loan", "product_type": "personal_loan", "description": "For roofs", "amount_min": "1,000",
    "amount_max": "$10,000.00", "rate_min": "6.9", "rate_max": "17.5 %", "terms": "12, 24",
}  # fmt: skip


@pytest.fixture
def lender():
    return lender_of("quartz", 701)


@pytest.fixture
def owner(lender):
    return console_client(lender.people["owner"])


def make_of(lender):
    return reverse("admin:credit_provider_do", args=[str(lender.number), "offer"])


def action_of(offer, name="change-terms"):
    return reverse("admin:credit_offer_do", args=[offer.pk, name])


@pytest.fixture
def offer(owner, lender):
    send_form(owner, make_of(lender), **FIELDS)
    return Offer.objects.get(name="Harbor loan")


def test_lender_owner_can_create_an_offer_in_the_console(owner, lender):
    assert "The offer is active." in messages_of(send_form(owner, make_of(lender), **FIELDS))
    offer = Offer.objects.get(name="Harbor loan")
    assert offer.owner == lender.people["owner"]
    assert (offer.provider_id, offer.version, offer.is_active) == ("701", 1, True)
    assert (offer.loan_amount_min_cents, offer.loan_amount_max_cents) == (100_000, 1_000_000)
    assert (offer.apr_min_percent, offer.apr_max_percent, offer.term_options_months) == (6.9, 17.5, [12, 24])


def test_offer_form_expands_the_eu_section_for_an_eu_offer_or_for_an_error_in_the_section(owner, lender):
    page = owner.get(make_of(lender))
    content = page.content.decode()
    for title in ("Offer", "Amounts", "Rates and terms", "Representative example", "Information for applicants"):
        assert f"<legend>{title}</legend>" in content
    form = page.context["form"]
    named = [field.name for _, fields in [*form.sections, *form.fieldset_sections] for field in fields]
    assert sorted(named) == sorted(field.name for field in form.visible_fields()), "each field is in a section, once"
    fields = {**FIELDS, "rate_min": "x", "terms": "y"}
    page = owner.post(make_of(lender), {"seen": seen_value(page), **fields})
    assert re.findall(r'<input[^>]+name="(\w+)"[^>]+data-first', page.content.decode()) == ["rate_min"]
    page = owner.get(make_of(lender))
    assert '<details class="group"><summary>Credit in the European Union' in page.content.decode()
    seen = seen_value(page)
    for fields in ({"jurisdiction": "eu"}, {"jurisdiction": "xx"}):
        page = owner.post(make_of(lender), {"seen": seen, **FIELDS, **fields}).content.decode()
        assert '<details class="group" open>' in page


def test_offer_form_shows_a_quote_for_each_term_before_the_offer_is_created(owner, lender):
    first = owner.post(make_of(lender), {"seen": seen_value(owner.get(make_of(lender))), **FIELDS})
    text = text_of(first)
    assert "$10,000.00 at 6.90% for 12 months $864.81 a month, APR 6." in text
    assert "$10,000.00 at 17.50% for 24 months" in text
    assert "Check these terms, then send the form again." in text
    assert not Offer.objects.filter(name="Harbor loan").exists()
    terms = ", ".join(str(number) for number in range(6, 26))
    fields = {"seen": seen_value(owner.get(make_of(lender))), **FIELDS, "terms": terms}
    figures = owner.post(make_of(lender), fields).context["figures"]
    assert len(figures) == 24
    assert "for 16 months" in figures[-4][0]
    assert "for 25 months" in figures[-1][0]


def test_offer_form_lists_the_known_product_types_and_the_type_of_the_offer(owner, lender, offer):
    Offer.objects.filter(pk=offer.pk).update(product_type="solar_loan")
    page = owner.get(action_of(offer)).content.decode()
    assert '<option value="solar_loan" selected>Solar loan</option>' in page
    assert '<option value="personal_loan">Personal loan</option>' in page
    answer = owner.post(make_of(lender), {"seen": "701", **FIELDS, "product_type": "spaceship"})
    assert "product_type" in answer.context["form"].errors


def test_page_of_an_offer_created_by_a_colleague_shows_who_can_change_the_offer(lender, offer):
    colleague = UserFactory(username="olivia")
    ProviderMember.objects.create(provider_id="701", user=colleague, role="owner")
    text = text_of(console_client(colleague).get(reverse("admin:credit_offer_change", args=[offer.pk])))
    assert "Only owner-quartz, who created the offer, can change or deactivate it." in text


def test_offer_form_does_not_change_offer_fields_that_are_missing_in_the_form(owner, offer):
    Offer.objects.filter(pk=offer.pk).update(required_documents=["Payslip"])
    page = owner.get(action_of(offer))
    assert page.context["form"].initial["terms"] == "12, 24"
    text = text_of(confirm(owner, action_of(offer), **{**FIELDS, "rate_min": "5.5"}))
    assert "The offer now has version 2." in text
    offer.refresh_from_db()
    assert (offer.apr_min_percent, offer.required_documents, offer.version) == (5.5, ["Payslip"], 2)


def test_offer_form_does_not_add_terms_to_a_line_of_credit(owner, lender):
    first = owner.post(make_of(lender), {"seen": seen_value(owner.get(make_of(lender))), **FIELDS, "terms": ""})
    assert "up to $10,000.00 at 17.50%" in text_of(first)
    send_form(owner, make_of(lender), **{**FIELDS, "terms": ""})
    line = Offer.objects.get(name="Harbor loan")
    assert line.term_options_months is None
    assert owner.get(action_of(line)).context["form"].initial["terms"] == ""
    send_form(owner, action_of(line), **{**FIELDS, "terms": "", "rate_max": "16"})
    line.refresh_from_db()
    assert (line.term_options_months, line.apr_max_percent) == (None, 16.0)


def test_lender_owner_can_deactivate_an_offer_in_the_console(owner, offer):
    send_form(owner, action_of(offer, "deactivate"))
    offer.refresh_from_db()
    assert not offer.is_active


def test_offer_form_shows_api_errors_at_the_field(owner, lender):
    seen = seen_value(owner.get(make_of(lender)))
    for fields in (
        {"amount_min": "20000"}, {"rate_min": "20"}, {"terms": "12, x"}, {"terms": "0"}, {"amount_max": "8,5"},
        {"name": " "}, {"rate_max": "1e9"}, {"terms": ","},
    ):  # fmt: skip
        page = owner.post(make_of(lender), {"seen": seen, **FIELDS, **fields})
        assert {*fields} <= {*page.context["form"].errors}, fields
        assert not any("`" in str(error) for error in page.context["form"].errors.values()), fields
    assert not Offer.objects.filter(name="Harbor loan").exists()
    text = text_of(owner.post(make_of(lender), {"seen": seen, **FIELDS, "rate_min": "20"}))
    assert "Must not be greater than “Highest interest rate”." in text


def test_offer_form_with_a_duplicate_name_shows_the_error_and_retains_its_values(owner, lender, offer):
    form = send_form(owner, make_of(lender), **{**FIELDS, "rate_min": "5"}).context["form"]
    assert "Must not look like the name of another active offer" in str(form.errors["name"])
    assert form["rate_min"].value() == "5"
    assert Offer.objects.latest("pk") == offer


def test_only_owners_of_the_lender_can_create_or_change_offers(lender, offer, reviewers_client, superusers_client):
    for role in ROLES[1:]:
        client = console_client(lender.people[role])
        for address in (make_of(lender), action_of(offer), action_of(offer, "deactivate")):
            assert client.get(address).status_code == 403, address
            assert client.post(address, {"seen": "1:True", **FIELDS}).status_code == 403, address
        offer.refresh_from_db()
        assert (offer.version, offer.is_active) == (1, True), role
    foreign = console_client(lender_of("zircon", 702).people["owner"])
    for client in (foreign, reviewers_client, superusers_client):
        for address in (make_of(lender), action_of(offer)):
            assert client.post(address, {"seen": "1:True", **FIELDS}).status_code in {403, 404}
    assert Offer.objects.filter(name="Harbor loan").count() == 1
    offer.refresh_from_db()
    assert offer.version == 1


def test_offer_form_rejects_its_input_if_the_offer_changed_after_opening(owner, offer):
    page = owner.get(action_of(offer))
    sent = {"seen": seen_value(page), **FIELDS, "rate_min": "5"}
    shown = owner.post(action_of(offer), sent)
    Offer.objects.filter(pk=offer.pk).update(version=7)
    answer = owner.post(action_of(offer), {**sent, "terms_seen": shown.context["terms_seen"]})
    assert "changed after you opened the page" in text_of(answer)
    assert answer.context["form"]["rate_min"].value() == "5"
    offer.refresh_from_db()
    assert offer.apr_min_percent == 6.9


def test_contract_terms_text_of_a_us_offer_is_stored_and_retained_after_an_update(owner, lender):
    send_form(owner, make_of(lender), **FIELDS, terms_text="A late payment costs $15.\r\nOregon law governs.")
    offer = Offer.objects.get(name="Harbor loan")
    assert (offer.jurisdiction, offer.terms_text) == ("us", "A late payment costs $15.\nOregon law governs.")
    form = owner.get(action_of(offer)).context["form"]
    assert "terms_text" in [field.name for _, fields in form.sections for field in fields]
    shown = {field.name: str(field.value() or "") for field in form.visible_fields()}
    send_form(owner, action_of(offer), **{**shown, "rate_min": "5"})
    offer.refresh_from_db()
    assert (offer.version, offer.terms_text) == (2, "A late payment costs $15.\nOregon law governs.")


EU_FIELDS = {
    **FIELDS, "amount_min": "1,000", "amount_max": "9,000.50", "jurisdiction": "eu", "regime": "ccd2",
    "currency": "eur", "day_count": "act_365", "fee_financed": "no", "apr_cap": "25", "example_amount": "5,000.00",
    "example_months": "24", "example_rate": "14.2 %", "example_fee": "300", "terms_text": "You repay monthly.",
    **{f"text_{name}": TEXTS[name] for name in REQUIRED_TEXTS},
}  # fmt: skip


@pytest.fixture
def eu_owner(lender):
    Provider.objects.filter(pk=str(lender.number)).update(**LENDER)
    return console_client(lender.people["owner"])


def test_lender_owner_can_create_an_eu_offer_in_the_console(eu_owner, lender):
    text = text_of(confirm(eu_owner, make_of(lender), **EU_FIELDS))
    offer = Offer.objects.get(name="Harbor loan")
    assert (offer.jurisdiction, offer.regime, offer.currency, offer.day_count) == ("eu", "ccd2", "EUR", "act_365")
    assert (offer.loan_amount_max_cents, offer.fee_financed, offer.apr_cap) == (900_050, False, 25)
    assert offer.example == {"amount_cents": 500_000, "months": 24, "rate_percent": 14.2, "fee_cents": 30_000}
    assert offer.texts == {name: TEXTS[name] for name in REQUIRED_TEXTS}
    assert "$" not in text


def test_eu_offer_form_does_not_change_texts_that_are_missing_in_the_form(eu_owner, lender):
    send_form(eu_owner, make_of(lender), **EU_FIELDS)
    offer = Offer.objects.get(name="Harbor loan")
    Offer.objects.filter(pk=offer.pk).update(texts={**offer.texts, "validity": "One month."})
    page = eu_owner.get(action_of(offer))
    assert "Credit in the European Union" in text_of(page)
    form = page.context["form"]
    shown = {field.name: str(field.value() or "") for field in form.visible_fields()}
    assert (shown["example_amount"], shown["amount_max"], shown["fee_financed"]) == ("5000.00", "9000.50", "no")
    send_form(eu_owner, action_of(offer), **{**shown, "example_fee": "12.50"})
    offer.refresh_from_db()
    assert (offer.version, offer.example["fee_cents"], offer.texts["validity"]) == (2, 1_250, "One month.")


def test_eu_offer_form_in_yen_stores_yen(eu_owner, lender):
    yen = {"currency": "JPY", "regime": "ccd2_small", "regime_reason": "Small.", "amount_min": "100,000"}
    yen |= {"amount_max": "900,000", "example_amount": "500,000"}
    send_form(eu_owner, make_of(lender), **{**EU_FIELDS, **yen})
    offer = Offer.objects.get(name="Harbor loan")
    assert (offer.currency, offer.loan_amount_max_cents, offer.example["amount_cents"]) == ("JPY", 900_000, 500_000)


def test_eu_offer_form_shows_errors_at_the_field_and_warns_of_an_apr_above_the_cap(eu_owner, lender):
    seen = seen_value(eu_owner.get(make_of(lender)))
    for fields in (
        {"regime": ""}, {"text_default": ""}, {"example_amount": "50"}, {"example_months": "7"}, {"terms_text": ""},
        {"currency": "XXQ"}, {"jurisdiction": "xx"},
        {"example_amount": "", "example_months": "", "example_rate": "", "example_fee": ""},
    ):  # fmt: skip
        page = eu_owner.post(make_of(lender), {"seen": seen, **EU_FIELDS, **fields})
        assert next(iter(fields)) in page.context["form"].errors, fields
    assert not Offer.objects.filter(name="Harbor loan").exists()
    text = text_of(confirm(eu_owner, make_of(lender), **{**EU_FIELDS, "apr_cap": "21.5"}))
    assert "The annual percentage rate of the example is 22.6330%, above “Highest legal APR”: 21.5%." in text


def test_eu_offer_form_of_a_lender_without_contact_details_lists_missing_fields(owner, lender):
    text = text_of(confirm(owner, make_of(lender), **EU_FIELDS))
    assert "telephone number" in text
    assert "Set it with the API." in text
    assert "`" not in text
    assert not Offer.objects.filter(name="Harbor loan").exists()


def test_offer_form_without_a_change_creates_no_version(eu_owner, lender):
    for fields in (FIELDS, EU_FIELDS):
        send_form(eu_owner, make_of(lender), **{**fields, "name": f"Loan {len(fields)}"})
        offer = Offer.objects.latest("id")
        form = eu_owner.get(action_of(offer)).context["form"]
        shown = {field.name: str(field.value() or "") for field in form.visible_fields()}
        assert "Nothing changed." in text_of(confirm(eu_owner, action_of(offer), **shown))
        assert Offer.objects.get(pk=offer.pk).version == 1
        confirm(eu_owner, action_of(offer), **{**shown, "rate_min": "5"})
        assert Offer.objects.get(pk=offer.pk).version == 2

"""Test the defaults and validation of EU offers and lenders, and the conventions that applications pin."""

import pytest

from credit.core.eu_credit import LENDER_FIELDS, REQUIRED_TEXTS
from credit.core.jurisdictions import Conventions
from credit.models import Offer
from tests.api import assert_error, client_of
from tests.credit.eu.offers import CONTACT, EU_TERMS, EXAMPLE, LARGE, LENDER, LOAN, TEXTS, eu_lender, eu_offer
from tests.credit.terms.lending import SAID, applied, approve
from tests.factories import ApplicationFactory, UserFactory

pytestmark = pytest.mark.django_db
# The APR of this example is out of range.
DEAR = {"amount_cents": 100_000, "months": 12, "rate_percent": 14.2, "fee_cents": 99_999}
BODY = {"provider_id": "700", "name": "Everyday loan", "product_type": "personal_loan", **LOAN, **EU_TERMS}


def send(lender, **terms):
    return client_of(lender.owner).send("/provider-offers", {**BODY, **terms})


def fields_of(response):
    return {detail["field"] for detail in assert_error(response, 400, "E1001")["details"]}


def test_eu_offer_stores_the_fields_of_the_request():
    lender = eu_lender()
    offer = send(lender).json()
    assert {name: offer[name] for name in EU_TERMS} == EU_TERMS
    assert (offer["regime_reason"], offer["apr_cap"]) == (None, None)
    assert send(lender, name="Other loan", currency=None).json()["currency"] == "EUR"


def test_offer_without_a_jurisdiction_follows_us_law_in_dollars():
    offer = eu_offer(**dict.fromkeys(EU_TERMS))
    client = client_of(offer.owner)
    read = client.read(f"/provider-offers/{offer.pk}").json()
    assert (read["jurisdiction"], read["currency"]) == ("us", "USD")
    body = {"provider_id": "700", "name": "Everyday loan", "product_type": "personal_loan"}
    read = client.send("/provider-offers", body).json()
    assert (read["jurisdiction"], read["currency"]) == ("us", "USD")
    assert all(read[name] is None for name in set(EU_TERMS) - {"jurisdiction", "currency"})


# Values of the request for which the error has the name of the value's field.
INVALID = {
    "jurisdiction": ["uk"], "regime": [None, "ccd3"], "regime_reason": [" "],
    "currency": ["eur", "EURO", "DEM", "XXX", "", 978, "JPY"], "day_count": [None, "act_act"],
    "fee_financed": [None, "true"], "example": [None, [1]], "apr_cap": [-1, "20"],
    "terms_text": [None, "\n", "x" * 10_001], "texts": ["words"], "loan_amount_max_cents": [None, 10_000_001],
}  # fmt: skip
INVALID_EXAMPLES = {
    "months": [25, 0], "amount_cents": [4_000_001, 1.5], "rate_percent": [6.8, "14.2"], "fee_cents": [1_000_000],
    "apr": [18.8],
}  # fmt: skip


def test_eu_offer_with_an_invalid_field_is_rejected_with_the_field_name():
    lender = eu_lender()
    renovation = {**LARGE, "regime_reason": "renovation", "texts": {**TEXTS, "sureties": "A car."}}
    texts = [("colour", "blue"), ("default", "a\u200bb"), *((name, "") for name in REQUIRED_TEXTS)]
    for field, terms in (
        *((field, {field: value}) for field, values in INVALID.items() for value in values),
        *(
            (f"example.{name}", {"example": {**EXAMPLE, name: value}})
            for name, values in INVALID_EXAMPLES.items()
            for value in values
        ),
        *((f"texts.{name}", {"texts": {**TEXTS, name: text}}) for name, text in texts),
        ("regime_reason", {"regime": "ccd2_small"}), ("regime_reason", {"regime": "none"}),
        ("example.fee_cents", {"example": DEAR}), ("loan_amount_max_cents", renovation),
    ):  # fmt: skip
        assert field in fields_of(send(lender, **terms)), terms
    assert fields_of(send(lender, texts=None)) == {f"texts.{name}" for name in REQUIRED_TEXTS}
    assert not Offer.objects.exists()


def test_us_offer_with_eu_fields_is_rejected_with_an_error_for_each_field():
    response = send(eu_lender(), jurisdiction="us", regime_reason="x")
    assert fields_of(response) == (set(EU_TERMS) - {"jurisdiction", "terms_text"}) | {"regime_reason"}


def test_eu_offer_for_unsecured_renovation_credit_can_exceed_the_directives_ceiling():
    lender, texts = eu_lender(), {**TEXTS, "sureties": "Does not apply."}
    for terms in ({**LARGE, "texts": texts}, {"name": "Other", "currency": "JPY", "loan_amount_max_cents": None}):
        assert send(lender, regime_reason="renovation", **terms).status_code == 201


def test_eu_offer_ceiling_is_converted_at_the_fixed_exchange_rate():
    lender, crowns = eu_lender(), {"currency": "SEK", "loan_amount_max_cents": 116_000_000}
    assert send(lender, **crowns).status_code == 201
    response = send(lender, **{**crowns, "loan_amount_max_cents": 116_000_001})
    assert fields_of(response) == {"loan_amount_max_cents"}


def test_eu_offer_outside_the_directive_requires_no_precontract_texts():
    terms = {"regime": "none", "regime_reason": "Secured by a home.", "example": None, "texts": None, **LARGE}
    assert send(eu_lender(**dict.fromkeys(CONTACT)), **terms, terms_text=None).status_code == 201


def test_eu_offer_is_rejected_if_the_lender_lacks_a_required_field():
    lender = eu_lender()
    for field in ("name", "address", *LENDER_FIELDS):
        empty = "" if field in {"name", "address"} else None
        type(lender).objects.filter(pk=lender.pk).update(**{**LENDER, field: empty})
        assert fields_of(send(lender)) == {f"provider.{field}"}


def test_approval_of_an_eu_application_is_rejected_if_the_lender_lacks_a_required_field(settings):
    settings.REVIEW_POLICY = "reviewed"
    application = applied(eu_offer())
    type(application).provider_owner("700", application.created_at).update(redress=None, phone=None)
    client = client_of(application.provider_owner("700", application.created_at).get().owner)
    error = assert_error(approve(client, application), 400, "E3001")
    assert error["details"]["missing"] == ["phone", "redress"]
    assert "has no telephone number and no body for complaints out of court, which" in error["message"]


def test_eu_offer_above_its_apr_cap_returns_400():
    lender = eu_lender()
    for terms, words in (({"apr_max_percent": 19}, "apr_max_percent"), ({}, "example")):
        assert words in assert_error(send(lender, apr_cap=18.7, **terms), 400, "E1023")["message"]
    assert send(lender, apr_cap=18.9).status_code == 201


def test_eu_line_of_credit_requires_the_text_about_its_termination():
    """Without the text, every agreement would be incomplete, and its period of withdrawal a year longer."""
    lender = eu_lender()
    for months in (None, []):
        line = {"name": f"Line {months}", "term_options_months": months, "texts": TEXTS}
        assert fields_of(send(lender, **line)) == {"texts.termination"}
        assert send(lender, **{**line, "texts": {**TEXTS, "termination": "One month."}}).status_code == 201


def test_apr_cap_applies_to_the_assumed_apr_of_a_line_of_credit_example():
    """As a loan of 24 months, the example has an APR of 18.8 %. As a line repaid in a year, it has 22.2 %."""
    line = {"term_options_months": None, "texts": {**TEXTS, "termination": "One month."}}
    lender = eu_lender()
    assert_error(send(lender, **line, apr_cap=22), 400, "E1023")
    assert send(lender, **line, apr_cap=23).status_code == 201


def test_lender_update_stores_the_eu_fields():
    lender = eu_lender(**dict.fromkeys(CONTACT))
    read = client_of(lender.owner).replace("/providers/700", LENDER).json()
    assert {name: read[name] for name in LENDER} == LENDER


def test_lender_update_with_an_invalid_eu_field_returns_400():
    lender = eu_lender()
    for field, value in (
        ("phone", ""), ("phone", 33), ("phone", "x" * 65), ("email", "nobody"), ("register_number", " "),
        ("supervisor", "BaFin"), ("supervisor.address", {"name": "BaFin"}), ("supervisor.name", {"address": "Bonn"}),
        ("redress.url", {"name": "Ombudsman", "url": "javascript:alert(1)"}), ("redress.url", {"name": "Ombudsman"}),
        ("redress.tel", {"name": "Ombudsman", "url": "https://a.example", "tel": "1"}), ("debt_advice", ""),
    ):  # fmt: skip
        body = {**LENDER, field.partition(".")[0]: value}
        assert field in fields_of(client_of(lender.owner).replace("/providers/700", body)), value
    lender.refresh_from_db()
    assert lender.phone == CONTACT["phone"]


def test_lender_with_an_active_eu_offer_cannot_remove_required_fields():
    offer = eu_offer()
    client, body = client_of(offer.owner), {**LENDER, "redress": None}
    assert fields_of(client.replace("/providers/700", body)) == {"redress"}
    Offer.objects.filter(pk=offer.pk).update(regime="none", regime_reason="Secured by a home.")
    assert client.replace("/providers/700", body).status_code == 200


def test_submission_stores_the_offers_currency_day_count_and_fee_conventions_with_the_application():
    offer = eu_offer(currency="SEK", day_count="30_360", fee_financed=False)
    application = ApplicationFactory(
        consumer=UserFactory(), provider_id=700, offer_id=offer.pk, application_data=SAID, status="draft"
    )
    assert application.conventions == Conventions()
    client = client_of(application.consumer)
    body = {"status": "submitted", "updated_by": "me"}
    assert client.replace(f"/applications/{application.pk}/status", body).status_code == 200
    Offer.objects.update(currency="EUR")
    application.refresh_from_db()
    assert application.conventions == Conventions("eu", "SEK", "30_360", is_fee_kept_back=False)
    assert application.conventions.apr_method == "eu_annex_iii"

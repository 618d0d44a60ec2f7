"""Test the public list of offers: its visibility, the costs of an amount and a term, and the way to the form."""

import re
from decimal import Decimal
from html import unescape
from urllib.parse import unquote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.currencies import amount_in_words
from credit.core.figures import money
from credit.core.quotes import make_quote
from credit.models import LastScore
from credit.my.comparison import ComparisonForm
from credit.offers.catalogue import CatalogueFilter
from credit.scoring.explanation import describe_automation
from tests.credit.eu.offers import eu_offer
from tests.credit.scoring.submitting import scored_offer
from tests.credit.terms.lending import LINE, LOAN, listed
from tests.credit.test_my_apply import SCHEMA
from tests.credit.test_my_language import german, spanish
from tests.credit.test_my_pages import browser_of
from tests.factories import PASSWORD, OfferFactory, ProviderFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
ASKED = {"amount": "8,000.50", "months": "24"}
NOT_AVAILABLE = "This offer isn&#x27;t available for this amount and number of months."


def list_of(browser=None, *, status=200, headers=None, **query):
    answer = (browser or Client()).get("/my/apply", query, headers=headers)
    assert answer.status_code == status
    return " ".join(answer.content.decode().split())


def names_in(page):
    return re.findall(r"<h2><a [^>]*><bdi>(.*?)</bdi></a></h2>", page)


def costs_in(page):
    """Return the rows of each offer that has costs, with the monthly payment first."""
    cards = [card for card in re.findall(r"<section>.*?</section>", page) if '<dl class="payment">' in card]
    rows = r"<dt>(.*?)</dt><dd>(.*?)</dd>", r'<th scope="row"><bdi>(.*?)</bdi></th><td><bdi>(.*?)</bdi></td>'
    return [dict(pair for pattern in rows for pair in re.findall(pattern, card)) for card in cards]


def errors_in(page):
    return dict(re.findall(r'<ul class="errorlist" id="id_(\w+)_error"> ?<li>([^<]+)</li>', page))


def quote_of(offer, rate, amount_cents=800_050, term_months=24):
    return make_quote(
        offer, amount_cents=amount_cents, term_months=term_months, apr_percent=Decimal(str(rate)), fee_cents=0,
        first_payment_on=None, method=None, today=timezone.now().date(),
    )  # fmt: skip


class TestVisibility:
    def test_visitor_can_see_the_active_offers_without_a_log_in(self, user):
        offer = listed(name="Car loan", description="For a car.")
        OfferFactory(provider=offer.provider, name="Closed loan", is_active=False)
        OfferFactory(provider=ProviderFactory(id="abc"), name="Unreachable loan")
        page = list_of()
        assert names_in(page) == ["Car loan"]
        for words in ("$1,000.00 \u2013 $40,000.00", "6.90% \u2013 17.50%", "12, 24, 36, 60", "For a car."):
            assert words in page
        assert 'href="/account/login?next=/my/apply"' in page
        user.first_name, user.email = "Zenobia", "zenobia@example.test"
        user.save()
        for browser in (Client(), browser_of(user), browser_of(offer.provider.owner)):
            page = list_of(browser, **ASKED)
            names = ("Zenobia", "zenobia", offer.provider.owner.username, user.username)
            assert not any(text in page for text in names)

    def test_visitor_sees_only_ab_test_variants_that_every_account_sees(self):
        offer = listed(name="Plain")
        for share in (0, 1, 99, 100):
            OfferFactory(provider=offer.provider, name=f"b{share}", ab_test_variant="b", ab_test_allocation=share)
        shown = names_in(list_of())
        assert shown == ["b100", "Plain"]
        for _ in range(5):
            visible = CatalogueFilter(user_id=str(UserFactory().pk), sees_scores=False).matching()
            assert {*shown} <= {*visible.values_list("name", flat=True)}

    def test_public_offer_list_contains_an_offer_whose_score_declined_the_user(self, user):
        offer, version = scored_offer()
        LastScore.objects.create(
            user=user, model=version.model, outcome="decline", segment=None, reasons=[], scored_at=timezone.now()
        )
        for browser in (Client(), browser_of(UserFactory()), browser_of(user)):
            assert offer.name in names_in(list_of(browser))
        form = browser_of(user).get(f"/my/apply/{offer.pk}").content.decode()
        words = "Apps that can read your scores don&#x27;t list an offer if your last score for it was a rejection."
        assert words in form
        assert "catalog" not in form

    @pytest.mark.parametrize("asked", [{}, ASKED])
    @pytest.mark.parametrize(("is_visitor", "statements"), [(True, 3), (False, 9)])
    def test_public_offer_list_executes_a_fixed_number_of_sql_statements(self, user, asked, is_visitor, statements):
        provider = ProviderFactory(id="700")
        browser = Client() if is_visitor else browser_of(user)
        OfferFactory(provider=provider, **LOAN)
        list_of(browser, **asked)
        for number in (0, 24):
            OfferFactory.create_batch(number, provider=provider, **LOAN)
            with CaptureQueriesContext(connection) as captured:
                page = list_of(browser, **asked)
            # A process reserves several permits of a rate limit at once.
            assert len([each for each in captured if "ratecounter" not in each["sql"]]) == statements
        assert len(names_in(page)) == 20
        assert len(costs_in(page)) == (20 if asked else 0)


class TestCosts:
    def test_public_offer_list_shows_payment_and_total_at_the_lowest_and_the_highest_rate(self):
        offer = listed()
        page = list_of(**ASKED)
        low, high = quote_of(offer, 6.9), quote_of(offer, 17.5)
        assert costs_in(page) == [{
            "Monthly payment": f"{money(low['payment_cents'])} \u2013 {money(high['payment_cents'])}",
            "Annual percentage rate": "6.90% \u2013 17.50%",
            "Total of payments":
                f"{money(low['total_of_payments_cents'])} \u2013 {money(high['total_of_payments_cents'])}",
            "Amount": "$1,000.00 \u2013 $40,000.00",
            "Number of months": "12, 24, 36, 60",
        }]  # fmt: skip
        assert 'value="8,000.50"' in page
        assert 'value="24"' in page

    def test_offer_with_a_single_rate_shows_single_figures(self):
        offer = listed(apr_min_percent=9.0, apr_max_percent=9.0)
        assert costs_in(list_of(**ASKED))[0]["Monthly payment"] == money(quote_of(offer, 9)["payment_cents"])

    def test_eu_offer_shows_the_annual_percentage_rate_in_its_currency(self):
        offer = eu_offer()
        page = list_of(**ASKED)
        (costs,) = costs_in(page)
        assert costs["Annual percentage rate of charge (APR)"] == "7.1% \u2013 19%"
        payment = amount_in_words(quote_of(offer, 6.9)["payment_cents"], "EUR").replace("\xa0", " ")
        assert payment in costs["Monthly payment"]
        assert "$" not in page.partition("<main")[2]
        assert "The amount is in the currency of each offer." in page
        assert "Caution! Borrowing money costs money" in page

    def test_offers_are_sorted_by_their_total_and_offers_without_costs_are_last(self):
        provider = ProviderFactory(id="700")
        rates = {"dear": 17.5, "cheap": 5.0, "middle": 9.0}
        for name, rate in rates.items():
            OfferFactory(provider=provider, name=name, **{**LOAN, "apr_min_percent": rate, "apr_max_percent": rate})
        OfferFactory(provider=provider, name="large", **{**LOAN, "loan_amount_min_cents": 1_000_000})
        OfferFactory(provider=provider, name="line", **LINE)
        OfferFactory(provider=provider, name="short", **{**LOAN, "term_options_months": [12]})
        page = list_of(**ASKED)
        assert names_in(page) == ["cheap", "middle", "dear", "short", "line", "large"]
        assert page.count(NOT_AVAILABLE) == 2
        assert "This is a line of credit, without a number of months." in page
        assert names_in(list_of()) == ["short", "line", "large", "middle", "cheap", "dear"]

    def test_number_of_months_is_a_choice_of_the_terms_of_all_visible_offers(self):
        provider = ProviderFactory(id="700")
        OfferFactory.create_batch(20, provider=provider, **LOAN)
        others = ("b", [84]), ("hidden", [96]), ("line", None)
        for name, terms in others:
            OfferFactory(
                provider=provider, is_active=name != "hidden", **{**LOAN, "name": name, "term_options_months": terms}
            )
        for asked, more in (({}, []), ({"amount": "8000", "months": "13"}, ["13"]), ({"months": "x"}, ["x"])):
            field = re.search(r'<select name="months".*?</select>', list_of(**asked))[0]
            assert re.findall(r'<option value="(\w*)"', field) == ["", "12", "24", "36", "60", "84", *more]
            assert re.findall(r'<option value="(\w*)" selected', field) == (more or [""] if asked else [""])

    @pytest.mark.parametrize(
        ("terms", "asked", "nearest"),
        [
            ({}, {"amount": "8000.50", "months": "13"}, ("amount=8000&months=12", "$8,000.00 for 12 months")),
            ({}, {"amount": "8000", "months": "18"}, ("amount=8000&months=12", "$8,000.00 for 12 months")),
            ({}, {"amount": "5", "months": "24"}, ("amount=1000&months=24", "$1,000.00 for 24 months")),
            ({}, {"amount": "50000", "months": "99"}, ("amount=40000&months=60", "$40,000.00 for 60 months")),
            (
                {"loan_amount_min_cents": 100_050, "loan_amount_max_cents": None},
                {"amount": "5", "months": "24"},
                ("amount=1001&months=24", "$1,001.00 for 24 months"),
            ),
        ],
    )
    def test_unavailable_offer_has_a_link_to_its_nearest_amount_and_term_instead_of_a_button(
        self, terms, asked, nearest
    ):
        offer = listed(**terms)
        page = list_of(**asked)
        query, words = nearest
        assert NOT_AVAILABLE in page
        assert f'<a class="button" href="?{query.replace("&", "&amp;")}">Show the costs of {words}<' in page
        assert "Apply<" not in page
        assert names_in(page) == [offer.name]
        assert len(costs_in(list_of(**dict(pair.split("=") for pair in query.split("&"))))) == 1

    def test_offer_without_a_rate_is_listed_with_a_message_about_the_missing_rate(self):
        listed(apr_min_percent=None, apr_max_percent=None)
        page = list_of(**ASKED)
        assert "The lender has not stated an interest rate for this offer." in page
        assert NOT_AVAILABLE not in page

    @pytest.mark.parametrize(
        ("least", "most", "words"), [(100_000, None, "At least $1,000.00"), (None, 4_000_000, "At most $40,000.00")]
    )
    def test_offer_with_only_a_minimum_or_a_maximum_amount_shows_the_kind_of_limit(self, least, most, words):
        listed(loan_amount_min_cents=least, loan_amount_max_cents=most)
        assert f"<bdi>{words}</bdi>" in list_of()

    def test_public_offer_list_marks_and_retains_an_invalid_amount_or_term(self, no_rate_limits):
        listed()
        enter_months = "Choose the number of months."
        for asked, wrong in (
            ({"amount": "", "months": ""}, {}),
            ({"amount": "8000"}, {"months": enter_months}),
            ({"months": "24"}, {"amount": "Enter the amount that you want to borrow."}),
            ({"amount": "x", "months": ""}, {"amount": "Enter a number.", "months": enter_months}),
            ({"amount": "8,5", "months": "24"}, {"amount": "Enter a number such as 8,000.50"}),
            ({"amount": "0", "months": "0"}, {"amount": "Enter at least 1.", "months": "Enter at least 1."}),
            ({"amount": "-1", "months": "601"}, {"amount": "Enter at least 1.", "months": "Enter at most 600."}),
            ({"amount": "1e5000", "months": "1.5"}, {"amount": "", "months": "Enter whole months, such as 40."}),
            ({"amount": "NaN", "months": "\0"}, {"amount": "Enter a number.", "months": ""}),
            ({"amount": "9" * 5_000, "months": "\u0662\u0664"}, {"amount": "Enter at most 10,000,000,000."}),
        ):
            page = list_of(**asked)
            errors = errors_in(page)
            assert errors.keys() == wrong.keys(), asked
            assert all(words in errors[name] for name, words in wrong.items()), asked
            assert (costs_in(page), len(names_in(page))) == ([], 1), asked
            typed = [text for text in asked.values() if text.isascii() and text.isprintable() and text]
            assert all(f'value="{text}"' in page for text in typed), asked
        typed = ComparisonForm({"amount": "$8,000.50", "months": " 24 "}, currency=None)
        assert typed.loan() == {"amount": Decimal("8000.50"), "months": 24}

    def test_public_offer_list_computes_costs_for_the_largest_amount_and_the_longest_term(self):
        listed(loan_amount_max_cents=None, term_options_months=[600])
        assert len(costs_in(list_of(amount="10000000000", months="600"))) == 1
        assert "amount" in errors_in(list_of(amount="10000000000.01", months="600"))

    def test_offer_is_not_available_for_an_amount_with_a_fraction_of_a_minor_unit(self):
        eu_offer(currency="JPY", regime="none", regime_reason="x", loan_amount_max_cents=None)
        assert NOT_AVAILABLE in list_of(**ASKED)

    def test_next_page_of_offers_retains_the_amount_and_the_term(self):
        provider = ProviderFactory(id="700")
        OfferFactory.create_batch(21, provider=provider, **LOAN)
        page = list_of(**ASKED)
        (link,) = re.findall(r'href="\?([^"]+)"', page)
        assert link == "amount=8%2C000.50&amp;months=24&amp;page=2"
        assert len(costs_in(list_of(**ASKED, page="2"))) == 1

    def test_cost_computations_for_visitors_are_rate_limited_by_ip_address(self, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous": 0}
        listed()
        assert "You sent too many requests." not in list_of()
        answer = Client().get("/my/apply", ASKED)
        page = answer.content.decode()
        assert (answer.status_code, "Retry-After" in answer.headers) == (429, True)
        assert "You sent too many requests." in page
        assert 'value="8,000.50"' in page
        assert costs_in(page) == []

    @pytest.mark.parametrize(("language", "read", "words"), [
        ("es", spanish, "Mostrar cuánto cuesta"), ("de", german, "Kosten anzeigen"),
    ])  # fmt: skip
    def test_public_offer_list_is_available_in_spanish_and_german(self, language, read, words):
        offer = listed(name="Solar", description="")
        OfferFactory(provider=offer.provider, name="Luna", **{**LINE, "description": ""})
        headers = {"accept-language": language}
        assert words in read(list_of(headers=headers))
        assert read(list_of(headers=headers, **ASKED))
        assert read(list_of(headers=headers, amount="8000", months=""))


class TestLinkToTheForm:
    def test_chosen_offer_opens_its_form_with_the_amount_after_the_log_in(self, user):
        offer = listed(application_schema=SCHEMA)
        browser = Client()
        (path,) = set(re.findall(rf'href="(/my/apply/{offer.pk}[^"]*)"', list_of(browser, **ASKED)))
        path = path.replace("&amp;", "&")
        assert path == f"/my/apply/{offer.pk}?amount=8000.50&months=24"
        (location,) = set(re.findall(r'href="(/account/login[^"]*)"', browser.get(path).content.decode()))
        page = browser.get(location).content.decode()
        assert "To apply, log in or sign up." in page
        (sign_up,) = re.findall(r'href="(/account/signup[^"]*)"', page)
        assert unquote(unquote(sign_up)).endswith(f"next={path}")
        wanted = re.search(r'name="next" value="(/my[^"]+)"', page)[1].replace("&amp;", "&")
        answer = browser.post(location, {"login": user.username, "password": PASSWORD, "next": wanted})
        assert answer.headers["Location"] == path
        page = browser.get(path).content.decode()
        assert 'value="8000.50"' in page
        assert '<option value="24" selected>' in page
        assert "Estimated installments" in page

    def test_application_form_ignores_an_invalid_amount_and_term_in_its_url(self, user):
        browser, path = browser_of(user), f"/my/apply/{listed().pk}"
        for query in (
            "amount=x&months=y", "amount=-5&months=-24", "amount=1e400&months=25", "amount=8000.505&months=\0",
            "amount=NaN", f"amount={'9' * 4000}&months={'9' * 4000}", "amount=8%2C000",
        ):  # fmt: skip
            page = browser.get(f"{path}?{query}").content.decode()
            assert re.search(r'<input type="text" name="data-amount_cents"(?![^>]*value=)[^>]*>', page), query
            months = re.search(r'<select name="data-term_months".*?</select>', page, re.S)[0]
            assert '<option value="" selected' in months, query

    def test_application_form_submits_the_typed_amount_instead_of_the_amount_in_its_url(self, user):
        offer = listed()
        path = f"/my/apply/{offer.pk}?amount=8000.50&months=24"
        answer = browser_of(user).post(path, {"do": "save", "data-amount_cents": "9,000", "data-term_months": "12"})
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/my/applications/")


class TestOfferForVisitors:
    def test_visitor_sees_the_requirements_of_an_application_before_the_sign_up(self):
        offer = listed(
            name="Car loan", application_schema=SCHEMA, required_documents=["Pay stub"], min_age=21,
            applicant_requires=["phone"], included_states=["OR"],
        )  # fmt: skip
        plain = OfferFactory(provider=offer.provider)
        answer = Client().get(f"/my/apply/{offer.pk}")
        page = " ".join(answer.content.decode().split())
        assert answer.status_code == 200
        for words in (
            "Before you start", "You can save and send an application for free.", "within 30 days", "21 years old",
            "A draft expires after 30 days", "only available in: Oregon", "<bdi>Pay stub</bdi>", "6.90% \u2013 17.50%",
            "<li><bdi>Date of birth</bdi></li>", "<li><bdi>Phone number</bdi></li>",
        ):  # fmt: skip
            assert words in page, words
        assert "(optional)" not in page
        assert "You need no documents" not in page
        assert "You need no documents" in Client().get(f"/my/apply/{plain.pk}").content.decode()

    def test_offer_for_visitors_describes_the_score_that_the_lender_uses(self):
        offer, _version = scored_offer()
        page = Client().get(f"/my/apply/{offer.pk}").content.decode()
        assert describe_automation(offer)["reviewed_by"] in unescape(page)
        assert "The score reads:" in page

    def test_visitor_must_log_in_for_a_hidden_offer_and_to_send_the_form(self):
        offer = listed()
        hidden = OfferFactory(provider=offer.provider, ab_test_variant="b", ab_test_allocation=0)
        for path in (f"/my/apply/{hidden.pk}", "/my/apply/999", "/my/apply/x"):
            assert Client().get(path).headers["Location"] == f"/account/login?next={path}"
        path = f"/my/apply/{offer.pk}"
        assert Client().post(path, {"do": "save"}).headers["Location"] == f"/account/login?next={path}"

    def test_offer_for_visitors_is_in_the_language_of_the_visitor(self):
        path = f"/my/apply/{listed(required_documents=['Pay stub']).pk}"
        for language, read, words in (("es", spanish, "Antes de empezar"), ("de", german, "Bevor Sie beginnen")):
            assert words in read(Client().get(path, headers={"Accept-Language": language}).content.decode())

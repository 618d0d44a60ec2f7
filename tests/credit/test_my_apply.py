"""Test the offer list and the application form in the browser."""

import re
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.db import connection
from django.test import Client
from django.utils import timezone

from config.ops.pruning import prune
from credit.core.applicants import Applicants
from credit.core.due import Due, OfferRequirements
from credit.core.profile import TEXT_MAX_LENGTH
from credit.export import COPIED_VALUES
from credit.models import Application, Offer, PartialApplicants
from identity.accounts.erasure import erase_subject
from tests.api import client_of
from tests.credit.applicants import PERSON
from tests.credit.eu.offers import eu_offer
from tests.credit.terms.lending import LOAN, applied, listed
from tests.credit.test_my_language import spanish
from tests.credit.test_my_pages import browser_of, page_of, press_button, state_in
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
SCHEMA = {
    "type": "object",
    "properties": {
        "income_cents": {"type": "integer", "title": "Income a year", "minimum": 1_000_000},
        "purpose": {"type": "string", "enum": ["car", "home"], "title": "Purpose"},
        "employed_since": {"type": "string", "format": "date", "title": "Employed since"},
        "owns_home": {"type": "boolean", "title": "Do you own your home?"},
        "persons": {"type": "integer", "enum": [1, 2, 3]},
        "share_percent": {"type": "number", "minimum": 0, "maximum": 100},
        "story": {"type": "string", "maxLength": 2_000, "description": "In <b>your</b> words."},
    },
    "required": ["income_cents", "owns_home"],
}
WRONG_STATE = "Enter the name or the code of a US state, such as Oregon or OR."
ANSWERS = {
    "data-amount_cents": "$8,000.50", "data-term_months": "24", "data-income_cents": "54,000", "data-purpose": "car",
    "data-employed_since": "2019-04-01", "data-owns_home": "no", "data-persons": "2", "data-share_percent": "12.5",
    "data-story": "A story.",
}  # fmt: skip
DATA = {
    "amount_cents": 800_050, "term_months": 24, "income_cents": 5_400_000, "purpose": "car",
    "employed_since": "2019-04-01", "owns_home": False, "persons": 2, "share_percent": 12.5, "story": "A story.",
}  # fmt: skip
ADA = {
    "first-legal_name": "Ada Example", "first-date_of_birth": "1980-02-29", "first-email": "ADA@example.test",
    "first-phone": "(503) 555-0100", "first-address.line1": "1 Main St", "first-address.line2": "",
    "first-address.city": "Portland", "first-address.region": "OR", "first-address.postal_code": "97201",
    "first-address.country": "US", "first-language": "en",
}  # fmt: skip
TYPED = {**ANSWERS, **ADA, "second-address.country": "US", "second-language": "en"}

# Forms with several wrong values, and a part of the error shown at each. Applicants are checked in a second step.
WRONG = [
    {
        "data-amount_cents": ("50", "Enter at least $1,000.00."),
        "data-income_cents": ("1", "Enter at least $10,000.00."),
        "data-term_months": ("13", "Select a valid choice"),
        "data-employed_since": ("yesterday", "Enter a valid date."),
        "data-owns_home": ("perhaps", "Select a valid choice"),
        "data-persons": ("4", "Select a valid choice"),
        "data-share_percent": ("101", "Enter at most 100."),
        "data-story": ("x" * 2_001, "Use at most 2000 characters. You entered 2001."),
        "first-address.country": ("XX", "Select a valid choice"),
        "first-language": ("tlh", "Select a valid choice"),
    },
    {
        "data-amount_cents": ("8,5", "Enter a number such as 8,000.50"),
        "data-share_percent": ("x", "Enter a number."),
        "data-story": ("a\0", "Null characters are not allowed."),
    },
    {"data-amount_cents": ("1e5000", "")},
    {"data-amount_cents": ("NaN", "Enter a number.")},
    {"data-amount_cents": ("1000.001", "Enter a number such as 8,000.50")},
    {"data-amount_cents": ("8.000", "Enter a number such as 8,000.50")},
    {
        "first-phone": ("12", "Enter the phone number with its country code"),
        "first-email": ("ada@", "Enter an email address such as name@example.com."),
        "first-date_of_birth": ("2190-01-01", "Enter a date in the past 130 years."),
        "first-address.postal_code": ("", "Enter the postal code."),
        "first-legal_name": ("a\u202eb", "This text has an invisible character."),
    },
    {
        "first-date_of_birth": ("1850-02-28", "Enter a date in the past 130 years."),
        "first-email": ("jörg@müller.de", "without letters such as ö or é before the @"),
        "first-address.postal_code": ("ABC", "Enter a postal code such as 97201 or 97201-1234."),
    },
    {"first-date_of_birth": ("x", "Enter a date in the past 130 years.")},
]


_AMOUNT = {"amount_cents": {"type": "integer", "minimum": 500_000, "maximum": 900_000}}
_STRICT = {"application_schema": {"type": "object", "properties": _AMOUNT}}
_OPEN = {"loan_amount_min_cents": None, "loan_amount_max_cents": None, "term_options_months": None}
_ZERO = "Enter at least $1.00."
# The button, the offer's terms, the entered amount, the hint, and the error.
LIMITS = [
    ("estimate", _STRICT, "2000", "From $5,000.00 to $9,000.00", "Enter at least $5,000.00."),
    ("check", {**_STRICT, **_OPEN}, "9000.01", "From $5,000.00 to $9,000.00", "Enter at most $9,000.00."),
    ("save", {**_STRICT, "loan_amount_min_cents": 600_000}, "5999", "From $6,000.00 to $9,000.00",
     "Enter at least $6,000.00."),
    ("check", _OPEN, "0", "", _ZERO), ("save", _OPEN, "-3", "", _ZERO), ("check", _OPEN, "0.50", "", _ZERO),
    ("check", _OPEN, "99,999,999,999", "", "Enter at most $100,000,000.00."),
    ("check", {**_OPEN, "loan_amount_max_cents": 500_000}, "0.00", "At most $5,000.00", _ZERO),
]  # fmt: skip


GRACE = {name.replace("first", "second"): value for name, value in ADA.items()}


@pytest.fixture
def full_offer():
    return listed(application_schema=SCHEMA, applicant_requires=["date_of_birth"])


def send(path, user, do="check", /, **fields):
    """Open the form, and send it. With a `state`, it is a form that was opened before."""
    browser = browser_of(user)
    answer = browser.post(path, {"state": state_in(browser.get(path)), **fields, "do": do})
    return answer, " ".join(answer.content.decode().split())


def errors_in(page):
    """Return the error of each field, by its id."""
    field_errors = re.findall(r'<ul class="errorlist" id="id_([\w.-]+)_error"> ?<li>([^<]+)</li>', page)
    return dict(field_errors)


def languages_in(page, prefix):
    """Return the selected language of an applicant."""
    field = re.search(rf'<select name="{prefix}-language".*?</select>', page, re.DOTALL)[0]
    return re.findall(r'<option value="([\w-]*)" selected', field)


def newest_draft():
    """Return the state of a form that confirms another draft of the offer."""
    return "".join(str(draft.pk) for draft in Application.objects.order_by("-id")[:1])


def draft_of(user):
    return Application.objects.get(consumer=user)


class TestPartialApplicants:
    """Drafts whose applicants are incomplete."""

    # The entered fields, and an item of the list of missing fields.
    PARTS = (
        ({"first-legal_name": "Ada Example"}, '#id_first-address.city"><bdi>“City” is missing.</bdi>'),
        ({**GRACE, "second-phone": ""}, '#id_first-address.city"><bdi>Applicant 1: “City” is missing.</bdi>'),
        ({**ADA, "second-legal_name": "Grace"}, '#id_second-address.city"><bdi>Applicant 2: “City” is missing.</bdi>'),
    )

    @pytest.mark.parametrize(("part", "missing"), PARTS)
    def test_draft_stores_incomplete_applicants_until_their_completion(self, full_offer, user, stranger, part, missing):
        answer, _page = send(f"/my/apply/{full_offer.pk}", user, "save", **part)
        draft = draft_of(user)
        assert (answer.status_code, draft.applicants, draft.applicants_sha256) == (302, None, None)
        assert not draft.person_keys.exists()
        form = browser_of(user).get(f"/my/applications/{draft.pk}/edit").content.decode()
        page = page_of(draft)
        for words in {part[name] for name in part if name.endswith("name")}:
            assert f'value="{words}"' in form
            assert words in page
        assert missing in page
        assert ("<h3>Applicant 2</h3>" in page) == ("second-legal_name" in part)
        assert "Send to the lender" not in page
        press_button(draft, "send", user)
        assert draft_of(user).status == "draft"
        api = client_of(user).get(f"/v1/applications/{draft.pk}").json()
        assert api.get("applicants") is None
        assert browser_of(stranger).get(f"/my/applications/{draft.pk}/edit").status_code == 404
        with connection.cursor() as cursor:
            cursor.execute("SELECT entered FROM credit_partialapplicants")
            assert "Example" not in str(cursor.fetchall())
        # The same form within a minute is a double click.
        send(f"/my/apply/{full_offer.pk}", user, "save", **part)
        draft = draft_of(user)
        answer, page = send(f"/my/applications/{draft.pk}/edit", user, **TYPED)
        assert answer.status_code == 302, page
        assert draft_of(user).applicants.persons[0]["legal_name"] == "Ada Example"
        assert not PartialApplicants.objects.exists()

    def test_deleting_a_required_value_of_a_draft_retains_the_other_values(self, full_offer, user):
        send(f"/my/apply/{full_offer.pk}", user, **TYPED)
        path = f"/my/applications/{draft_of(user).pk}/edit"
        send(path, user, "save", **{**TYPED, "first-address.city": ""})
        assert draft_of(user).applicants is None
        assert 'value="1980-02-29"' in browser_of(user).get(path).content.decode()

    def test_incomplete_applicants_of_a_draft_are_exported_and_erased_with_the_account(self, full_offer, user):
        send(f"/my/apply/{full_offer.pk}", user, "save", **{**ADA, "second-legal_name": "Grace"})
        (row,) = PartialApplicants.objects.all()
        values = COPIED_VALUES["credit.PartialApplicants"]
        assert [person["legal_name"] for person in values(row, is_for_partner=False)["entered"]] == ["Ada Example"]
        assert values(row, is_for_partner=True) == {"entered": None}
        erase_subject(str(user.pk), now=timezone.now())
        assert not PartialApplicants.objects.exists()

    @pytest.mark.parametrize("columns", [{"status": "withdrawn"}, {"applicants": "by a program"}, {}])
    def test_prune_deletes_incomplete_applicants_that_the_application_form_no_longer_uses(
        self, full_offer, user, columns
    ):
        send(f"/my/apply/{full_offer.pk}", user, "save", **{"first-legal_name": "Ada Example"})
        draft = draft_of(user)
        for name, value in columns.items():
            setattr(draft, name, Applicants.of([PERSON]) if name == "applicants" else value)
        draft.save()
        assert prune(now=timezone.now())["partial_applicants"] == (1 if columns else 0)
        assert PartialApplicants.objects.exists() is not bool(columns)

    def test_application_form_is_empty_if_the_incomplete_applicants_cannot_be_decrypted(self, full_offer, user):
        send(f"/my/apply/{full_offer.pk}", user, "save", **{"first-legal_name": "Ada Example"})
        with connection.cursor() as cursor:
            cursor.execute("UPDATE credit_partialapplicants SET entered = 'damaged'")
        draft = draft_of(user)
        assert browser_of(user).get(f"/my/applications/{draft.pk}/edit").status_code == 200
        assert page_of(draft)


class TestLanguageOfTheForm:
    def test_language_buttons_of_the_application_form_retain_the_entered_values(self, full_offer, user):
        path = f"/my/apply/{full_offer.pk}"
        assert 'form="application" name="do" value="language:es"' in browser_of(user).get(path).content.decode()
        answer, page = send(path, user, "language:es", **{"first-legal_name": "Ada Example", "data-story": "Moving."})
        assert answer.status_code == 200
        assert '<html lang="es">' in page
        assert "Revisar antes de enviar" in page or "Guardar como borrador" in page
        assert 'value="Ada Example"' in page
        assert "Moving." in page
        assert not Application.objects.exists()
        user.refresh_from_db()
        assert user.language == "es"
        page = send(path, user, "language:tlh", **{"first-legal_name": "Ada Example"})[1]
        assert '<html lang="es">' in page
        assert re.search('value="language:es" lang="es" aria-current="true"', page)
        # Enter presses the first button of the form.
        assert re.search(r'<button form="application"[^>]*', page)[0].endswith('value="estimate" hidden')

    def test_form_preselects_the_language_of_the_page_as_the_applicants_language(self, committed, full_offer, user):
        EmailAddress.objects.create(user=user, email="ada@example.test", primary=True, verified=True)
        path, spanish_browser = f"/my/apply/{full_offer.pk}", {"Accept-Language": "es-US"}

        def preset(headers=None):
            page = browser_of(user).get(path, headers=headers).content.decode()
            assert '<option value="US" selected>' in page
            return [languages_in(page, prefix) for prefix in ("first", "second")]

        assert preset() == [["en"], ["en"]]
        assert preset(spanish_browser) == [["es"], ["es"]]
        _answer, page = send(path, user, "language:es", **{"first-language": "en", "second-language": "de"})
        assert [languages_in(page, prefix) for prefix in ("first", "second")] == [["es"], ["de"]]
        # The latest application is in English, and the pages of the account are in Spanish.
        send(path, user, **TYPED)
        assert draft_of(user).applicants.persons[0]["language"] == "en"
        assert preset() == [["es"], ["es"]]
        user.language = ""
        user.save()
        assert preset(spanish_browser) == [["en"], ["en"]]

    def test_form_presets_the_confirmed_address_instead_of_the_address_in_the_latest_application(
        self, full_offer, user
    ):
        def preset():
            page = browser_of(user).get(f"/my/apply/{full_offer.pk}").content.decode()
            assert 'value="Rosa Quillfeather"' in page
            return re.search(r'name="first-email" value="([^"]*)"', page)[1]

        applied(full_offer, consumer=user, applicants=Applicants.of([PERSON]))
        assert preset() == PERSON["email"]
        address = EmailAddress.objects.create(user=user, email="new@example.test", primary=True, verified=False)
        assert preset() == PERSON["email"]
        address.verified = True
        address.save()
        assert preset() == "new@example.test"

    def test_form_retains_the_regional_language_tag_of_the_latest_application(self, full_offer, user):
        applied(full_offer, consumer=user, applicants=Applicants.of([{**PERSON, "language": "es-MX"}]))
        page = browser_of(user).get(f"/my/apply/{full_offer.pk}").content.decode()
        assert languages_in(page, "first") == ["es-MX"]


class TestOffers:
    def test_application_form_of_an_unknown_or_closed_offer_returns_404(self, full_offer, user):
        browser = browser_of(user)
        for number in ("0", "x", "99999999999999999999", "1\0"):
            assert browser.get(f"/my/apply/{number}").status_code == 404
        full_offer.is_active = False
        full_offer.save()
        for method in (browser.get, browser.post):
            assert method(f"/my/apply/{full_offer.pk}").status_code == 404
        assert Client().get("/my/apply/1").headers["Location"].startswith("/account/login")
        assert 'href="/my/apply"' in browser.get("/my").content.decode()


class TestForm:
    def test_application_form_has_a_field_for_each_data_and_applicant_field(self, full_offer, user):
        page = browser_of(user).get(f"/my/apply/{full_offer.pk}").content.decode()
        names = set(re.findall(r'name="((?:data|first|share)-[^"]+)"', page))
        assert names == {*ANSWERS, *ADA}
        for title in ("Income a year", "Do you own your home?", "Employed since", "Date of birth", "Country"):
            assert title in page
        assert 'for="id_data-owns_home"' not in page  # A group of radio buttons has a legend.
        assert "Purpose (optional)" in page
        assert "Date of birth (optional)" not in page
        assert "Email address (optional)" in page
        assert "autofocus" not in page
        assert "<script" not in page
        assert "In &lt;b&gt;your&lt;/b&gt; words." in page
        assert '<option value="US" selected>United States</option>' in page
        hints = dict(re.findall(r'id="id_first-([\w.]+)_helptext">([^<]+)<', page))
        assert hints["phone"].endswith("enter it with the country code, such as +44 20 7946 0123.")
        assert {name for name in hints if name.startswith("address.")} == {"address.country", "address.region"}

    def test_application_form_without_a_schema_has_amount_term_and_applicant(self, user):
        page = browser_of(user).get(f"/my/apply/{listed().pk}").content.decode()
        assert set(re.findall(r'name="(data-[^"]+)"', page)) == {"data-amount_cents", "data-term_months"}
        assert "From $1,000.00 to $40,000.00" in page

    def test_application_form_starts_with_amount_and_term_if_the_schema_contains_the_amount(self, user):
        properties = {"purpose": {"type": "string"}, "amount_cents": {"type": "integer", "title": "Wish"}}
        offer = listed(application_schema={"type": "object", "properties": properties})
        page = browser_of(user).get(f"/my/apply/{offer.pk}").content.decode()
        names = re.findall(r'name="(data-[^"]+)"', page)
        assert names == ["data-amount_cents", "data-term_months", "data-purpose"]
        assert "Wish" in page

    @pytest.mark.parametrize(("do", "terms", "amount", "hint", "error"), LIMITS)
    def test_application_form_limits_the_amount_by_the_stricter_limit_of_offer_and_schema(
        self, user, do, terms, amount, hint, error
    ):
        offer = listed(**terms)
        page = browser_of(user).get(f"/my/apply/{offer.pk}").content.decode()
        assert re.findall(r'id="id_data-amount_cents_helptext">([^<]+)<', page) == ([hint] if hint else [])
        answer, page = send(f"/my/apply/{offer.pk}", user, do, **{**TYPED, "data-amount_cents": amount})
        assert answer.status_code == 400
        assert errors_in(page) == {"data-amount_cents": error}
        assert f"Amount</a>: {error}" in page

    def test_application_form_limits_the_term_by_the_offer_and_its_schema(self, user):
        term = {"term_months": {"type": "integer", "title": "Months", "minimum": 24, "maximum": 48}}
        offer = listed(application_schema={"type": "object", "properties": term})
        page = browser_of(user).get(f"/my/apply/{offer.pk}").content.decode()
        field = re.search(r'<select name="data-term_months".*?</select>', page, re.DOTALL)[0]
        assert re.findall(r'value="(\d*)"', field) == ["", "24", "36"]

    def test_application_form_rejects_an_address_in_a_state_where_the_offer_is_unavailable(self, user):
        offer, everywhere = listed(nationwide=None), {"included_states": None, "excluded_states": None}
        included, excluded = {"included_states": ["IA", "KS"]}, {"excluded_states": ["OR", "WA"]}
        for terms, region, words in (
            (included, "OR", "This offer is only available in: Iowa, Kansas."),
            (included, "us-or", "This offer is only available in: Iowa, Kansas."),
            (included, "Iowa", None), (included, "", "Enter the state or province."),
            (included, "Elsewhere", WRONG_STATE), (included, "AE", None),
            (excluded, "Oregon", "This offer isn&#x27;t available in: Oregon, Washington."), (excluded, "IA", None),
            ({}, "OR", None),
        ):  # fmt: skip
            Offer.objects.update(**{**everywhere, **terms})
            zips = {"Iowa": "50309", "IA": "50309", "AE": "09012"}
            home = {**TYPED, "first-address.region": region, "first-address.postal_code": zips.get(region, "97201")}
            answer, page = send(f"/my/apply/{offer.pk}", user, **{**home, **GRACE}, state=newest_draft())
            errors = {} if words is None else {"first-address.region": words}
            assert (answer.status_code, errors_in(page)) == (400 if errors else 302, errors), (terms, region)
        Offer.objects.update(**included)
        form = browser_of(user).get(f"/my/apply/{offer.pk}").content.decode()
        assert "Required in the United States and Canada. This offer is only available in: Iowa, Kansas.<" in form


class TestState:
    """The US state or Canadian province of an address."""

    def region_in(self, page):
        return re.search(r'<input[^>]* name="first-address\.region"[^>]*>', page)[0]

    def label_in(self, page):
        return re.search(r'<label for="id_first-address\.region">([^<]+)<', page)[1]

    def test_form_asks_for_the_country_first_suggests_states_and_requires_a_state_before_submission(
        self, full_offer, user
    ):
        path = f"/my/apply/{full_offer.pk}"
        page = browser_of(user).get(path).content.decode()
        for option in ('<option value="OR">Oregon</option>', '<option value="ON">Ontario</option>'):
            assert option in page.partition('<datalist id="states">')[2].partition("</datalist>")[0]
        assert ' list="states"' in self.region_in(page)
        assert self.label_in(page) == "State or province"
        assert page.index("first-address.country") < page.index("first-address.line1")
        empty = {**TYPED, "first-address.region": ""}
        assert errors_in(send(path, user, **empty)[1]) == {"first-address.region": "Enter the state or province."}
        assert send(path, user, "save", **empty)[0].status_code == 302
        page = page_of(draft_of(user))
        assert "“State or province” is missing." in page
        assert "Send to the lender" not in page

    def test_form_stores_the_code_of_a_state_and_rejects_unknown_states(self, full_offer, user):
        path = f"/my/apply/{full_offer.pk}"
        for region in ("ZZ", "ON", "Ontario", "-"):
            page = send(path, user, "save", **{**TYPED, "first-address.region": region})[1]
            assert errors_in(page) == {"first-address.region": WRONG_STATE}, region
        spanish = {**TYPED, "first-address.region": "ZZ", "first-language": "es"}
        page = browser_of(user).post(path, {**spanish, "do": "save"}, headers={"Accept-Language": "es"})
        assert "Indique el nombre o el código de un estado de EE. UU." in page.content.decode()
        assert "Obligatorio en Estados Unidos y Canadá." in page.content.decode()
        send(path, user, **{**TYPED, "first-address.region": "oregon"})
        assert draft_of(user).applicants.persons[0]["address"]["region"] == "OR"

    def test_canadian_address_requires_a_province_and_other_addresses_do_not(self, full_offer, user):
        path = f"/my/apply/{full_offer.pk}"
        home = {**TYPED, "first-address.postal_code": "M5V 2T6", "first-phone": ""}
        for country, region, errors in (
            ("CA", "", ["first-address.region"]), ("CA", "OR", ["first-address.region"]), ("CA", "ON", []),
            ("IE", "", []),
        ):  # fmt: skip
            where = {"first-address.country": country, "first-address.region": region}
            _answer, page = send(path, user, **{**home, **where}, state=newest_draft())
            assert [*errors_in(page)] == errors, (country, region)
        form = browser_of(user).get(f"/my/applications/{newest_draft()}/edit").content.decode()
        assert 'value="OR"' not in self.region_in(form)
        assert self.label_in(form) == "State or province"

    def test_form_rejects_a_zip_code_of_another_state(self, full_offer, user):
        path = f"/my/apply/{full_offer.pk}"
        for state, zip_code in (("OR", "10001"), ("NY", "97201"), ("AE", "97201-1234")):
            where = {"first-address.region": state, "first-address.postal_code": zip_code}
            assert (
                "This ZIP code isn" in errors_in(send(path, user, **{**TYPED, **where})[1])["first-address.postal_code"]
            )
        for state, zip_code in (("TX", "88510"), ("NY", "00501"), ("PR", "00901"), ("AE", "09012"), ("DC", "56901")):
            where = {"first-address.region": state, "first-address.postal_code": zip_code}
            assert send(path, user, **{**TYPED, **where}, state=newest_draft())[0].status_code == 302, zip_code

    @pytest.mark.parametrize(
        ("country", "region", "valid", "invalid"),
        [
            ("CA", "ON", ("K1A 0B1", "k1a0b1", "M5V-2T6", "\uff2d5V 2T6"), ("97201", "K1A 0B", "K1A")),
            ("GB", "", ("SW1A 1AA", "m1 1ae", "EC1A1BB", "W1A\u00a00AX", "BFPO 58"), ("97201", "SW1A", "SW1A 1A")),
            ("IE", "Cork", ("T12 X70A", "anything"), ()),
        ],
    )
    def test_form_checks_the_format_of_canadian_and_british_postal_codes(
        self, full_offer, user, country, region, valid, invalid
    ):
        path = f"/my/apply/{full_offer.pk}"
        home = {**TYPED, "first-phone": "", "first-address.country": country, "first-address.region": region}
        example = {"CA": "K1A 0B1", "GB": "SW1A 1AA"}.get(country)
        for postal_code in invalid:
            page = send(path, user, **{**home, "first-address.postal_code": postal_code})[1]
            assert errors_in(page) == {"first-address.postal_code": f"Enter a postal code such as {example}."}
        for postal_code in valid:
            answer = send(path, user, **{**home, "first-address.postal_code": postal_code}, state=newest_draft())[0]
            assert answer.status_code == 302, postal_code

    def test_draft_created_over_the_api_without_a_state_can_be_completed_and_sent_in_the_browser(
        self, full_offer, user
    ):
        homeless = {**PERSON, "language": "en", "address": {**PERSON["address"], "region": None}}
        columns = {"status": "draft", "submitted_at": None, "data": DATA}
        draft = applied(full_offer, consumer=user, applicants=Applicants.of([homeless]), **columns)
        assert "“State or province” is missing." in page_of(draft)
        assert "State or province" in press_button(draft, "send")
        assert draft_of(user).status == "draft"


class TestAge:
    """The minimum age of applicants."""

    def test_form_reports_an_age_below_the_minimum_together_with_missing_values(self, full_offer, user):
        young = {**TYPED, "first-date_of_birth": f"{timezone.now().year - 10}-01-01", "first-address.city": ""}
        _answer, page = send(f"/my/apply/{full_offer.pk}", user, **young)
        assert {"first-date_of_birth", "first-address.city"} <= errors_in(page).keys()
        assert "Each applicant must be at least 18 years old." in errors_in(page)["first-date_of_birth"]
        assert '_helptext">Each applicant must be at least 18 years old.<' in page

    def test_form_groups_the_fields_of_each_applicant_under_its_title(self, full_offer, user):
        page = browser_of(user).get(f"/my/apply/{full_offer.pk}").content.decode()
        for title in ("applicant-title", "second-title"):
            assert page.count(f'<div role="group" aria-labelledby="{title}">') == page.count(f' id="{title}"') == 1


class TestNumbers:
    """Numbers without a limit of the lender."""

    SCHEMA = {
        "type": "object",
        "properties": {
            "months_employed": {"type": "integer", "minimum": 0},
            "persons": {"type": "integer"},
            "monthly_income_cents": {"type": "integer", "minimum": 0},
        },
    }

    @pytest.mark.parametrize(
        ("name", "typed", "error"),
        [
            ("months_employed", "40.5", "Enter whole months, such as 40."),
            ("months_employed", "30,000", "Enter at most 1200."),
            ("months_employed", "-1", "Enter at least 0."),
            ("persons", "2.5", "Enter a whole number, such as 40."),
            ("persons", "9007199254740992", "Enter at most 9,007,199,254,740,991."),
            ("monthly_income_cents", "999,999,999,999", "Enter at most $100,000,000.00."),
            ("monthly_income_cents", "9" * 30, "Enter at most $100,000,000.00."),
            ("monthly_income_cents", "-1", "Enter at least $0.00."),
        ],
    )
    def test_number_outside_the_limits_causes_a_single_readable_error(self, user, name, typed, error):
        offer = listed(application_schema=self.SCHEMA)
        page = send(f"/my/apply/{offer.pk}", user, "save", **{**TYPED, f"data-{name}": typed})[1]
        assert errors_in(page) == {f"data-{name}": error}
        user.language = "es"
        user.save()
        page = send(f"/my/apply/{offer.pk}", user, "save", **{**TYPED, f"data-{name}": typed})[1]
        assert "Asegúrese" not in spanish(page)

    def test_number_field_with_a_minimum_of_zero_shows_no_hint(self, user):
        page = browser_of(user).get(f"/my/apply/{listed(application_schema=self.SCHEMA).pk}").content.decode()
        assert "$0.00" not in page
        assert "At least" not in page


class TestApplying:
    def test_application_form_is_saved_as_a_draft_checked_and_submitted(self, committed, full_offer, user):
        answer, _page = send(f"/my/apply/{full_offer.pk}", user, **TYPED, **{"share-share": ["bank"]})
        draft = draft_of(user)
        assert answer.headers["Location"] == f"/my/applications/{draft.pk}"
        assert (draft.status, draft.application_data, draft.share) == ("draft", DATA, ["bank"])
        assert draft.amount_cents == 800_050
        assert draft.applicants.persons == [{
            "legal_name": "Ada Example", "email": "ada@example.test", "phone": "+15035550100",
            "date_of_birth": "1980-02-29", "language": "en",
            "address": {"line1": "1 Main St", "line2": None, "city": "Portland", "region": "OR",
                        "postal_code": "97201", "country": "US"},
        }]  # fmt: skip
        read = client_of(user).read(f"/applications/{draft.pk}/requirements").json()
        assert read["currently_due"] == []
        page = page_of(draft)
        assert "Content of the application" in page
        assert "$8,000.50" in page
        assert "The application was sent to the lender." in press_button(draft, "send")
        assert draft.status == "submitted"
        assert browser_of(user).get(f"/my/applications/{draft.pk}/edit").status_code == 302

    def test_incomplete_draft_is_saved_and_completed_later(self, full_offer, user):
        answer, _page = send(
            f"/my/apply/{full_offer.pk}", user, "save", **{"data-story": "Later. ", "data-purpose": "car"}
        )
        draft = draft_of(user)
        assert answer.status_code == 302
        assert (draft.application_data, draft.applicants) == ({"story": "Later.", "purpose": "car"}, None)
        page = page_of(draft)
        assert f'href="/my/applications/{draft.pk}/edit"' in page
        for field, words in (
            ("data-income_cents", "“Income a year” is missing."),
            ("data-amount_cents", "“Amount” is missing."),
            ("first-address.line1", "“Address line 1” is missing."),
        ):
            assert f'<a href="/my/applications/{draft.pk}/edit#id_{field}"><bdi>{words}</bdi></a>' in page
        shown = browser_of(user).get(f"/my/applications/{draft.pk}/edit").content.decode()
        links = re.findall(r'/edit#([\w.-]+)"', page)
        assert len(links) == 10
        assert all(f'id="{link}"' in shown for link in links)
        assert "Add it in the app" not in page
        edit = f"/my/applications/{draft.pk}/edit"
        form = browser_of(user).get(edit).content.decode()
        assert "Later.</textarea>" in form
        assert '<option value="car" selected>' in form
        answer, _page = send(edit, user, **TYPED)
        assert answer.status_code == 302
        draft.refresh_from_db()
        assert draft.application_data == DATA
        form = browser_of(user).get(edit).content.decode()
        for typed in ('value="8000.50"', 'value="54000.00"', 'value="Ada Example"', 'value="2019-04-01"', "12.5"):
            assert typed in form
        before = draft.applicants_sha256
        send(edit, user, **TYPED)
        draft.refresh_from_db()
        assert draft.applicants_sha256 == before
        assert Application.objects.count() == 1

    def test_application_form_shows_errors_at_missing_fields(self, full_offer, user):
        answer, page = send(f"/my/apply/{full_offer.pk}", user)
        assert answer.status_code == 400
        assert "Nothing was saved. Correct the marked fields." in page
        assert '<a href="#id_first-legal_name">Legal name</a>: Enter the legal name.' in page
        assert '<a href="#id_data-owns_home">Do you own your home?</a>: Choose' in page
        assert errors_in(page) == {
            "data-amount_cents": "Enter the amount that you want to borrow.",
            "data-term_months": "Choose the number of months.",
            "data-income_cents": "Enter “Income a year”.",
            "data-owns_home": "Choose an answer for “Do you own your home?”.",
            "first-legal_name": "Enter the legal name.",
            "first-date_of_birth": "Enter the date of birth.",
            "first-address.line1": "Enter the street and the house number.",
            "first-address.city": "Enter the city.",
            "first-address.postal_code": "Enter the postal code.",
            "first-address.country": "Choose the country.",
        }
        assert not Application.objects.exists()
        invalid = {"data-amount_cents": "x", "data-owns_home": "", "first-phone": "1", "first-address.city": ""}
        # The second applicant is complete, and the first applicant is empty.
        first = {"first-legal_name", "first-date_of_birth", "first-address.line1", "first-address.city"}
        for do, typed, marked in (
            ("save", {"first-phone": "12"}, {"first-phone"}), ("check", {**TYPED, **invalid}, {*invalid}),
            ("check", {**ANSWERS, **GRACE}, {*first, "first-address.postal_code", "first-address.country"}),
        ):  # fmt: skip
            answer, page = send(f"/my/apply/{full_offer.pk}", user, do, **typed)
            assert (answer.status_code, errors_in(page).keys()) == (400, marked)
        _answer, page = send(f"/my/apply/{full_offer.pk}", user, **{**TYPED, **GRACE, "second-address.city": ""})
        assert '<a href="#id_second-address.city">Applicant 2: City</a>: Enter the city.' in page

    @pytest.mark.parametrize(("do", "wrong"), [("save", WRONG[0]), *(("check", wrong) for wrong in WRONG)])
    def test_application_form_retains_invalid_values_with_an_error(self, full_offer, user, do, wrong):
        answer, page = send(f"/my/apply/{full_offer.pk}", user, do, **TYPED | {name: wrong[name][0] for name in wrong})
        assert answer.status_code == 400
        shown = {name: words.replace("&#x27;", "'") for name, words in errors_in(page).items()}
        assert shown.keys() == wrong.keys()
        assert {name: words for name, (_typed, words) in wrong.items() if words not in shown[name]} == {}
        assert 'value="Ada Example"' in page or "first-legal_name" in wrong
        assert not Application.objects.exists()

    def test_application_form_accepts_local_phone_number_formats_of_the_country(self, full_offer, user, no_rate_limits):
        draft = applied(full_offer, consumer=user, status="draft", submitted_at=None)

        def typed_in(country, typed):
            code = {"CA": "K1A 0B1", "GB": "SW1A 1AA"}.get(country, "97201")
            where = {"first-address.country": country, "first-address.region": "", "first-address.postal_code": code}
            home = {**where, "first-phone": typed}
            return send(f"/my/applications/{draft.pk}/edit", user, "save", **{**TYPED, **home})[1]

        for country, typed, kept in (
            ("US", "503.555.0100", "+15035550100"),
            ("US", "1-503-555-0100", "+15035550100"),
            ("US", "+1 (503) 555\u20110100", "+15035550100"),
            ("CA", "416/555 0199", "+14165550199"),
            ("DE", "+49 (0)30 123456", "+4930123456"),
            ("DE", "0049 30 12 34 56", "+4930123456"),
            ("DE", "030 123456", "+4930123456"),
            ("GB", "(020) 7946 0958", "+442079460958"),
            ("IE", "01 222 3333", "+35312223333"),
            ("GB", "tel:+44-20-7946-0958", "+442079460958"),
            ("JP", "\uff0b\uff18\uff11 3 1234 5678", "+81312345678"),
            ("AE", "\u202a+\u0669\u0667\u0661 50 123 4567\u202c", "+971501234567"),
            ("IN", "+91 98765 43210", "+919876543210"),
            ("US", "\u2066+1\t503 555\u200b0100\u2069", "+15035550100"),
            ("US", "011 44 20 7946 0958", "+442079460958"),
            ("NU", "TEL:+683 4000", "+6834000"),
        ):
            typed_in(country, typed)
            assert Application.objects.get().applicants.persons[0]["phone"] == kept, typed
        for country, typed, example in (
            ("IN", "98765 43210", "+44 20 7946 0123"),
            ("DE", "123456", "+44 20 7946 0123"),
            ("US", "030 123 4567", "+1 503 555 0199"),
        ):
            words = f"Enter the phone number with its country code, such as {example}."
            assert errors_in(typed_in(country, typed)) == {"first-phone": words}, typed

    @pytest.mark.parametrize(("jurisdiction", "preset"), [("us", ["US"]), ("eu", [""])])
    def test_application_form_preselects_the_country_only_for_us_offers(self, user, jurisdiction, preset):
        offer = eu_offer() if jurisdiction == "eu" else listed()
        page = browser_of(user).get(f"/my/apply/{offer.pk}").content.decode()
        field = re.search(r'<select name="first-address\.country".*?</select>', page, re.DOTALL)[0]
        assert re.findall(r'<option value="(\w*)" selected', field) == preset

    def test_application_form_shows_the_minimum_age_to_a_younger_applicant(self, full_offer, user):
        born = (timezone.now() - timedelta(days=17 * 365)).date()
        answer, page = send(f"/my/apply/{full_offer.pk}", user, **{**TYPED, "first-date_of_birth": born.isoformat()})
        assert answer.status_code == 400
        assert "Each applicant must be at least 18 years old." in errors_in(page)["first-date_of_birth"]

    def test_second_applicant_can_be_added_and_removed_in_the_form(self, full_offer, user):
        second = {name.replace("first", "second"): value for name, value in ADA.items()}
        send(f"/my/apply/{full_offer.pk}", user, **{**TYPED, **second, "second-legal_name": "Bob Example"})
        draft = draft_of(user)
        assert [person["legal_name"] for person in draft.applicants] == ["Ada Example", "Bob Example"]
        edit = f"/my/applications/{draft.pk}/edit"
        assert "<details open>" in browser_of(user).get(edit).content.decode()
        send(edit, user, **TYPED)
        draft.refresh_from_db()
        assert [person["legal_name"] for person in draft.applicants] == ["Ada Example"]

    def test_application_form_creates_a_second_draft_only_for_changed_applicants_or_shared_data(self, full_offer, user):
        for change, count in (
            ({}, 1),
            ({}, 1),
            ({"first-legal_name": "Bob Example"}, 2),
            ({"share-share": ["bank"]}, 3),
        ):
            send(f"/my/apply/{full_offer.pk}", user, **{**TYPED, **change}, state=newest_draft())
            assert Application.objects.count() == count

    def test_application_form_without_a_csrf_token_or_above_the_write_rate_limit_stores_nothing(
        self, full_offer, user, settings
    ):
        browser = browser_of(user, enforce_csrf_checks=True)
        assert browser.post(f"/my/apply/{full_offer.pk}", {**TYPED, "do": "save"}).status_code == 403
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 0}
        _answer, page = send(f"/my/apply/{full_offer.pk}", user, **TYPED)
        assert "You sent too many requests." in page
        assert 'value="Ada Example"' in page
        assert not Application.objects.exists()

    def test_application_form_shows_the_title_and_the_description_of_the_schema(self, user):
        about = {"title": "Car & home", "description": "Read <b>this</b> first."}
        offer = listed(application_schema={**SCHEMA, **about})
        draft = applied(offer, consumer=user, status="draft", submitted_at=None)
        for path in (f"/my/apply/{offer.pk}", f"/my/applications/{draft.pk}/edit"):
            page = browser_of(user).get(path).content.decode()
            assert "Car &amp; home" in page
            assert "Read &lt;b&gt;this&lt;/b&gt; first." in page

    def test_text_field_of_a_schema_without_a_limit_has_a_maximum_length(self, user):
        offer = listed(application_schema={"type": "object", "properties": {"text": {"type": "string"}}})
        answer, page = send(f"/my/apply/{offer.pk}", user, "save", **{"data-text": "x" * (TEXT_MAX_LENGTH + 1)})
        assert (answer.status_code, list(errors_in(page))) == (400, ["data-text"])


class TestOutdatedForms:
    """Forms that were opened before the draft was changed, sent, or created in another tab."""

    def form_of(self, user, *, is_partial):
        """Return the path of a draft's form, the draft's values, and the state in the form."""
        values = {**TYPED, "first-address.city": ""} if is_partial else TYPED
        send(f"/my/apply/{listed(application_schema=SCHEMA).pk}", user, "save", **values)
        path = f"/my/applications/{draft_of(user).pk}/edit"
        return path, values, state_in(browser_of(user).get(path))

    def name_of(self, user):
        draft = draft_of(user)
        return next(iter(draft.applicants or PartialApplicants.of(draft)))["legal_name"]

    @pytest.mark.parametrize("is_partial", [True, False])
    def test_outdated_draft_form_is_saved_only_by_a_second_submission(self, user, is_partial):
        path, values, state = self.form_of(user, is_partial=is_partial)
        for _ in range(2):  # A double click.
            answer, _page = send(path, user, "save", **{**values, "first-legal_name": "Eve", "state": state})
            assert answer.status_code == 302
        older = {**values, "first-phone": "503 555 0199"}
        answer, page = send(path, user, "save", **older, state=state)
        assert "The draft was changed in another tab. Nothing was saved." in page
        assert 'value="503 555 0199"' in page
        assert f'<a href="{path.removesuffix("/edit")}" target="_blank">Show the other version</a>' in page
        assert self.name_of(user) == "Eve"
        answer, _page = send(path, user, "save", **older, state=state_in(answer))
        assert answer.status_code == 302
        assert self.name_of(user) == "Ada Example"

    def test_draft_form_with_an_error_retains_its_draft_version(self, user):
        path, values, state = self.form_of(user, is_partial=False)
        send(path, user, "save", **{**values, "first-legal_name": "Eve"})
        for do in ("save", "estimate", "language:en"):
            answer, _page = send(path, user, do, **{**values, "first-phone": "1", "state": state})
            assert state_in(answer) == state

    @pytest.mark.parametrize(
        ("do", "words"),
        [("send", "The application was already sent."), ("close", "The draft can no longer be changed")],
    )
    def test_application_form_of_a_submitted_or_closed_draft_states_that_nothing_was_saved(self, user, do, words):
        path, values, state = self.form_of(user, is_partial=False)
        press_button(draft_of(user), do, user)
        answer = browser_of(user).post(path, {**values, "state": state, "do": "save"}, follow=True)
        assert words in answer.content.decode()
        assert "Your changes were not saved." in answer.content.decode()

    def test_second_draft_for_an_offer_is_stored_only_by_a_second_save(self, full_offer, user):
        path = f"/my/apply/{full_offer.pk}"
        assert "You have a draft" not in browser_of(user).get(path).content.decode()
        send(path, user, "save", **TYPED)
        edit = f'<a href="/my/applications/{draft_of(user).pk}/edit">Change the draft</a>'
        assert f"You have a draft for this offer. {edit}" in browser_of(user).get(path).content.decode()
        changed = {**TYPED, "first-legal_name": "Eve"}
        answer, page = send(path, user, "save", **changed, state="")
        assert "You already have a draft for this offer. Nothing was saved." in page
        assert edit in page
        assert 'value="Eve"' in page
        assert Application.objects.count() == 1
        send(path, user, "save", **changed, state=state_in(answer))
        assert Application.objects.count() == 2


class TestEditing:
    def test_only_the_applicant_can_edit_a_draft_and_data_without_a_form_field_is_preserved(self, full_offer, user):
        data = {"channel": "shop", "persons": 1}
        draft = applied(full_offer, consumer=user, status="draft", submitted_at=None, data=data)
        for other in (UserFactory(), full_offer.provider.owner):
            browser = browser_of(other)
            assert browser.get(f"/my/applications/{draft.pk}/edit").status_code == 404
            assert browser.post(f"/my/applications/{draft.pk}/edit", {**TYPED, "do": "save"}).status_code == 404
        draft.refresh_from_db()
        assert draft.application_data == data
        send(f"/my/applications/{draft.pk}/edit", user, "save", **TYPED)
        draft.refresh_from_db()
        assert draft.application_data == {"channel": "shop", **DATA}

    def test_editing_a_draft_removes_an_invalid_term_without_a_form_field(self, user, settings):
        settings.REQUIRE_LISTED_OFFERS = True
        data = {"amount_cents": 800_050, "term_months": "24", "channel": "shop"}
        offer = listed(term_options_months=None)
        draft = applied(offer, consumer=user, status="draft", submitted_at=None, data=data)
        answer, _page = send(f"/my/applications/{draft.pk}/edit", user, "save", **{"data-amount_cents": "8000.50"})
        assert answer.status_code == 302
        draft.refresh_from_db()
        assert draft.application_data == {"amount_cents": 800_050, "channel": "shop"}

    def test_application_error_without_a_form_field_is_shown_above_the_form(self, full_offer, user, monkeypatch):
        draft = applied(full_offer, consumer=user, status="draft", submitted_at=None)
        fault = Due("/application_data/unlisted", "Unlisted", "integer", "Must be less.")
        monkeypatch.setattr(OfferRequirements, "due", lambda *_args, **_options: [fault])
        for do in ("save", "check"):
            answer, page = send(f"/my/applications/{draft.pk}/edit", user, do, **TYPED)
            assert answer.status_code == 400
            assert "“Unlisted” doesn&#x27;t meet the lender&#x27;s requirement." in page

    def test_application_form_omits_an_amount_stored_as_a_string(self, full_offer, user):
        draft = applied(full_offer, consumer=user, status="draft", submitted_at=None, data={"amount_cents": "500000"})
        form = browser_of(user).get(f"/my/applications/{draft.pk}/edit").content.decode()
        assert "500000" not in form
        assert 'name="data-amount_cents"' in form

    def test_application_form_selects_choices_stored_over_the_api(self, full_offer, user):
        body = {"consumer_id": str(user.pk), "offer_id": full_offer.pk, "provider_id": 700, "applicants": [PERSON]}
        created = client_of(user).send("/applications", body).json()
        edit = f"/my/applications/{created['id']}/edit"
        assert '<option value="es-US" selected>' in browser_of(user).get(edit).content.decode()
        for kind, choices, value, shown in (
            ("string", ["Caf\u00e9", "x"], "Cafe\u0301", "Caf\u00e9"),
            ("string", ["Cafe\u0301"], "Caf\u00e9", "Cafe\u0301"),
            ("integer", [1, 2], 1.0, "1"), ("number", [1.5, 2], 2.0, "2"),
        ):  # fmt: skip
            schema = {"type": "object", "properties": {"a": {"type": kind, "enum": choices}}}
            offer = OfferFactory(provider=full_offer.provider, application_schema=schema)
            draft = applied(offer, consumer=user, status="draft", submitted_at=None, data={"a": value})
            page = browser_of(user).get(f"/my/applications/{draft.pk}/edit").content.decode()
            assert f'<option value="{shown}" selected>' in page

    def test_edit_page_of_a_submitted_application_redirects_to_the_application(self, full_offer, user):
        browser = browser_of(user)
        for status in ("submitted", "pending_documents", "approved", "withdrawn"):
            application = applied(full_offer, consumer=user, status=status)
            path = f"/my/applications/{application.pk}"
            for method in (browser.get, browser.post):
                assert method(f"{path}/edit").headers["Location"] == path
            assert "/edit" not in browser.get(path).content.decode()
            application.refresh_from_db()
            assert application.application_data == {"amount_cents": 1_000_000, "term_months": 24}

    def test_draft_with_unsupported_data_or_unlisted_offer_has_no_edit_page(self, full_offer, user):
        drafts = [
            applied(full_offer, consumer=user, status="draft", submitted_at=None, data=data) for data in ("a", ["a"])
        ]
        for draft in (*drafts, ApplicationFactory(consumer=user, offer_id=999)):
            assert browser_of(user).get(f"/my/applications/{draft.pk}/edit").status_code == 302
            assert "/edit" not in page_of(draft)


def test_every_application_form_page_is_available_in_spanish(user):
    offer = OfferFactory(**LOAN, name="Préstamo", provider=ProviderFactory(id="701", name="Banco"))
    browser = browser_of(user)
    headers = {"Accept-Language": "es"}
    assert "Solicitar un préstamo" in spanish(browser.get("/my/apply", headers=headers).content.decode())
    page = spanish(browser.get(f"/my/apply/{offer.pk}", headers=headers).content.decode())
    for words in ("Revisar antes de enviar", "De $1,000.00 a $40,000.00", "Alemania", "Nombre legal"):
        assert words in page
    wrong = {"do": "check", "data-amount_cents": "x", "data-term_months": "1", "first-phone": "1"}
    refused = spanish(browser.post(f"/my/apply/{offer.pk}", wrong, headers=headers).content.decode())
    for words in ("Escriba un número.", "Escoja una opción válida.", "Indique el nombre legal."):
        assert words in refused

"""Test the page on which the applicant accepts or declines loan terms, and the agreement."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.formats import date_format

from config.webhooks.models import Event
from credit.core import deadlines
from credit.models import Counteroffer
from tests.api import client_of
from tests.credit.terms.lending import LINE, applied, approve, lender_of, listed
from tests.credit.terms.test_counteroffers import counter
from tests.credit.test_my_content import living_in, written
from tests.credit.test_my_pages import browser_of, page_of, press_button
from tests.factories import ApplicationFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
TERMS = {"amount_cents": 1_200_000, "rate_percent": 7.25, "term_months": 36, "fee_cents": 20_000}
FIELD = re.compile(r"<(input|textarea|select|button)\b([^>]*)>")


@pytest.fixture
def approved(offer):
    application = applied(offer)
    offer.provider.name, offer.provider.address = "Cedar Bank", "1 Bank Street\nPortland, OR 97201"
    offer.provider.save()
    assert approve(lender_of(offer), application, TERMS).status_code == 200
    application.refresh_from_db()
    return application


def path_of(application):
    return f"/my/applications/{application.pk}/accept"


def terms_page(application):
    answer = browser_of(application.consumer).get(path_of(application))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def decide(application, do, user=None, **fields):
    """Press a button of the page of terms; return the page after the redirect."""
    answer = browser_of(user or application.consumer).post(
        path_of(application), {"do": do, "sure": "yes", "agreed": "yes", **fields}, follow=True
    )
    application.refresh_from_db()
    return " ".join(answer.content.decode().split())


class TestPage:
    def test_terms_page_shows_the_lenders_name_each_figure_and_every_payment(self, approved):
        page = terms_page(approved)
        for words in ("Cedar Bank", "1 Bank Street", "$12,000.00 at 7.25% for 36 months, fee $200.00"):
            assert words in page
        costs = r'<th scope="row">([^<]+)(?:<br><span class="hint">([^<]+)</span>)?</th><td>([^<]+)</td>'
        figures = {title: value for title, _words, value in re.findall(costs, page)}
        assert {title: words for title, words, _value in re.findall(costs, page) if words} == {
            "Annual percentage rate": "The cost of your credit as a yearly rate.",
            "Finance charge": "The dollar amount the credit will cost you.",
            "Amount financed": "The amount of credit provided to you or on your behalf.",
            "Total of payments": "The amount you will have paid after you have made all payments as scheduled.",
        }
        assert figures["Amount"] == "$12,000.00"
        assert figures["Interest rate"] == "7.25%"
        assert figures["Fee"] == "$200.00"
        assert figures["Annual percentage rate"] == f"{approved.loan_terms.apr_percent:.2f}%"
        assert figures["Monthly payment"] == "$371.90"
        assert figures["Total of payments"].startswith("$13,38")
        assert re.fullmatch(r"[A-Z][a-z]+ \d+, \d{4}", figures["First payment"])
        assert page.count("<tr><td>") == 36
        assert '<div class="scrolls" ' in page
        today = date_format(timezone.now().date(), "F j, Y")
        assert f"These are the due dates if you accept on {today}. If you accept later, the dates change." in page
        assert f"{path_of(approved).removesuffix('accept')}agreement" in page
        until = approved.updated_at + timedelta(days=30)
        assert f"Decide by {deadlines.in_words(until, 'UTC')}." in page

    def test_terms_page_and_its_agreement_have_the_lenders_terms(self):
        offer = listed(terms_text="A late payment costs $15.")
        application = written(applied(offer), living_in("OR"))
        assert approve(lender_of(offer), application, TERMS).status_code == 200
        for words in ("A late payment costs $15.", "<h2>Borrower</h2>", "Rosa Quillfeather"):
            assert words in terms_page(application)
        page = browser_of(application.consumer).get(f"/my/applications/{application.pk}/agreement").content.decode()
        for words in ("Bank 700", "A late payment costs $15.", "You have not accepted this agreement.", "OR"):
            assert words in page
        assert "provider 700" not in page

    def test_accept_and_decline_buttons_have_equal_style_in_separate_forms(self, approved):
        decision = terms_page(approved).partition("Your decision</h2>")[2]
        forms = re.findall(r'<form method="post"[^>]*>(.*?)</form>', decision)
        fields = [FIELD.findall(form) for form in forms]
        assert len(forms) == 2
        for form in fields:
            kinds = [(tag, "hidden" in rest) for tag, rest in form]
            assert kinds[-1] == ("button", False)
            assert {hidden for _tag, hidden in kinds[:-1]} == {True}
        buttons = [re.sub(r'value="\w+"', "", form[-1][1]) for form in fields]
        assert buttons[0] == buttons[1]
        assert "class" not in buttons[0]
        assert "autofocus" not in "".join(forms)

    def test_terms_page_rejects_other_accounts_and_decisions_without_a_csrf_token(self, approved):
        for user in (UserFactory(), approved.provider_owner(str(approved.provider_id), timezone.now()).get().owner):
            browser = browser_of(user)
            assert browser.get(path_of(approved)).status_code == 404
            assert browser.post(path_of(approved), {"do": "decline"}).status_code == 404
            assert browser.get(f"/my/applications/{approved.pk}/agreement").status_code == 404
        browser = browser_of(approved.consumer, enforce_csrf_checks=True)
        for do in ("accept", "decline"):
            fields = {"do": do, "terms_sha256": approved.loan_terms.terms_sha256}
            assert browser.post(path_of(approved), fields).status_code == 403
        approved.refresh_from_db()
        assert (approved.status, approved.accepted_at) == ("approved", None)

    def test_terms_page_of_a_line_of_credit_shows_a_limit_without_payments(self):
        application = applied(listed(**LINE))
        lender = client_of(application.provider_owner("700", timezone.now()).get().owner)
        assert approve(lender, application, {"amount_cents": 500_000, "rate_percent": 9}).status_code == 200
        page = terms_page(application)
        assert '<th scope="row">Credit limit</th><td>$5,000.00</td>' in page
        assert '<th scope="row">Annual percentage rate</th><td>9.00%</td>' in page
        assert "Accept this line of credit" in page
        assert "this loan" not in page
        assert "schedule" not in page
        declines = browser_of(application.consumer).post(path_of(application), {"do": "decline"}).content.decode()
        assert "<h1>Decline this line of credit</h1>" in declines

    def test_terms_page_of_an_approval_without_a_loan_shows_the_offer(self):
        application = ApplicationFactory(
            status="approved", provider_id=902, offer_snapshot={"name": "Starter loan"}, offer_version=1
        )
        page = terms_page(application)
        assert "Starter loan" in page
        assert "Accept these terms" in page
        declines = browser_of(application.consumer).post(path_of(application), {"do": "decline"}).content.decode()
        assert declines.count("Decline these terms") == 3
        assert "The lender has not set a loan amount" in page
        assert "You accepted the offer." in decide(application, "accept", terms_sha256=application.terms_sha256)
        assert application.accepted_at is not None

    def test_terms_page_without_a_loan_shows_offer_ranges_and_the_requested_figures(self, offer):
        application = applied(offer, status="approved")
        figures = re.findall(r'<th scope="row">([^<]+)</th><td>([^<]+)</td>', terms_page(application))
        assert ("Amount", "$1,000.00 \u2013 $40,000.00") in figures
        assert ("Annual percentage rate", "6.90% \u2013 17.50%") in figures
        assert ("Amount", "$10,000.00") in figures
        assert ("Number of months", "24") in figures

    def test_terms_page_of_an_application_without_stored_terms_states_that_no_terms_exist(self, offer):
        for pinned in (None, {}):
            application = ApplicationFactory(
                status="approved", provider_id=902, offer_snapshot=pinned, application_data={"amount_cents": 500_000}
            )
            page = terms_page(application)
            assert "No terms are recorded." in page
            assert "on the terms of its offer" not in page
            assert "$5,000.00" in page
        undecided = applied(offer)
        answer = browser_of(undecided.consumer).get(path_of(undecided))
        assert answer.headers["Location"] == f"/my/applications/{undecided.pk}"


class TestAcceptance:
    def test_terms_cannot_be_accepted_or_declined_on_the_application_page(self, approved):
        page = page_of(approved)
        assert path_of(approved) in page
        assert "terms_sha256" not in page
        assert "Withdraw this application" not in page
        for do in ("accept", "take_up", "decline"):
            press_button(approved, do, terms_sha256=approved.loan_terms.terms_sha256)
        decide(approved, "approve")
        assert (approved.status, approved.accepted_at) == ("approved", None)

    def test_accept_button_of_the_terms_page_accepts_the_terms(self, committed, approved):
        sha256 = re.search(r'name="terms_sha256" value="(\w+)"', terms_page(approved))[1]
        assert "You accepted the offer." in decide(approved, "accept", terms_sha256=sha256)
        assert approved.accepted_at is not None
        assert "What you accepted" in page_of(approved)
        assert browser_of(approved.consumer).get(path_of(approved)).status_code == 302
        assert "The application has changed." in decide(approved, "decline")
        assert approved.status == "approved"

    def test_acceptance_requires_the_checkbox_and_shows_its_error(self, approved):
        page = terms_page(approved)
        assert "If you accept, you are bound by the agreement at once. If you decline, your application ends." in page
        assert "If you decline, you confirm this on the next page." in page
        assert "<span>I have read the terms and the agreement, and I accept them.</span>" in page
        assert 'class="error"' not in page
        fields = {"do": "accept", "terms_sha256": approved.loan_terms.terms_sha256}
        answer = browser_of(approved.consumer).post(path_of(approved), fields)
        page = " ".join(answer.content.decode().split())
        assert answer.status_code == 400
        assert "<title>Errors: Check before you accept" in page
        assert '<a href="#agreed">Your decision</a>: Select the checkbox to accept.' in page
        assert '<p class="error" id="agreed-error">Select the checkbox to accept.</p>' in page
        assert 'required aria-invalid="true" aria-describedby="agreed-error"' in page
        approved.refresh_from_db()
        assert approved.accepted_at is None

    def test_acceptance_of_outdated_terms_is_rejected_and_shows_the_new_terms(self, committed, approved, offer):
        old = re.search(r'name="terms_sha256" value="(\w+)"', terms_page(approved))[1]
        lender = lender_of(offer)
        body = {"status": "under_review", "updated_by": "x", "reason": "A wrong figure."}
        assert lender.replace(f"/applications/{approved.pk}/status", body).status_code == 200
        assert "The application has changed." in decide(approved, "decline")
        assert approved.status == "under_review"
        assert approve(lender, approved, {**TERMS, "rate_percent": 9.5}).status_code == 200
        page = decide(approved, "accept", terms_sha256=old)
        assert "The terms have changed. Check them again before you accept." in page
        assert "$12,000.00 at 9.50% for 36 months" in page
        assert "Accept this loan" in page
        assert approved.accepted_at is None

    def test_acceptance_with_the_schedule_of_another_day_shows_the_terms_again(self, committed, approved):
        fields = dict(re.findall(r'name="(terms_sha256|as_of)" value="([^"]+)"', terms_page(approved)))
        assert fields["as_of"] == approved.loan_terms.as_of.isoformat()
        yesterday = (approved.loan_terms.as_of - timedelta(days=1)).isoformat()
        page = decide(approved, "accept", **{**fields, "as_of": yesterday})
        assert "The terms have changed. Check them again before you accept." in page
        assert "Accept this loan" in page
        assert approved.accepted_at is None
        assert "You accepted the offer." in decide(approved, "accept", **fields)

    def test_accepting_and_declining_terms_use_the_write_rate_limit(self, committed, approved, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 1}
        decide(approved, "accept", terms_sha256="0" * 64)
        assert "You sent too many requests." in decide(approved, "decline")
        assert approved.status == "approved"


class TestDecline:
    def test_decline_button_opens_a_confirmation_page_and_changes_nothing(self, approved):
        browser = browser_of(approved.consumer)
        page = " ".join(browser.post(path_of(approved), {"do": "decline"}).content.decode().split())
        approved.refresh_from_db()
        assert approved.status == "approved"
        for words in (
            "<h1>Decline this loan</h1>",
            "your application ends. This can't be undone.",
            "Back to the terms",
        ):
            assert words in page.replace("&#x27;", "'")
        assert '<input type="hidden" name="sure" value="yes">' in page
        sha256 = approved.loan_terms.terms_sha256
        browser.post(path_of(approved), {"do": "decline", "sure": "yes", "terms_sha256": sha256})
        approved.refresh_from_db()
        assert approved.status == "withdrawn"
        assert "The application has changed." in browser.post(path_of(approved), {"do": "decline"}, follow=True).text

    def test_declining_an_approval_withdraws_the_application_with_a_reason_code(self, approved, offer):
        assert "You declined the offer." in decide(approved, "decline")
        assert approved.status == "withdrawn"
        assert "You declined the offer" in browser_of(approved.consumer).get("/my").content.decode()
        lender = lender_of(offer)
        moved = lender.read(f"/applications/{approved.pk}/history").json()["history"][-1]
        assert (moved["status"], moved["reason_code"]) == ("withdrawn", "declined_by_applicant")
        assert moved["reason"] == "The applicant declined the approved terms."
        assert lender.read(f"/applications/{approved.pk}").json()["status_reason"] == moved["reason"]
        row = approved.history.latest("position")
        assert (row.principal, row.credential) == (approved.consumer, "my")
        assert Event.objects.filter(type="application.withdrawn", account=offer.provider.owner).count() == 1

    def test_decline_of_outdated_terms_is_rejected_on_the_terms_page(self, committed, approved):
        form = terms_page(approved).rpartition("<form")[2]
        assert f'name="terms_sha256" value="{approved.loan_terms.terms_sha256}"' in form
        page = decide(approved, "decline", terms_sha256="0" * 64)
        assert "The terms have changed." in page
        assert approved.status == "approved"
        assert "You declined the offer." in decide(approved, "decline", terms_sha256=approved.loan_terms.terms_sha256)

    def test_withdrawal_by_the_lender_has_no_decline_reason(self, approved, offer, settings):
        settings.REVIEW_POLICY = "open"
        body = {"status": "withdrawn", "updated_by": "lender"}
        assert lender_of(offer).replace(f"/applications/{approved.pk}/status", body).status_code == 200
        row = approved.history.latest("position")
        assert (row.reason, row.reason_code) == (None, None)
        page = browser_of(approved.consumer).get("/my").content.decode()
        assert "You declined the offer" not in page
        assert "Withdrawn" in page

    def test_only_the_withdrawal_of_an_approval_has_a_reason_code(self, approved, offer):
        client = client_of(approved.consumer)
        body = {"status": "withdrawn", "updated_by": "me"}
        assert client.replace(f"/applications/{approved.pk}/status", body).status_code == 200
        codes = [row["reason_code"] for row in client.read(f"/applications/{approved.pk}/history").json()["history"]]
        assert codes == [None, "declined_by_applicant"]
        undecided = applied(offer)
        press_button(undecided, "withdraw")
        (row,) = client_of(undecided.consumer).read(f"/applications/{undecided.pk}/history").json()["history"]
        assert (row["status"], row["reason"], row["reason_code"]) == ("withdrawn", None, None)


class TestCounteroffers:
    @pytest.mark.parametrize(("do", "status"), [("accept", "approved"), ("decline", "under_review")])
    def test_counteroffer_can_be_accepted_or_declined_on_the_terms_page(self, offer, do, status):
        application = applied(offer)
        assert counter(lender_of(offer), application).status_code == 201
        counteroffer = Counteroffer.objects.get()
        assert "The lender offers other terms" in page_of(application)
        page = terms_page(application)
        assert "$6,000.00 at 8.00% for 24 months" in page
        assert f"Decide by {deadlines.in_words(counteroffer.expires_at, 'UTC')}." in page
        assert "If you decline, the lender continues with your application." in page
        if do == "decline":
            confirming = browser_of(application.consumer).post(path_of(application), {"do": do})
            page = " ".join(confirming.content.decode().split())
            assert "<h1>Decline the counteroffer</h1>" in page
            assert "the lender continues with your application. This can't be undone." in page.replace("&#x27;", "'")
        fields = dict(re.findall(r'name="(terms_sha256|counteroffer_id)" value="([^"]+)"', page))
        decide(application, do, **fields)
        assert application.status == status
        page = page_of(application)
        assert re.search('class="standing[^"]*">The lender offers other terms', page) is None
        events = page.partition("<h2>History</h2>")[2]
        assert "The lender offers other terms" in events
        assert ("You declined the counteroffer" in events) is (do == "decline")

    def test_counteroffer_and_its_acceptance_show_the_loan_amount_next_to_the_requested_amount(self, offer):
        application = applied(offer)
        assert counter(lender_of(offer), application).status_code == 201
        offered = page_of(application)
        assert "$6,000.00 · requested: $10,000.00" in offered
        assert "Why the lender offers other terms" in offered
        decide(
            application, "accept", **dict(re.findall(r'name="(terms_sha256)" value="([^"]+)"', terms_page(application)))
        )
        assert "$6,000.00 · requested: $10,000.00" in page_of(application)
        listed = " ".join(browser_of(application.consumer).get("/my").content.decode().split())
        assert "<span>$6,000.00</span>" in listed
        assert "requested: $10,000.00" in listed

    def test_decline_of_a_closed_counteroffer_is_rejected(self, committed, offer):
        application = applied(offer)
        assert counter(lender_of(offer), application).status_code == 201
        counteroffer = Counteroffer.objects.get()
        decide(application, "decline", counteroffer_id=counteroffer.pk)
        assert "The application has changed." in decide(application, "decline", counteroffer_id=counteroffer.pk)
        assert application.status == "under_review"
        assert "The application has changed." in decide(application, "decline", counteroffer_id="x")


class TestAgreement:
    def test_agreement_page_has_the_same_figures_after_the_acceptance(self, committed, approved):
        def figures():
            page = browser_of(approved.consumer).get(f"/my/applications/{approved.pk}/agreement").content.decode()
            return page, re.findall(r"<td>([^<]+)</td>", page)[:180]

        page, before = figures()
        assert "You have not accepted this agreement." in page
        assert "Cedar Bank" in page
        assert page.count("<tr><td>") == 36
        assert "SHA-256" not in page
        assert f"{date_format(approved.loan_terms.as_of, 'F j, Y')}</time> (UTC)" in page
        assert client_of(approved.consumer).read(f"/applications/{approved.pk}/agreement").status_code == 404
        decide(approved, "accept", terms_sha256=approved.loan_terms.terms_sha256)
        page, after = figures()
        assert after == before
        assert "You have not accepted" not in page
        assert "Accepted by" in page
        assert "Back to the application" in page
        assert "print function" in page

    def test_date_and_acceptance_time_on_an_agreement_page_are_both_in_utc(self, committed, offer):
        application = written(applied(offer), living_in("OR"))
        assert approve(lender_of(offer), application, TERMS).status_code == 200
        application.refresh_from_db()
        decide(application, "accept", terms_sha256=application.loan_terms.terms_sha256)
        page = browser_of(application.consumer).get(f"/my/applications/{application.pk}/agreement").content.decode()
        day = date_format(application.loan_terms.as_of, "F j, Y")
        assert f"{day}</time> (UTC)" in page
        assert len(re.findall(rf"{day}, \d\d:\d\d UTC</time>", page)) == 2
        assert re.search(r"\d [ap]\.m\. P[SD]T", page_of(application))

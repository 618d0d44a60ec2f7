"""Test notices before a consumer accepts a price from a consumer report (12 CFR 1022.70 to 1022.75)."""

from decimal import Decimal

import pytest
from django.db import transaction

from config.core.errors import ApiError
from credit.core.risk_based_pricing import is_best_rate
from credit.models import Clock, Notice
from credit.notices import services
from tests.api import assert_error, client_of
from tests.credit.notices.test_agencies import REPORT, SCORE
from tests.credit.notices.test_joint_applicants import PARTNER, SECOND_REPORT, joint
from tests.credit.notices.test_pages import read
from tests.credit.notices.test_table import FOUND
from tests.credit.notices.world import TERMS, World, offer_of, provider_offer
from tests.credit.support import move
from tests.credit.test_my_pages import browser_of

pytestmark = pytest.mark.django_db

REPORTED = {**REPORT, **SCORE}
RANKED = {**REPORTED, "ranks_above_percent": 27}
# The listed offer's lowest rate is 6.9.
BEST, WORSE = {**TERMS, "rate_percent": 6.9}, {**TERMS, "rate_percent": 9}
NOTICE = ["pricing", "pricing_score", "creditor"]


def submitted_world(**offer):
    world = World(provider_offer(**offer))
    world.submit(0)
    return world


def approve(world, report=REPORTED, terms=WORSE, day=5):
    world.move(day, "approved", metadata={"terms": terms, "consumer_report": report})
    world.issue(day + 1)
    return pricing_of(world)


def pricing_of(world):
    rows = Notice.objects.filter(application=world.pk, kind="pricing").exclude(status="cancelled").order_by("id")
    return {row.applicant: row for row in rows}


# 12 CFR 1022.73(a)(1)(i) to (ix), by section.
STATEMENTS = {
    "(i)": "It includes information about whether you pay your bills on time and how much you owe to creditors.",
    "(ii)": "We used information from your credit report(s) to set the terms of the credit we are offering you",
    "(iii)": "may be less favorable than the terms offered to consumers who have better credit histories",
    "(iv)": "You have a right to dispute any inaccurate information in your credit report(s).",
    "(v)": "Example Bureau",
    "(vi)": "without charge for 60 days after you receive this notice",
    "(vii)": "1 File Street, Chester, PA 19016 Telephone: 800-555-0100",
    "(viii)": "www.consumerfinance.gov/learnmore",
    "(ix)(A)": "We used your credit score to set the terms of credit we are offering you.",
    "(ix)(B)": "Your credit score 590",
    "(ix)(C)": "Scores range from a low of 300 to a high of 850",
    "(ix)(D)": "Length of time accounts are open",
    "(ix)(E)": "Date January 30, 2028",
    "(ix)(F)": "Consumer reporting agency Example Bureau",
}


def test_approval_above_the_lowest_rate_requires_a_risk_based_pricing_notice():
    notice = approve(submitted_world())[1]
    text, language = read(notice.html)
    assert (notice.made_from["blocks"], language) == (NOTICE, "en")
    assert "Your credit report(s) and the price you pay for credit" in text
    assert {section: sentence for section, sentence in STATEMENTS.items() if sentence not in text} == {}


def test_pricing_notice_for_a_report_without_a_score_has_no_score():
    notice = approve(submitted_world(), REPORT)[1]
    assert notice.made_from["blocks"] == ["pricing", "creditor"]
    assert "credit score" not in read(notice.html)[0]


@pytest.mark.parametrize(
    ("offer", "report"),
    [
        ({}, None),  # 1022.72(a): no report
        ({"risk_based_pricing": "not_applicable", "risk_based_pricing_reason": "prescreened"}, REPORTED),
    ],
)
def test_approval_outside_the_risk_based_pricing_rule_requires_no_notice(offer, report):
    assert approve(submitted_world(**offer), report) == {}
    assert [row.kind for row in Notice.objects.all()] == ["approval"]


@pytest.mark.parametrize(
    ("lowest", "rate", "is_best"),
    [(6.9, "6.9", True), (6.9, "6.9001", False), (6.90005, "6.9001", True), (0, "0", True), (None, "6.9", False)],
)
def test_loan_has_the_best_rate_if_four_decimal_places_equal_the_lowest_offer_rate(lowest, rate, is_best):
    assert is_best_rate({"apr_min_percent": lowest}, Decimal(rate)) is is_best


@pytest.mark.parametrize("law", ["us", "eu"])
def test_adverse_action_or_eu_offer_requires_no_pricing_notice(law):
    world = World(offer_of(law))
    world.submit(0)
    if law == "us":
        world.counter(5, with_denial=True, consumer_report=REPORTED)  # 1022.74(b)
        world.issue(6)
    else:
        world.move(5, "approved", metadata={"terms": WORSE, "consumer_report": REPORTED | FOUND})
    assert pricing_of(world) == {}


class TestScoreDisclosure:
    """12 CFR 1022.74(e) and, without a score, (f)."""

    def test_applicant_gets_the_score_disclosure_or_the_no_score_disclosure(self):
        world = submitted_world(risk_based_pricing="score_disclosure")
        notice = approve(world, RANKED, BEST)[1]
        text, _ = read(notice.html)
        assert notice.made_from["blocks"] == ["score_disclosure", "free_reports", "creditor"]
        for sentence in (
            "Your credit score and the price you pay for credit", "Your credit score 590", "Date January 30, 2028",
            "Scores range from a low of 300 to a high of 850", "ranks higher than 27 percent of U.S. consumers",
            "Your credit score can affect whether you can get a loan", "once a year", "www.annualcreditreport.com",
            "1-877-322-8228", "www.consumerfinance.gov/learnmore", "Example Bureau",
        ):  # fmt: skip
            assert sentence in text, sentence
        assert "less favorable" not in text
        world = World(world.offer)
        world.submit(0)
        notice = approve(world, REPORT)[1]
        assert notice.made_from["blocks"] == ["no_score", "free_reports", "creditor"]
        text = read(notice.html)[0]
        assert "Your credit score is not available from Example Bureau" in text
        assert "<bdi>Example Bureau</bdi>, which is a consumer reporting agency" in notice.html
        assert "Not having a credit score can affect whether you can get a loan" in text

    def test_only_an_approval_requires_the_percentile_rank_of_a_score(self):
        world = submitted_world(risk_based_pricing="score_disclosure")
        metadata = {"terms": WORSE, "consumer_report": REPORTED}
        error = assert_error(move(client_of(world.lender.user), world, "approved", metadata=metadata), 400, "E1001")
        assert error["details"][0]["field"] == "metadata.consumer_report[0].ranks_above_percent"
        world.reject(5, consumer_report=REPORTED)
        assert world.notice.kind == "adverse_action"

    @pytest.mark.parametrize(("method", "status"), [("score_disclosure", "ready"), ("notice", "delivered")])
    def test_opening_a_notice_page_without_consent_delivers_only_notices_allowed_in_electronic_form(
        self, method, status
    ):
        """Without consent, a disclosure must be in writing; a notice may be electronic (1022.73(b)(1))."""
        world = submitted_world(risk_based_pricing=method)
        notice = approve(world, RANKED)[1]
        browser_of(world.consumer.user).get(f"/my/applications/{world.pk}/notices/{notice.pk}")
        notice.refresh_from_db()
        assert notice.status == status


class TestAcceptance:
    def test_acceptance_requires_a_delivered_pricing_notice(self):
        world = submitted_world()
        notice = approve(world)[1]
        with pytest.raises(ApiError, match="must be delivered before the acceptance") as refused, transaction.atomic():
            world.take_up(7)
        assert (refused.value.code, refused.value.details) == ("E3011", {"notices": [str(notice.pk)]})
        page = f"/my/applications/{world.pk}"
        browser = browser_of(world.consumer.user)
        shown = browser.get(page).content.decode()
        assert f"{page}/notices/{notice.pk}" in shown
        assert f"{page}/accept" not in shown
        assert browser.get(f"{page}/accept").headers["Location"] == page
        browser.get(f"{page}/notices/{notice.pk}")
        assert f"{page}/accept" in browser.get(page).content.decode()
        assert browser.get(f"{page}/accept").status_code == 200
        world.take_up(7)
        assert world.application.accepted_at is not None

    def test_acceptance_of_a_counteroffer_requires_a_delivered_pricing_notice(self):
        world = submitted_world()
        world.counter(5, consumer_report=REPORTED)
        world.issue(6)
        with pytest.raises(ApiError, match="must be delivered before the acceptance"), transaction.atomic():
            world.take_up(7)
        deliver(world, pricing_of(world)[1], 7)
        world.take_up(8)
        assert world.application.status == "approved"
        assert pricing_of(world)[1].status == "delivered"

    def test_acceptance_requires_a_delivered_pricing_notice_of_each_applicant(self):
        """Test the rule in 12 CFR 1022.75(c)."""
        world = joint()
        notices = approve(world, [REPORTED, SECOND_REPORT])
        assert [person["name"] for person in notices[2].made_from["persons"]] == [PARTNER["legal_name"]]
        assert ("701" in notices[1].html, "590" in notices[2].html) == (False, False)
        consumer = client_of(world.consumer.user)
        rows = consumer.read(f"/applications/{world.pk}/notices").json()["notices"]
        assert {(row["kind"], row["applicant"]) for row in rows} == {("approval", None), ("pricing", 1)}
        deliver(world, notices[1], 7)
        with pytest.raises(ApiError, match="must be delivered before the acceptance"), transaction.atomic():
            world.take_up(7)
        deliver(world, notices[2], 7)
        world.take_up(7)


def test_pricing_notice_does_not_stop_the_notice_clock_and_is_canceled_with_the_approval():
    world = submitted_world()
    notice = approve(world)[1]
    deliver(world, notice, 7)
    assert Clock.objects.get().stopped_at is None
    world.reopen(8)
    notice = approve(world, day=9)[1]
    world.expire(50)
    notice.refresh_from_db()
    assert (world.application.status, notice.status) == ("expired", "cancelled")


def deliver(world, notice, day):
    about = {"channel": "post", "at": world.at(day), "reference": "RE 1", "actor": world.lender, "now": world.at(day)}
    services.record_delivery(str(world.pk), str(notice.pk), **about)


def test_offer_with_a_contradictory_risk_based_pricing_method_is_rejected():
    client = client_of(provider_offer().owner)
    body = {"provider_id": "700", "name": "Loan", "product_type": "personal_loan"}
    names = ("risk_based_pricing", "risk_based_pricing_reason")
    for methods in (
        ("not_applicable", None), ("notice", "prescreened"), (None, "prescreened"), ("not_applicable", "because"),
        ("always", None),
    ):  # fmt: skip
        assert_error(client.send("/provider-offers", body | dict(zip(names, methods, strict=True))), 400, "E1001")
    good = {"risk_based_pricing": "not_applicable", "risk_based_pricing_reason": "same_terms"}
    assert good.items() <= client.send("/provider-offers", body | good).json().items()

"""Test the content, deadlines, and rejected requests of US documents.

Each test names its section of Regulation B (12 CFR 1002), the FCRA (15 USC 1681) or Regulation V (12 CFR 1022).
"""

from datetime import UTC, datetime

import pytest

from credit.core.agencies import AGENCIES
from credit.core.reasons import text_of
from credit.models import Application, Notice, Offer
from credit.notices.retention import grounds_of
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.credit.notices.test_agencies import OTHER, REPORT, SCORE, refused
from tests.credit.notices.test_pages import CREDITOR, read
from tests.credit.notices.test_pages import ECOA as ECOA_OF_FTC
from tests.credit.notices.test_pricing import BEST, RANKED, submitted_world
from tests.credit.notices.test_refer_warning import reject, scored
from tests.credit.notices.world import ADDRESS, WHOLE, World
from tests.credit.scoring.submitting import SAYS_GOOD, SAYS_POOR, SAYS_SO_SO
from tests.credit.support import move
from tests.credit.terms.test_prices import priced

pytestmark = pytest.mark.django_db

ECOA = ECOA_OF_FTC["en"].removesuffix(AGENCIES["ftc"])
FACTORS = ["Balances are too high", "Accounts are too new", "Late payments", "Too few accounts"]
WHOLE_OF_COLORADO = {
    **WHOLE, "address": {**WHOLE["address"], "city": "Denver", "region": "CO", "postal_code": "80202"},
}  # fmt: skip


def submitted(**options):
    world = World(**options)
    world.submit(0)
    return world


def documents_of(world):
    """Return the created notices as the lender reads them over HTTP, by kind and applicant."""
    lender, path = client_of(world.lender.user), f"/applications/{world.pk}/notices"
    rows = [row for row in lender.read(path).json()["notices"] if row["status"] != "cancelled"]
    pages = {
        (row["kind"], row["applicant"]): lender.read(f"{path}/{row['id']}", accept="text/html").content.decode()
        for row in rows
    }
    assert len(pages) == len(rows)
    return {document: read(page)[0] for document, page in pages.items()}


def denial_of(world, *, agency="ftc", day=5, on="February 5, 2028"):
    """Issue due notices; return the text of the adverse action notice, whose deadline is day 30."""
    world.issue(day + 1)
    assert world.day_of(Notice.objects.get(application=world.pk, applicant=None).due_at) == 30
    text = documents_of(world)["adverse_action", None]
    assert f"On {on} we decided that we cannot grant the credit that you applied for." in text
    assert CREDITOR in text or "Cedar Bank 1 Bank Street" in text
    assert ECOA + AGENCIES[agency] in text
    return text


def test_denial_based_on_a_score_states_at_most_four_score_factors(settings):
    """Test the rule in 12 CFR 1002.9(b)(2), comments 2 and 4."""
    world = scored(settings, SAYS_POOR, is_reviewed=False)
    settings.DECISIONING = "automatic"
    decide_scored(now=world.at(1))
    text = denial_of(world, day=1, on="February 1, 2028")
    reasons = Notice.objects.get(application=world.pk).made_from["reasons"]
    assert reasons == list(map(text_of, world.application.decision_score.reasons))[:4] != []
    assert all(reason in text for reason in reasons)
    for words in ("score", "internal standards", "information obtained in a report from"):
        assert words not in text.lower()


def test_denial_notice_accepts_a_fifth_score_factor_only_about_inquiries():
    """Test the rule in 15 USC 1681g(f)(9)."""
    world = submitted()
    report = {**REPORT, **SCORE, "factors": [*FACTORS, "Number of inquiries"]}
    world.reject(5, consumer_report=report)
    text = denial_of(world)
    assert all(factor in text for factor in report["factors"])
    for factors in ([*FACTORS, "Short history"], [*FACTORS, "Number of inquiries", "Short history"]):
        assert refused(submitted(offer=world.offer), {**report, "factors": factors})


def test_denial_on_two_reports_lists_both_agencies_and_scores():
    """Test the rule in 15 USC 1681m(a)(2) and (3)."""
    world = submitted()
    reports = [{**REPORT, **SCORE}, {**OTHER, **SCORE, "score": 612}]
    world.reject(5, consumer_report=reports)
    text = denial_of(world)
    assert text.count("The reporting agency played no part in our decision") == 2
    for report in reports:
        assert f"{report['agency']} {report['address']} Telephone: {report['phone']}" in text
        assert f"Your credit score {report['score']}" in text


def test_notice_of_a_rejection_after_a_referral_states_reasons_from_the_score_and_the_reviewer(settings):
    """Test the rule in 12 CFR 1002.9, comment 9(b)(2)-7."""
    world = scored(settings, SAYS_SO_SO)
    of_score = world.application.decision_score.reasons[0]
    assert "warnings" not in reject(world, [of_score, "residence_temporary"])
    world.issue(60)
    text = documents_of(world)["adverse_action", None]
    assert text_of(of_score) in text
    assert "Temporary residence" in text
    assert len(world.notice.made_from["reasons"]) <= 4
    assert world.notice.made_from["automated"] is False


def test_counteroffer_with_denial_is_one_notice_that_offers_reconsideration():
    """Test the rule in 12 CFR 1002.9, comment 9(a)(1)-6."""
    world = submitted()
    world.counter(5, with_denial=True)
    world.open_notice(6)
    assert world.day_of(world.notice.due_at) == 30
    text = documents_of(world)["counteroffer", None]
    for part in (
        "On February 5, 2028", "We cannot grant the credit that you asked for.", CREDITOR, ECOA + AGENCIES["ftc"],
        "Amount $5,000.00", "Principal reasons for our decision Income insufficient", "You can request reconsideration",
    ):  # fmt: skip
        assert part in text, part
    path = f"/applications/{world.pk}/review-requests"
    assert client_of(world.consumer.user).send(path, {"statement": "My income rose."}).status_code == 201
    world = submitted(offer=world.offer)
    world.counter(5, with_denial=True)
    world.open_notice(6)
    world.silence(41)
    world.issue(42)
    assert set(documents_of(world)) == {("counteroffer", None)}


def test_approval_at_the_best_rate_has_no_pricing_notice():
    """Test the rule in 12 CFR 1022.72(b)(2)(ii)."""
    world = submitted_world()
    world.move(5, "approved", metadata={"terms": BEST, "consumer_report": RANKED})
    world.issue(6)
    documents = documents_of(world)
    assert set(documents) == {("approval", None)}
    assert "credit report" not in documents["approval", None]


@pytest.mark.parametrize(
    ("agency", "address"),
    [
        ("ncua", "1775 Duke Street, Alexandria, VA 22314"),
        ("cfpb", "Bureau of Consumer Financial Protection, 1700 G Street NW, Washington, DC 20552"),
    ],
)
def test_denial_notice_contains_the_supervisory_agency_of_the_lender(agency, address):
    """Test the rule in 12 CFR 1002.9(a)(2), appendix A."""
    world = submitted()
    named = {"name": "Cedar Bank", "address": ADDRESS, "agency": agency}
    assert client_of(world.lender.user).replace(f"/providers/{world.offer.provider_id}", named).status_code == 200
    world.reject(5)
    text = denial_of(world, agency=agency)
    assert address in text
    assert "Federal Trade Commission" not in text


def test_rejection_with_an_unspecific_reason_returns_400_and_creates_no_notice():
    """Test the rule in 12 CFR 1002.9(b)(2)."""
    world = submitted()
    for text in (
        "Does not meet credit policy", "Does not meet our lending criteria", "Model decision", "Rejected by scorecard",
        "Score too low", "Did not meet internal standards", "Insufficient credit score",
    ):  # fmt: skip
        metadata = {"reasons": [{"code": "other", "text": text}]}
        assert_error(move(client_of(world.lender.user), world, "rejected", metadata=metadata), 400, "E1017")
    world.issue(6)
    assert documents_of(world) == {}


def test_rejection_of_a_colorado_application_by_a_reviewer_does_not_mention_automation():
    """Test the rule in C.R.S. 6-1-1701."""
    world = submitted(person=WHOLE_OF_COLORADO, start=datetime(2027, 1, 5, 12, tzinfo=UTC))
    world.reject(5)
    text = denial_of(world, on="January 10, 2027")
    assert "automat" not in text.lower()


def priced_world(settings, rate):
    """Return a world with an application that the score approves at a price; the offer's lowest rate is 6 %."""
    world = scored(settings, SAYS_GOOD, is_reviewed=False, definition=priced([{"from_total": 1, "rate_percent": rate}]))
    rates = {"apr_min_percent": 6, "apr_max_percent": 15}
    Offer.objects.update(**rates)
    application = world.application
    Application.objects.filter(pk=world.pk).update(offer_snapshot=application.offer_snapshot | rates)
    settings.DECISIONING = "automatic"
    decide_scored(now=world.at(1))
    return world


def test_automatic_approval_with_a_price_based_on_a_score_states_the_applicants_rights(settings):
    """Colorado SB 26-189 (US-37): description, correction and review, within 30 days; kept for 3 years."""
    world = priced_world(settings, 12)
    assert world.application.loan_terms.rate_percent == 12
    world.issue(2)
    assert world.day_of(Notice.objects.get(application=world.pk).due_at) <= 31
    text = documents_of(world)["approval", None]
    for words in (
        "This decision is based on automated processing of personal data. No person had a part in it.",
        "You can learn which part the score had in the decision.", "You can have wrong data corrected.",
        "You can request that a person reviews the decision.",
    ):  # fmt: skip
        assert words in text
    consumer = client_of(world.consumer.user)
    assert consumer.read(f"/applications/{world.pk}/explanation").json()["notice_days"] == 30
    answer = consumer.send(f"/applications/{world.pk}/review-requests", {"statement": "The rate is too high."})
    assert answer.status_code == 201, answer.content
    assert {kept.ground.name: kept.ground.months for kept in grounds_of(world.application)}["colorado"] == 36


def test_scored_approval_at_the_lowest_rate_offers_no_review(settings):
    """Colorado SB 26-189: the terms are not worse."""
    world = priced_world(settings, 6)
    world.issue(2)
    assert "reviews the decision" not in documents_of(world)["approval", None]
    answer = client_of(world.consumer.user).send(f"/applications/{world.pk}/review-requests", {"statement": "More."})
    assert_error(answer, 400, "E3004")

"""Test the content, deadlines, and rejected requests of EU documents.

Each test names its article of Directive (EU) 2023/2225.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from credit.models import Offer, ReviewRequest
from credit.notices import services
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.credit.eu.offers import CONTACT, EU_TERMS
from tests.credit.eu.test_precontract import path_of
from tests.credit.notices.test_pages import read
from tests.credit.notices.test_table import FOUND, REPORT
from tests.credit.notices.world import BECAUSE, World, offer_of
from tests.credit.scoring.submitting import SAYS_GOOD, SAYS_POOR, scored_offer, verify

pytestmark = pytest.mark.django_db
RIGHTS = (
    "You have the right to a human assessment.",
    "a clear and comprehensible explanation of the assessment of your creditworthiness",
    "to express your own point of view", "to a review of the assessment and of the decision",
    "To contest the decision, request the review",
)  # fmt: skip
BY_A_PERSON = "made by a person"


def scored(settings, data, *, decisioning="assist", start=None):
    settings.DECISIONING = decisioning
    offer, _ = scored_offer()
    Offer.objects.filter(pk=offer.pk).update(**EU_TERMS)
    offer.refresh_from_db()
    for name, value in {**CONTACT, "name": "Cedar Bank", "address": "1 Bank Street"}.items():
        setattr(offer.provider, name, value)
    offer.provider.save()
    world = World(offer, **({} if start is None else {"start": start}))
    application = world.application
    application.application_data, application.share = data, ["bank", "identity"]
    application.save()
    verify(world.consumer.user)
    world.move(0, "submitted", by=world.consumer)
    return world


def text_of(world, day=2):
    world.issue(day)
    assert world.notice.status == "ready", world.notice.waits_for
    return read(world.notice.html)[0]


def test_rejection_with_a_score_states_the_automated_assessment(settings):
    """Test the rule in Art. 18(8), (9)."""
    world = scored(settings, SAYS_POOR)
    world.move(0, "under_review")
    world.reject(1)
    text = text_of(world)
    assert "The assessment of your creditworthiness is based on automated processing of personal data." in text
    assert all(words in text for words in (*RIGHTS, "you can get advice here: Debt Advice Center"))
    assert BY_A_PERSON not in text
    assert world.day_of(world.notice.due_at) <= 4


def test_rejection_without_a_score_does_not_mention_automation():
    """Art. 18(9): "where applicable"."""
    world = World(offer_of("eu"))
    world.submit(0)
    world.reject(1)
    text = text_of(world)
    assert "automated" not in text
    assert "human assessment" not in text
    assert "You can request reconsideration of this decision." in text


def test_eu_counteroffer_based_on_a_consumer_report_requires_the_result_of_the_report():
    """Art. 19(6): a counteroffer that expires rejects the application on the same report."""
    world = World(offer_of("eu"))
    world.submit(0)
    terms = {"amount_cents": 500_000, "rate_percent": 9, "term_months": 24}
    expires_at = (timezone.now() + timedelta(days=20)).isoformat().replace("+00:00", "Z")
    body = {"terms": terms, "reasons": BECAUSE, "expires_at": expires_at, "consumer_report": REPORT}
    answer = client_of(world.lender.user).send(f"/applications/{world.pk}/counteroffers", body)
    assert_error(answer, 400, "E1001")
    assert "consumer_report[0].result" in answer.content.decode()


@pytest.mark.parametrize("end", ["decline", "take_back"])
def test_counteroffer_that_ended_before_its_notice_requires_no_notice(end):
    """Art. 18(9): until the next decision, there is nothing to notify of; the next notice has 3 days of its own."""
    world = World(offer_of("eu"))
    world.submit(0)
    world.counter(1)
    getattr(world, end)(2)
    assert services.issue_due(now=world.at(5))["overdue"] == 0
    world.reject(6)
    assert world.notice.due_at == world.at(9)


def test_counteroffer_does_not_stop_the_notice_clock_of_an_earlier_rejection():
    world = World(offer_of("eu"))
    world.submit(0)
    world.reject(1)
    world.reopen(2)
    world.counter(2)
    world.decline(3)
    assert services.issue_due(now=world.at(5))["overdue"] == 1


def test_eu_rejection_based_on_a_consumer_report_requires_result_and_categories_of_the_report():
    """Test the rule in Art. 19(6)."""
    world = World(offer_of("eu"))
    world.submit(0)
    client, path = client_of(world.lender.user), f"/applications/{world.pk}/status"
    whole = REPORT | FOUND
    missing = [{name: value for name, value in whole.items() if name != field} for field in ("result", "categories")]
    for report in (*missing, *(whole | wrong for wrong in (
        {"result": ""}, {"result": 7}, {"categories": []}, {"categories": "debts"}, {"categories": ["x"] * 21},
        {"categories": [7]}, {"supplier": ""}, {"result": "\u202e"},
    ))):  # fmt: skip
        metadata = {"reasons": BECAUSE, "consumer_report": report}
        answer = client.replace(path, {"status": "rejected", "updated_by": "x", "metadata": metadata})
        assert_error(answer, 400, "E1001")
        for field in whole.keys() - report.keys():
            assert f"metadata.consumer_report[0].{field}" in answer.content.decode()


def test_notice_of_a_scored_approval_states_the_applicants_rights(settings):
    """Test the rule in Art. 18(8), second sub-paragraph."""
    world = scored(settings, SAYS_GOOD)
    world.move(0, "under_review")
    world.move(1, "approved", metadata={"terms": {"amount_cents": 500_000, "rate_percent": 9.9}})
    text = text_of(world)
    assert all(words in text for words in RIGHTS)
    assert BY_A_PERSON not in text
    form = read(client_of(world.consumer.user).read(path_of(world), accept="text/html").content.decode())[0]
    assert "Yes. The price is personalized by automated processing." in form
    assert all(words in form for words in RIGHTS[:4])  # The information was complete before the agreement.
    assert BY_A_PERSON not in form


def test_review_of_an_automatic_approval_can_be_requested_and_answered(settings):
    """Art. 18(8)(c): the letter that offers the review, the request and its answer."""
    world = scored(settings, SAYS_GOOD, decisioning="automatic", start=timezone.now() - timedelta(days=3))
    decide_scored(now=world.at(0.5))
    assert world.application.status == "approved"
    text = text_of(world)
    assert "No person had a part in it." in text
    assert all(words in text for words in RIGHTS)
    path = f"/applications/{world.pk}/review-requests"
    answer = client_of(world.consumer.user).send(path, {"statement": "The rate is too high."})
    assert answer.status_code == 201, answer.content
    request = ReviewRequest.objects.get()
    assert (request.due_at - request.requested_at).days == 30
    assert "A person can look again at a rejection, and at nothing else" not in text
    world.move(3.1, "under_review", by=world.other, reason="Review.")
    terms = {"amount_cents": 500_000, "rate_percent": 9.9}
    world.move(3.2, "approved", by=world.other, metadata={"terms": terms}, reason="The rate stands.")
    (closed,) = client_of(world.consumer.user).read(path).json()["review_requests"]
    assert (closed["status"], closed["outcome"]) == ("answered", "approved")
    text = text_of(world, day=4)
    assert "reviewed the assessment of your creditworthiness and the decision" in text
    assert "A person who had no part in the first decision" in text


def test_acceptance_without_the_terms_hash_is_rejected(client):
    """Art. 15: the hash of the terms is required, and no box of the page is ticked in advance."""
    world = World(offer_of("eu"))
    world.submit(0)
    world.approve(1)
    answer = client_of(world.consumer.user).send(f"/applications/{world.pk}/acceptance", {})
    assert answer.status_code == 400
    client.force_login(world.consumer.user)
    page = client.get(f"/my/applications/{world.pk}/accept").content.decode()
    assert "checked" not in page
    assert world.application.accepted_at is None

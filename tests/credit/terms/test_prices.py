"""Test validation, proposals, and automatic approvals of scorecard prices."""

import json

import pytest
from django.utils import timezone

from config.core.errors import ValidationFailed
from credit.anchoring.verify_decision import OK, verify
from credit.console.score_words import differences
from credit.core.card import Card
from credit.models import Application, DecisionAnchor, LoanTerms
from credit.review.automatic import decide_scored
from credit.scoring.definition import check
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.test_applications import move_of
from tests.credit.scoring.cards import definition
from tests.credit.scoring.submitting import SAYS_GOOD, draft_for, scored_offer, submit
from tests.credit.scoring.submitting import verify as verify_person
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
PRICES = [
    {"from_total": 580, "rate_percent": "8.25"},
    {"from_total": 500, "rate_percent": 12, "amount_max_cents": 400_000},
]


def priced(prices):
    card = definition()
    approve = next(outcome for outcome in card["outcomes"] if outcome["outcome"] == "approve")
    return {
        **card,
        "outcomes": [{**outcome, "prices": prices} if outcome == approve else outcome for outcome in card["outcomes"]],
    }


class TestDeclaredPrices:
    def test_scorecard_price_belongs_to_the_highest_threshold_that_the_total_reaches(self):
        check(priced(PRICES))
        card = Card.of(priced(PRICES))
        assert [price and str(price.rate_percent) for price in map(card.price_of, (700, 580, 579, 499))] == [
            "8.25", "8.25", "12", None,
        ]  # fmt: skip

    @pytest.mark.parametrize(("prices", "at"), [
        ([], ""), (7, ""), ([{"from_total": 1}], "/0"), ([{"rate_percent": 5}], "/0"),
        ([{"from_total": 1, "rate_percent": 7.5}], "/0/rate_percent"),
        ([{"from_total": 1, "rate_percent": "-1"}], "/0/rate_percent"),
        ([{"from_total": 1, "rate_percent": "7.00001"}], "/0/rate_percent"),
        ([{"from_total": 1, "rate_percent": 1001}], "/0/rate_percent"),
        ([{"from_total": 1, "rate_percent": 7, "amount_max_cents": 0}], "/0/amount_max_cents"),
        ([{"from_total": 1, "rate_percent": 7}, {"from_total": 1, "rate_percent": 8}], "/1/from_total"),
    ])  # fmt: skip
    def test_invalid_scorecard_prices_are_rejected_with_a_pointer(self, prices, at):
        with pytest.raises(ValidationFailed) as refused:
            check(priced(prices))
        assert refused.value.details[0]["field"] == f"/definition/outcomes/0/prices{at}"

    def test_scorecard_prices_are_allowed_only_for_approvals(self):
        card = definition()
        card["outcomes"][-1]["prices"] = PRICES
        with pytest.raises(ValidationFailed):
            check(card)

    def test_scorecard_version_differences_list_changed_prices(self):
        assert "Prices" in [difference.member for difference in differences(definition(), priced(PRICES))]


@pytest.fixture
def automatic(settings):
    settings.DECISIONING, settings.REVIEW_POLICY, settings.ANCHOR_DECISIONS = "automatic", "reviewed", True


def scored(prices, data=SAYS_GOOD, **offered):
    offer, _ = scored_offer(definition=definition() if prices is None else priced(prices))
    for name, value in {"apr_min_percent": 5, "apr_max_percent": 20, **offered}.items():
        setattr(offer, name, value)
    offer.save()
    consumer = UserFactory()
    verify_person(consumer)
    application = draft_for(offer, consumer, data)
    assert submit(client_of(consumer), application).status_code == 200
    return Application.objects.get(pk=application.pk)


@pytest.mark.usefixtures("automatic")
class TestAutomatic:
    def test_automatic_approval_uses_the_scored_price_and_passes_verification(self):
        application = scored([{"from_total": 0, "rate_percent": "8.25"}])
        assert decide_scored(now=timezone.now())["approved"] == 1
        assert LoanTerms.objects.get().rate_percent == 8.25 == float(LoanTerms.objects.get().to_dict()["rate_percent"])
        bundle = client_of(application.consumer).read(f"/applications/{application.pk}/decision-bundle").json()
        assert {step.name: step.state for step in verify(json.dumps(bundle).encode())}["decision"] == OK
        assert json.loads(DecisionAnchor.objects.get().record)["automated"] is True

    def test_application_without_a_valid_scored_price_is_not_decided_automatically(self):
        for prices in (
            None, [{"from_total": 10_000, "rate_percent": 8}], [{"from_total": 0, "rate_percent": 4}],
            [{"from_total": 0, "rate_percent": 8, "amount_max_cents": 499_999}],
        ):  # fmt: skip
            scored(prices)
        assert decide_scored(now=timezone.now())["approved"] == 0
        assert not LoanTerms.objects.exists()

    def test_automatic_approval_uses_the_single_rate_of_the_offer(self):
        scored(None, apr_max_percent=5)
        assert decide_scored(now=timezone.now())["approved"] == 1


def test_approval_form_is_prefilled_with_the_scored_price_in_assist_mode(settings):
    settings.DECISIONING = "assist"
    application = scored([{"from_total": 0, "rate_percent": "8.25", "amount_max_cents": 400_000}])
    Application.objects.filter(pk=application.pk).update(status="under_review")
    page = backoffice_client(staff_of("Reviewer")).get(move_of(application, "approved"))
    fields = page.context["form"].initial
    assert (fields["amount"], fields["rate_percent"]) == (4_000, 8.25)

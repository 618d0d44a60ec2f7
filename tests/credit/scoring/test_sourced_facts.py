"""Test scorecards that use `first_of` or `verified`, and the sources that a score records."""

from datetime import date, timedelta
from random import Random

import pytest
from django.utils import timezone

from credit.core.card import Card
from credit.core.facts import gather
from credit.models import Score, ScoreFacts
from credit.scoring.definition import check
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import store_score
from tests.credit.scoring import sourced
from tests.credit.scoring.making import make_model, make_version
from tests.credit.scoring.refusals import refusals
from tests.credit.scoring.submitting import draft_for, scored_offer, submit
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

_UNHANDLED = "No knockout on `report.status` refers applications without a report"
_NO_BUDGET = "No input reads income, expenses, or obligations (CCD2 18(3))."
CLAIMS = {"amount_cents": 500_000, "monthly_income_cents": 700_000, "monthly_debt_cents": 10_000}


def submitted(api, user, data, **options):
    """Submit an application to an offer with the sourced card; return its score."""
    offer, _ = scored_offer(definition=sourced.card(**options.pop("card", {})))
    application = draft_for(offer, user, data, **options)
    response = submit(api, application)
    assert response.status_code == 200, response.content
    return Score.objects.get(application=application)


class TestCatalogue:
    def test_each_cataloged_fact_has_type_unit_source_and_meaning(self, api):
        facts = {fact["name"]: fact for fact in api.read("/scoring/facts").json()["facts"]}
        assert facts[sourced.INCOME] == {
            "name": sourced.INCOME, "type": "number", "unit": "cents", "source": "bank",
            "meaning": "Money in per month: the average over the complete calendar months with all "
            "transactions, without internal transfers.",
        }  # fmt: skip
        assert facts["identity.verified"]["source"] == "platform"
        assert facts["application_data.*"] == {
            "name": "application_data.*", "type": "any", "unit": None, "source": "applicant",
            "meaning": "What the applicant claims, by path.",
        }  # fmt: skip


class TestFirstOf:
    @pytest.mark.parametrize(("facts", "points"), [
        ({sourced.INCOME: 100_000, sourced.CLAIMED: 400_000}, 20),
        ({sourced.INCOME: None, sourced.CLAIMED: 400_000}, 120),
        ({sourced.INCOME: 0, sourced.CLAIMED: 400_000}, 20),
        ({}, 0),
    ])  # fmt: skip
    def test_scorecard_input_of_kind_first_of_uses_the_first_present_fact(self, facts, points):
        assert evaluate(Card.of(sourced.card()), facts).points[0].points == points

    def test_scorecard_input_of_kind_first_of_ignores_a_claim_after_a_present_bank_fact(self):
        card = Card.of(sourced.card())
        behind = {sourced.INCOME: 400_000, sourced.CLAIMED: "a lot"}
        assert evaluate(card, behind).unreadable == ()
        assert evaluate(card, {sourced.CLAIMED: "a lot"}).unreadable == (sourced.CLAIMED,)

    @pytest.mark.parametrize(("input", "pointer", "message"), [
        ({"first_of": [sourced.INCOME, sourced.CLAIMED]}, "/inputs/0", "`type` is required with `from` and `first_of`"),
        ({"first_of": [sourced.INCOME], "type": "number"}, "/inputs/0/first_of", "at least 2"),
        ({"first_of": [sourced.INCOME] * 2, "type": "number"}, "/inputs/0/first_of", "twice"),
        ({"first_of": [sourced.INCOME, "bank.nothing"], "type": "number"}, "/inputs/0/first_of/1", "Unknown fact"),
        ({"first_of": [sourced.INCOME, "bank.as_of"], "type": "number"}, "/inputs/0/first_of/1", "This fact is a text"),
        ({"first_of": [sourced.INCOME, "application_data.race"], "type": "number"}, "/inputs/0/first_of/1", "must not"),
        ({"first_of": [sourced.INCOME, sourced.CLAIMED], "from": sourced.INCOME, "type": "number"}, "/inputs/0",
         "exactly one"),
    ])  # fmt: skip
    def test_invalid_scorecard_input_of_kind_first_of_is_rejected_with_its_pointer(self, input, pointer, message):  # noqa: A002
        wrong = sourced.card()
        wrong["inputs"][0] = {"name": "income", **input}
        at, why = refusals(wrong)[0]
        assert at == pointer
        assert message in why


class TestReasonAboutAReport:
    """The code `inquiries_recent` is the notice's words for what a credit report shows."""

    INQUIRIES = "report.inquiries_6_months"

    @classmethod
    def card(cls, **source):
        card = sourced.card()
        card["inputs"][2] = {"name": "debts", "type": "number", **source}
        card["characteristics"][2]["reason"] = "inquiries_recent"
        card["knockouts"] = [{"input": "debts", "from": 9, "outcome": "decline", "reason": "inquiries_recent"}]
        return card

    def test_scorecard_reason_inquiries_recent_is_allowed_only_for_inputs_from_reports(self):
        for source in ({"from": self.INQUIRIES}, {"first_of": [self.INQUIRIES, "report.delinquencies_24_months"]}):
            check(self.card(**source))
        claim = "application_data.inquiries"
        for source in ({"first_of": [self.INQUIRIES, claim]}, {"from": claim}):
            places = [place for place, _ in refusals(self.card(**source))]
            assert places == ["/knockouts/0/reason", "/characteristics/2/reason"]


class TestVerifiedFacts:
    def test_verified_scorecard_treats_claims_as_missing(self, api, user):
        score = submitted(api, user, CLAIMS, card={"verified": True})
        assert score.missing == ["income", "use of income", "debts"]
        assert set(ScoreFacts.objects.get().values()) == {"scored_on", sourced.INCOME, sourced.SPENDING}

    def test_submission_to_a_verified_scorecard_accepts_unreadable_claims(self, api, user):
        odd = {**CLAIMS, "monthly_debt_cents": "none"}
        assert submitted(api, user, odd, card={"verified": True}).outcome == "decline"

    def test_decision_of_a_verified_scorecard_does_not_depend_on_claims(self, api, user):
        chance, results = Random(20261128), set()
        sourced.bank(user, paid_in=310_000, paid_out=120_000)
        values = (None, True, -1, 0, 10**12, 1.5, "", "many", [], {"deep": 1})
        for _ in range(10):
            data = {name: chance.choice(values) for name in (*CLAIMS, "other") if chance.random() < 0.8}
            score = submitted(api, user, data, card={"verified": True})
            results.add((score.total, score.outcome, str(score.reasons), str(score.points), str(score.sources)))
        assert len(results) == 1, results
        assert results.pop()[:2] == (700, "refer")

    def test_total_of_a_verified_scorecard_does_not_depend_on_claims(self):
        chance, card = Random(5), Card.of(sourced.card(verified=True))
        for _ in range(2_000):
            facts = sourced.facts(chance)
            claims = {name: chance.choice((None, 1, 10**9, "x", True)) for name in facts if "application" in name}
            assert evaluate(card, facts) == evaluate(card, {**facts, **claims})


class TestSources:
    def test_score_records_source_and_date_of_each_used_fact(self, api, user):
        sourced.bank(user, paid_in=310_000, paid_out=120_000)
        score = submitted(api, user, CLAIMS)
        today = timezone.now().date()
        yesterday = today - timedelta(days=1)
        assert score.sources == [
            {"name": "application_data.monthly_debt_cents", "source": "applicant", "as_of": str(today)},
            {"name": sourced.INCOME, "source": "bank", "as_of": str(yesterday)},
            {"name": sourced.SPENDING, "source": "bank", "as_of": str(yesterday)},
        ]
        assert api.read(f"/applications/{score.application_id}/score").json()["facts"] == score.sources
        assert date.fromisoformat(score.sources[1]["as_of"]) < score.created_at.date()

    def test_score_uses_the_claim_if_bank_data_is_not_shared_or_belongs_to_another_person(self, api, user):
        sourced.bank(UserFactory(), paid_in=310_000, paid_out=120_000)
        assert submitted(api, user, CLAIMS).missing == ["use of income"]
        sourced.bank(user, paid_in=310_000, paid_out=120_000)
        score = submitted(api, user, CLAIMS, share=[])
        names = ["application_data.monthly_debt_cents", "application_data.monthly_income_cents"]
        assert [fact["name"] for fact in score.sources] == names
        assert score.missing == ["use of income"]

    def test_score_stored_without_sources_shows_no_facts(self, api, user):
        offer, version = scored_offer(definition=sourced.card())
        application, facts = draft_for(offer, user, CLAIMS, status="submitted"), {sourced.CLAIMED: 1}
        kept = {"purpose": Score.DECISION, "user_id": user.pk, "application_id": application.pk, "now": timezone.now()}
        store_score(version, facts, evaluate(version.card, facts), **kept)
        assert api.read(f"/applications/{application.pk}/score").json()["facts"] is None

    def test_loading_all_bank_facts_executes_two_sql_statements(self, user, django_assert_num_queries):
        sourced.bank(user, paid_in=310_000, paid_out=120_000)
        names = [sourced.INCOME, sourced.SPENDING, "bank.as_of", "bank.lowest_balance_cents"]
        with django_assert_num_queries(2):
            gather(names, user_id=user.pk, application_data=None, may_read=lambda _: True, now=timezone.now())


class TestWarnings:
    def publish(self, api, user, **card):
        version = make_version(make_model(user), **{"knockouts": [], **sourced.card(**card)})
        path = f"/scoring/models/{version.model_id}/versions/{version.number}/publish"
        return api.send(path, {"role": "champion"}).json()["warnings"]

    def test_scorecard_publication_warns_of_inputs_that_only_the_applicant_supplies(self, api, user):
        debts = "Only the applicant supplies debts: "
        assert self.publish(api, user) == [f"{debts}nothing verifies it."]
        missing = "it is always missing, because the card is verified."
        assert self.publish(api, user, verified=True) == [f"{debts}{missing}"]

    def test_scorecard_publication_warns_of_missing_verified_inputs_or_income_and_debt_inputs(self, api, user):
        for fact, warned in {
            "report.delinquencies_24_months": [_NO_BUDGET, _UNHANDLED],
            "applications.in_90_days": [_NO_BUDGET, "No input is verified"],
            "application_data.monthly_income_cents": ["No input is verified"],
            "confirmed.monthly_income_cents": [],
            "report.obligations_monthly_cents": [_UNHANDLED],
        }.items():
            inputs = [{"name": "income", "from": fact, "type": "number"}]
            warnings = self.publish(api, user, inputs=inputs, characteristics=sourced.card()["characteristics"][:1])
            assert [line.partition(":")[0] for line in warnings if not line.startswith("Only")] == warned, fact

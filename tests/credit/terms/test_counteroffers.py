"""Test that counteroffers can be created, accepted, declined, withdrawn, and superseded, and expire."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.core.lifecycle import Actor
from config.webhooks.models import Event
from credit.models import Application, ApplicationHistory, Counteroffer, DecisionAnchor, LoanTerms, Proposal
from credit.terms import counteroffers
from tests.api import assert_error, client_of
from tests.credit.scoring.bundles import fields_of_anchor
from tests.credit.support import key_of, move
from tests.credit.support import make_reviewer as reviewer
from tests.credit.terms.lending import LINE, accept_terms, acceptance_of, applied, approve, lender_of, listed
from tests.factories import OfferFactory, ProviderFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
BECAUSE = ["income_insufficient"]
LESS = {"amount_cents": 600_000, "rate_percent": 8}


@pytest.fixture
def application(offer):
    return applied(offer)


@pytest.fixture
def lender(offer):
    return lender_of(offer)


@pytest.fixture
def consumer(application):
    return client_of(application.consumer)


def path(application, *parts):
    return "/".join((f"/applications/{application.pk}/counteroffers", *map(str, parts)))


def in_days(days):
    return (timezone.now() + timedelta(days=days)).isoformat().replace("+00:00", "Z")


def counter(client, application, terms=LESS, days=14, **members):
    return client.send(path(application), {"terms": terms, "reasons": BECAUSE, "expires_at": in_days(days), **members})


def notified(application, verb):
    """Return the accounts that got an event."""
    return set(Event.objects.filter(type=f"application.{verb}").values_list("account_id", flat=True))


def expire(days=15):
    return counteroffers.expire(now=timezone.now() + timedelta(days=days))


class TestNewCounteroffers:
    def test_invalid_counteroffer_is_rejected(self, application, lender):
        for terms in (None, {}, [], "", 0, False, [LESS], "8", {"amount_cents": None}, dict.fromkeys(LESS)):
            body = assert_error(counter(lender, application, terms=terms), 400, "E1001")
            assert body["details"][0]["field"] == "terms"
        left_out = {"reasons": BECAUSE, "expires_at": in_days(14)}
        assert_error(lender.send(path(application), left_out), 400, "E1001")
        for members, code in (
            ({"reasons": []}, "E1017"), ({"reasons": ["so"]}, "E1017"), ({"reasons": None}, "E1001"),
            ({"terms": {"amount_cents": 5}}, "E1019"), ({"terms": 5}, "E1001"), ({"expires_at": 7}, "E1001"),
            ({"expires_at": "soon"}, "E1001"), ({"expires_at": in_days(0)}, "E1001"),
            ({"expires_at": in_days(-3)}, "E1001"), ({"expires_at": in_days(92)}, "E1001"),
        ):  # fmt: skip
            assert_error(counter(lender, application, **members), 400, code)
        assert not Counteroffer.objects.exists()
        assert not LoanTerms.objects.exists()

    def test_counteroffer_that_expires_after_its_first_payment_date_is_rejected(self, application, lender):
        """After the start of that day, the terms can't be accepted."""
        terms = {**LESS, "first_payment_on": in_days(10)[:10]}
        body = assert_error(counter(lender, application, terms, days=11), 400, "E1001")
        assert body["details"][0]["field"] == "expires_at"
        assert f"{in_days(10)[:10]}T00:00:00.000000Z" in body["details"][0]["message"]
        assert counter(lender, application, terms, days=9).status_code == 201

    def test_counteroffer_stores_the_loan_without_changing_the_status(self, application, lender, offer):
        answer = counter(lender, application)
        assert answer.status_code == 201, answer.content
        shown = answer.json()
        assert shown["status"] == "open"
        expected = {**LESS, "term_months": 24, "fee_cents": 0, "kind": "counteroffer"}
        assert {name: shown["terms"][name] for name in expected} == expected
        application.refresh_from_db()
        assert (application.status, application.moves, application.counteroffer_moves) == ("under_review", 0, 1)
        assert lender.read(path(application)).json() == [shown]
        assert notified(application, "counteroffered") == {application.consumer_id, offer.provider.owner_id}

    def test_second_open_counteroffer_for_an_application_is_rejected(self, application, lender):
        made = counter(lender, application).json()
        assert_error(counter(lender, application), 409, "E3013")
        assert lender.remove(path(application, made["id"])).status_code in {200, 204}
        assert counter(lender, application, {"term_months": 12}).status_code == 201
        assert [one["status"] for one in lender.read(path(application)).json()] == ["open", "withdrawn"]

    def test_counteroffer_requires_each_term_that_application_and_offer_do_not_determine(self, offer, lender):
        assert_error(counter(lender, applied(offer, data=None), {"amount_cents": 500_000}), 400, "E1018")
        assert counter(lender, applied(offer, data=None), {**LESS, "term_months": 12}).status_code == 201

    def test_counteroffer_requires_an_application_under_review_and_a_reviewer(
        self, application, offer, lender, consumer
    ):
        for status in ("submitted", "pending_documents", "approved", "rejected", "withdrawn", "expired"):
            assert_error(counter(lender, applied(offer, status=status)), 400, "E3001")
        assert_error(counter(consumer, application), 403, "E2010")
        elsewhere = OfferFactory(provider=ProviderFactory(id="701"))
        assert_error(counter(lender_of(elsewhere), application), 404, "E4002")

    def test_line_of_credit_can_have_a_counteroffer(self):
        offer = listed(**LINE)
        application = applied(offer)
        assert counter(lender_of(offer), application, {"amount_cents": 200_000}).json()["terms"]["term_months"] is None
        assert accept_terms(client_of(application.consumer), application).status_code == 200


class TestAcceptance:
    def test_acceptance_of_a_counteroffer_approves_the_application(self, application, lender, consumer, settings):
        settings.ANCHOR_DECISIONS = True
        made = counter(lender, application).json()
        shown = acceptance_of(consumer, application)
        assert shown["acceptable"] is True
        assert (shown["terms"], shown["terms_sha256"]) == (made["terms"], made["terms_sha256"])
        assert shown["expires_at"] == made["expires_at"]
        answer = accept_terms(consumer, application)
        assert answer.status_code == 200, answer.content
        application.refresh_from_db()
        assert (application.status, application.reviewed_by) == ("approved", made["offered_by"])
        assert application.accepted_at
        row = ApplicationHistory.objects.get()
        assert row.principal == application.consumer
        assert row.metadata["counteroffer"]["offered_by"] == made["offered_by"]
        decision, acceptance = map(fields_of_anchor, DecisionAnchor.objects.order_by("id"))
        assert decision["terms"] == acceptance["terms"] == made["terms"]
        assert (decision["counteroffer"]["id"], decision["automated"]) == (made["id"], False)
        assert lender.read(path(application)).json()[0]["status"] == "accepted"
        assert accept_terms(consumer, application, made["terms_sha256"]).json() == answer.json()

    def test_only_the_consumer_can_accept_a_counteroffer_with_the_hash_of_its_terms(
        self, application, lender, consumer
    ):
        sha = counter(lender, application).json()["terms_sha256"]
        assert_error(accept_terms(lender, application, sha), 404, "E4002")
        assert_error(accept_terms(consumer, application, application.terms_sha256), 400, "E3012")
        application.refresh_from_db()
        assert application.status == "under_review"

    def test_expired_counteroffer_cannot_be_accepted_before_the_worker_runs(self, application, lender):
        counter(lender, application, days=3)
        later = timezone.now() + timedelta(days=4)
        application.refresh_from_db()
        assert counteroffers.acceptable_of(application, now=later) is None
        offered = Counteroffer.objects.get()
        assert not offered.close(Counteroffer.ACCEPTED, by=application.consumer, now=later)

    def test_changed_application_data_supersedes_the_counteroffer(self, application, lender, consumer):
        made = counter(lender, application, days=3).json()
        same = {"updated_by": "me", "application_data": application.application_data, "notes": "Please."}
        assert consumer.replace(f"/applications/{application.pk}", same).status_code == 200
        assert lender.read(path(application)).json()[0]["status"] == "open"
        change = {"updated_by": "me", "application_data": {**application.application_data, "income_cents": 9_000_000}}
        assert consumer.replace(f"/applications/{application.pk}", change).status_code == 200
        ended = lender.read(path(application)).json()[0]
        assert (ended["id"], ended["status"]) == (made["id"], "superseded")
        assert acceptance_of(consumer, application)["acceptable"] is False
        assert_error(accept_terms(consumer, application, made["terms_sha256"]), 400, "E3011")
        assert [notice.status for notice in application.notices.all()] == ["cancelled"]
        assert expire(days=4) == 0
        application.refresh_from_db()
        assert application.status == "under_review"
        assert counter(lender, application).status_code == 201

    def test_expired_counteroffer_does_not_reject_the_application_if_version_1_0_changed_the_data(
        self, application, lender
    ):
        counter(lender, application, days=3)
        Application.objects.filter(pk=application.pk).update(application_data={"amount_cents": 2})
        assert expire(days=4) == 0
        application.refresh_from_db()
        assert (application.status, application.counteroffers.get().status) == ("under_review", "superseded")


class TestEndedCounteroffers:
    def test_consumer_can_decline_a_counteroffer(self, application, lender, consumer, offer):
        made = counter(lender, application).json()
        decline = path(application, made["id"], "decline")
        assert_error(lender.send(decline), 404, "E4002")
        assert consumer.send(decline).json()["status"] == "declined"
        assert_error(consumer.send(decline), 400, "E3004")
        application.refresh_from_db()
        assert application.status == "under_review"
        assert notified(application, "counteroffer_declined") == {application.consumer_id, offer.provider.owner_id}
        assert acceptance_of(consumer, application)["acceptable"] is False
        assert expire() == 0

    def test_only_reviewers_can_withdraw_a_counteroffer(self, application, offer, lender, consumer):
        made = counter(lender, application).json()
        assert_error(consumer.remove(path(application, made["id"])), 403, "E2010")
        key = key_of(offer.provider.owner, "applications:write", "applications:read")
        assert_error(key.remove(path(application, made["id"])), 403, "E2005")
        assert Counteroffer.objects.get().closed_at is None
        assert lender.remove(path(application, made["id"])).status_code in {200, 204}
        assert_error(lender.remove(path(application, made["id"])), 400, "E3004")
        assert_error(accept_terms(consumer, application, made["terms_sha256"]), 400, "E3011")

    def test_counteroffer_cannot_be_accepted_if_version_1_0_changed_the_application_data(
        self, application, lender, consumer
    ):
        made = counter(lender, application).json()
        Application.objects.filter(pk=application.pk).update(application_data={"amount_cents": 1})
        assert acceptance_of(consumer, application)["acceptable"] is False
        assert_error(accept_terms(consumer, application, made["terms_sha256"]), 400, "E3011")

    def test_unknown_counteroffer_returns_404(self, application, lender, consumer):
        for wrong in ("x", "00000000-0000-0000-0000-000000000000"):
            assert_error(lender.remove(path(application, wrong)), 404, "E4001")
            assert_error(consumer.send(path(application, wrong, "decline")), 404, "E4001")

    def test_expired_counteroffer_rejects_the_application_with_the_counteroffers_reasons(
        self, application, lender, offer
    ):
        made = counter(lender, application).json()
        assert expire(days=13) == 0
        assert expire() == 1
        assert expire() == 0
        application.refresh_from_db()
        assert (application.status, application.reviewed_by) == ("rejected", made["offered_by"])
        row = ApplicationHistory.objects.get()
        assert row.metadata["reasons"] == BECAUSE
        assert row.credential == "command:expire_applications"
        assert row.reason == "Income insufficient for amount of credit requested."
        both = {application.consumer_id, offer.provider.owner_id}
        assert notified(application, "counteroffer_expired") == notified(application, "rejected") == both

    def test_another_decision_supersedes_the_counteroffer(self, offer, lender):
        for to in ("approved", "rejected", "pending_documents", "withdrawn"):
            application = applied(offer)
            consumer = client_of(application.consumer)
            sha = counter(lender, application).json()["terms_sha256"]
            actor = consumer if to == "withdrawn" else lender
            assert move(actor, application, to, metadata={"reasons": BECAUSE}).status_code == 200
            assert application.counteroffers.get().outcome == "superseded"
            assert accept_terms(consumer, application, sha).status_code == 400
        assert expire() == 0

    def test_status_transition_of_a_stale_application_fails_after_a_counteroffer(self, application, lender):
        stale = Application.objects.get(pk=application.pk)
        counter(lender, application)
        actor = Actor(user=application.consumer, credential="test")
        with pytest.raises(Exception, match="Can't change the status"):
            stale.transition_to("withdrawn", actor=actor, now=timezone.now())


class TestTwoReviewers:
    @pytest.fixture(autouse=True)
    def _policy(self, reviewed, settings):
        settings.REVIEW_POLICY = "four_eyes"

    def test_second_reviewer_can_confirm_a_proposed_counteroffer(self, application, consumer):
        proposer = reviewer()
        first, second = client_of(proposer), client_of(reviewer())
        until = in_days(14)
        proposed = counter(first, application, expires_at=until)
        assert (proposed.status_code, proposed.json()["status"], proposed.json()["id"]) == (201, "proposed", None)
        assert proposed.json()["offered_by"] == str(proposer.pk)
        assert not Counteroffer.objects.exists()
        waiting = first.read(f"/applications/{application.pk}").json()["pending_decision"]
        assert (waiting["to"], waiting["terms"]["amount_cents"]) == ("counteroffer", 600_000)
        assert_error(counter(second, application, {"amount_cents": 700_000}, expires_at=until), 400, "E3001")
        assert_error(approve(second, application), 400, "E3001")
        assert counter(first, application, expires_at=until).json()["status"] == "proposed"
        assert counter(second, application, expires_at=until).json()["status"] == "open"
        assert Proposal.objects.get().outcome == "confirmed"
        assert Counteroffer.objects.get().four_eyes["confirmed_by"]
        assert accept_terms(consumer, application).status_code == 200

"""Test which applications `decide_applications` decides, and which it leaves to reviewers."""

import json
from datetime import timedelta
from io import StringIO
from itertools import product

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.core.casework import Assignment
from config.core.lifecycle import Actor, ReviewerRequired
from config.webhooks.models import Event
from credit import following
from credit.anchoring import records
from credit.core.errors import InvalidApplicationTransition
from credit.models import Application, ApplicationHistory, DecisionAnchor, Proposal, Score
from credit.review import automatic as deciding
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, text_of
from tests.backoffice.test_applications import page_of
from tests.backoffice.test_teamwork import end_of
from tests.credit.scoring.bundles import fields_of_anchor
from tests.credit.scoring.cards import definition
from tests.credit.scoring.submitting import SAYS_GOOD, SAYS_POOR, SAYS_SO_SO, draft_for, scored_offer, submit, verify
from tests.credit.support import make_reviewer as reviewer
from tests.credit.support import move as put
from tests.factories import ApplicationFactory, UserFactory
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _automatic(settings):
    settings.DECISIONING, settings.REVIEW_POLICY = "automatic", "reviewed"


@pytest.fixture
def offer(db):
    return scored_offer()[0]


def scored(offer, said, **options):
    """Return an application that a new applicant submitted to the offer."""
    consumer = UserFactory()
    verify(consumer)
    application = draft_for(offer, consumer, said)
    assert submit(client_of(consumer), application).status_code == 200
    if options:
        Application.objects.filter(pk=application.pk).update(**options)
    return application


def decide():
    return decide_scored(now=timezone.now())


def status_of(application):
    application.refresh_from_db()
    return application.status


NOTHING = {"approved": 0, "rejected": 0, "proposed": 0, "failed": 0}


class TestDecided:
    def test_application_with_an_approving_score_is_approved(self, offer, settings):
        for settings.REVIEW_POLICY in ("open", "reviewed", "four_eyes"):
            application = scored(offer, SAYS_GOOD)
            assert decide() == {**NOTHING, "approved": 1}
            assert status_of(application) == "approved"
        assert put(client_of(reviewer()), scored(offer, SAYS_GOOD), "under_review").status_code == 200
        assert decide() == {**NOTHING, "approved": 1}
        assert decide() == NOTHING

    def test_rejection_by_score_has_the_reasons_of_the_score_and_no_reviewer(self, offer, settings):
        reasons = ["income_insufficient", "obligations_excessive", "residence_short"]
        for settings.REVIEW_POLICY in ("open", "reviewed"):
            application = scored(offer, SAYS_POOR)
            assert decide() == {**NOTHING, "rejected": 1}
            assert status_of(application) == "rejected"
            assert application.history.get(status="rejected").metadata == {"reasons": reasons}
            assert application.status_reason.startswith("Income insufficient for amount of credit requested; Excessive")
            record = fields_of_anchor(DecisionAnchor.objects.get(application=application))
            assert (record["automated"], record["decision"], record["outcome"]) == (True, "rejected", "decline")
            assert record["reasons"] == record["score_reasons"] == reasons

    def test_knockout_rejects_an_application_despite_missing_facts(self):
        knockout = {"input": "housing", "equals": "hotel", "outcome": "decline", "reason": "residence_temporary"}
        offer, _ = scored_offer(definition=definition(knockouts=[knockout]))
        scored(offer, {**SAYS_POOR, "monthly_debt_cents": None})
        assert decide() == {**NOTHING, "rejected": 1}

    def test_history_of_an_automatic_decision_contains_the_model_version(self, offer):
        application = scored(offer, SAYS_GOOD)
        decide()
        name = f"model:{Score.objects.get().version.model_id}@1"
        rows = list(application.history.order_by("position"))
        assert [(row.previous_status, row.status) for row in rows] == [
            ("draft", "submitted"), ("submitted", "under_review"), ("under_review", "approved"),
        ]  # fmt: skip
        assert {(row.changed_by, row.principal, row.credential) for row in rows[1:]} == {(name, None, name)}
        assert Application.objects.get().reviewed_by == name
        kinds = list(Event.objects.filter(account=application.consumer).order_by("id").values_list("type", flat=True))
        assert kinds[-2:] == ["application.under_review", "application.approved"]

    def test_applications_are_decided_oldest_first_in_batches(self, offer, monkeypatch):
        monkeypatch.setattr(deciding, "BATCH_MAX", 2)
        now = timezone.now()
        applications = [scored(offer, SAYS_GOOD, submitted_at=now - timedelta(hours=hours)) for hours in (1, 3, 2)]
        assert decide()["approved"] == 2
        assert [status_of(application) for application in applications] == ["submitted", "approved", "approved"]
        assert decide()["approved"] == 1


class TestApplicationsForReviewers:
    def left(self, application, status="submitted"):
        assert decide() == NOTHING
        assert status_of(application) == status
        assert not Proposal.objects.filter(proposed_by=None).exists()

    def test_application_with_a_referral_a_missing_reason_or_a_missing_fact_is_not_decided_automatically(
        self, offer, user
    ):
        card = definition(base_points=-1000)
        for characteristic in card["characteristics"]:
            characteristic["baseline"] = 0
        without_reason = scored_offer(definition=card)[0]
        incomplete = [{**SAYS_POOR, name: None} for name in ("monthly_income_cents", "monthly_debt_cents", "housing")]
        for lender, said, outcome in (
            (offer, SAYS_SO_SO, "refer"), (without_reason, SAYS_GOOD, "decline"),
            *((offer, said, "decline") for said in incomplete),
        ):  # fmt: skip
            application = scored(lender, said)
            assert Score.objects.get(application=application).outcome == outcome
            self.left(application)
        self.left(ApplicationFactory(consumer=user, status="submitted"))  # has no score

    def test_application_with_a_counteroffer_is_not_decided_automatically(self, offer):
        lender = client_of(reviewer())
        until = (timezone.now() + timedelta(days=9)).isoformat().replace("+00:00", "Z")
        terms = {"amount_cents": 500_000, "rate_percent": 9.9}
        for said, is_declined in product((SAYS_GOOD, SAYS_POOR), (False, True)):
            application = scored(offer, said)
            put(lender, application, "under_review")
            other = f"/applications/{application.pk}/counteroffers"
            response = lender.send(other, {"terms": terms, "reasons": ["income_insufficient"], "expires_at": until})
            assert response.status_code == 201, response.content
            if is_declined:
                declined = client_of(application.consumer).send(f"{other}/{response.json()['id']}/decline")
                assert declined.status_code == 200
            self.left(application, "under_review")

    def test_application_in_manual_review_is_not_decided_automatically(self, offer, settings):
        person = reviewer()
        reopened, client = scored(offer, SAYS_GOOD), client_of(person)
        decide()
        assert put(client, reopened, "under_review").status_code == 200
        pending, assigned = scored(offer, SAYS_GOOD), scored(offer, SAYS_GOOD)
        assert put(client, pending, "pending_documents").status_code == 200
        Assignment.objects.create(
            kind="credit.application", record_id=str(assigned.pk), assignee=person, assigned_by=person,
            assigned_at=timezone.now(),
        )  # fmt: skip
        self.left(reopened, "under_review")
        self.left(pending, "pending_documents")
        self.left(assigned)
        settings.REVIEW_POLICY = "four_eyes"
        proposed = scored(offer, SAYS_GOOD)
        assert put(client, proposed, "under_review").status_code == 200
        put(client, proposed, "rejected", metadata={"reasons": ["no_credit_file"]})
        assert proposed.proposals.count() == 1
        self.left(proposed, "under_review")
        type(person).objects.filter(pk=person.pk).update(is_active=False)
        assert decide()["approved"] == 1  # The assignee of an application is no longer active.

    def test_application_changed_after_its_score_is_not_decided_automatically(self, offer):
        application = scored(offer, SAYS_GOOD)
        client = client_of(application.consumer)
        body = {"updated_by": "me", "application_data": {**SAYS_GOOD, "amount_cents": 99_000_000}}
        assert client.replace(f"/applications/{application.pk}", body).status_code == 200
        self.left(application)
        draft = draft_for(offer, application.consumer, SAYS_POOR)
        body = {"updated_by": "me", "application_data": SAYS_GOOD}
        assert client.replace(f"/applications/{draft.pk}", body).status_code == 200
        submit(client, draft)
        assert decide()["approved"] == 1

    def test_application_scored_by_a_retired_version_is_not_decided_automatically(self, offer):
        application = scored(offer, SAYS_GOOD)
        version = Score.objects.get().version
        version.status, version.role = "retired", ""
        version.save(update_fields=["status", "role"])
        self.left(application)

    def test_application_is_decided_automatically_only_if_automatic_decisioning_is_enabled(self, offer, settings):
        application = scored(offer, SAYS_GOOD)
        for settings.DECISIONING in ("off", "assist"):
            self.left(application)


class TestTwoReviewers:
    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.REVIEW_POLICY = "four_eyes"

    @pytest.fixture
    def proposed(self, offer):
        """Return an application whose score proposes a rejection."""
        application = scored(offer, SAYS_POOR)
        assert decide() == {**NOTHING, "proposed": 1}
        return application

    def test_automatic_rejection_under_four_eyes_requires_confirmation_by_one_reviewer(self, proposed):
        name = f"model:{Score.objects.get().version.model_id}@1"
        client = client_of(reviewer())
        shown = client.read(f"/applications/{proposed.pk}").json()
        assert (shown["status"], shown["pending_decision"]["proposed_by"]) == ("under_review", name)
        answer = put(client, proposed, "rejected")
        assert (answer.status_code, answer.json()["status"]) == (200, "rejected")
        row = ApplicationHistory.objects.get(status="rejected")
        assert row.principal is not None
        assert row.metadata["reasons"] == Score.objects.get().reasons
        assert row.metadata["four_eyes"]["proposed_by"] == name
        record = fields_of_anchor(DecisionAnchor.objects.get())
        assert (record["automated"], record["reasons"]) == (False, record["score_reasons"])

    def test_automatic_rejection_is_proposed_only_once(self, proposed):
        assert decide() == NOTHING
        answer = client_of(reviewer()).remove(f"/applications/{proposed.pk}/pending-decision")
        assert answer.status_code == 200
        assert Proposal.objects.get().outcome == "declined"
        assert decide() == NOTHING

    def test_automatic_proposal_can_be_confirmed_in_the_back_office(self, proposed):
        backoffice = backoffice_client(staff_of("Reviewer", username="rita"))
        page = text_of(backoffice.get(page_of(proposed)))
        assert f"model:{Score.objects.get().version.model_id}@1 proposed" in page
        listed = text_of(backoffice.get("/admin/credit/proposal/?state=yours"))
        assert "model:" in listed
        assert "is now rejected" in text_of(confirm(backoffice, end_of(Proposal.objects.get(), "confirm")))


class TestActor:
    """Transitions of the actors `model` and `command` are separate."""

    def model(self):
        return Actor.model(str(Score.objects.get().version))

    def test_model_can_decide_only_a_scored_undecided_application_under_automatic_decisioning(
        self, offer, user, settings
    ):
        application, model = scored(offer, SAYS_POOR), self.model()
        application.refresh_from_db()
        assert application.check_transition("under_review", model) is None
        for settings.DECISIONING in ("off", "assist"):
            assert isinstance(application.check_transition("under_review", model), ReviewerRequired)
        settings.DECISIONING, application.status = "automatic", "under_review"
        assert application.check_transition("rejected", model) is None
        settings.REVIEW_POLICY = "four_eyes"
        assert isinstance(application.check_transition("rejected", model), ReviewerRequired)
        settings.REVIEW_POLICY, application.reviewed_at = "reviewed", timezone.now()
        unscored = ApplicationFactory(consumer=user, status="under_review")
        for refused in (application, unscored):
            assert isinstance(refused.check_transition("rejected", model), ReviewerRequired)

    def test_decide_applications_command_cannot_make_reviewer_transitions(self, offer):
        application = scored(offer, SAYS_GOOD)
        for to in ("under_review", "approved", "rejected", "pending_documents", "withdrawn"):
            application.status = "under_review" if to != "under_review" else "submitted"
            refusal = application.check_transition(to, Actor.system("decide_applications"))
            assert isinstance(refusal, InvalidApplicationTransition), to

    def test_model_actor_can_make_only_the_transitions_of_automatic_decisions(self, offer):
        application = scored(offer, SAYS_GOOD)
        for application.status, to in (
            ("submitted", "pending_documents"), ("submitted", "withdrawn"), ("submitted", "expired"),
            ("under_review", "expired"), ("under_review", "pending_documents"), ("under_review", "rejected"),
            ("pending_documents", "under_review"), ("pending_documents", "rejected"), ("approved", "under_review"),
            ("approved", "withdrawn"), ("rejected", "under_review"),
        ):  # fmt: skip
            assert application.check_transition(to, self.model()) is not None, (application.status, to)

    def test_decision_by_a_person_named_like_a_model_is_not_recorded_as_automated(self, api, user, settings):
        settings.REVIEW_POLICY = "open"
        application = ApplicationFactory(consumer=user, status="under_review")
        assert put(api, application, "approved", updated_by="model:1@1").status_code == 200
        record = fields_of_anchor(DecisionAnchor.objects.get())
        assert record["automated"] is False
        names = ("model_id", "model_version", "definition_sha256", "facts_sha256")
        assert {name: record[name] for name in names} == dict.fromkeys(names)
        assert not {"total", "outcome", "score_reasons"} & set(record)


class TestFailingDecision:
    @pytest.fixture
    def broken(self, offer, monkeypatch):
        """Return three applications; the decision on the oldest application fails."""
        applications = [scored(offer, SAYS_GOOD) for _ in range(3)]
        record = records.decision_record

        def fails(application, row, counteroffer):
            if application.pk == applications[0].pk:
                raise ZeroDivisionError("broken")
            return record(application, row, counteroffer)

        monkeypatch.setattr(following, "decision_record", fails)
        return applications

    def test_failing_decision_is_reported_and_does_not_stop_decisions_on_other_applications(self, broken):
        with pytest.raises(CommandError, match="1 applications could not be decided"):
            call_command("decide_applications", once=True, stdout=StringIO())
        assert [status_of(item) for item in broken] == ["submitted", "approved", "approved"]
        assert not broken[0].history.filter(status="under_review").exists()


def test_decide_applications_command_prints_the_number_of_decisions(offer):
    scored(offer, SAYS_GOOD)
    out = StringIO()
    call_command("decide_applications", once=True, as_json=True, stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1]) == {**NOTHING, "approved": 1, "reports": 0, "scored": 0}


@pytest.mark.usefixtures("committed", "needs_postgresql")
class TestRaces:
    def test_four_workers_decide_each_application_once(self, offer):
        applications = [scored(offer, said) for said in (SAYS_GOOD, SAYS_POOR) * 6]
        counts = run_concurrently(*[decide] * 4)
        assert sum(item["approved"] for item in counts) == sum(item["rejected"] for item in counts) == 6
        assert {item["failed"] for item in counts} == {0}
        assert ApplicationHistory.objects.filter(status__in=("approved", "rejected")).count() == len(applications)

    def test_only_one_of_concurrent_automatic_and_reviewer_decisions_succeeds(self, offer):
        applications = [scored(offer, SAYS_GOOD) for _ in range(6)]
        client = client_of(reviewer())
        client.read("/auth/me")
        for application in applications:
            assert put(client, application, "under_review").status_code == 200

        def review():
            return [
                put(client, item, "rejected", metadata={"reasons": ["no_credit_file"]}).status_code
                for item in applications
            ]

        counts, statuses = run_concurrently(decide, review)
        assert counts["failed"] == 0
        assert set(statuses) <= {200, 400}
        assert counts["approved"] + statuses.count(200) == len(applications)
        assert {status_of(item) for item in applications} <= {"approved", "rejected"}

    def test_concurrent_automatic_decision_and_withdrawal_leave_a_consistent_application(self, offer):
        applications = [scored(offer, SAYS_GOOD) for _ in range(4)]
        clients = [client_of(item.consumer) for item in applications]
        for client in clients:
            client.read("/auth/me")

        def withdraw():
            return [
                put(client, item, "withdrawn").status_code for client, item in zip(clients, applications, strict=True)
            ]

        counts, statuses = run_concurrently(decide, withdraw)
        assert counts["failed"] == 0
        assert set(statuses) <= {200, 400}
        assert {status_of(item) for item in applications} <= {"approved", "withdrawn"}

    def test_application_changed_concurrently_is_not_decided_automatically(self, offer):
        for _ in range(5):
            application = scored(offer, SAYS_GOOD)
            client = client_of(application.consumer)
            client.read("/auth/me")
            body = {"updated_by": "me", "application_data": {**SAYS_GOOD, "amount_cents": 5}}
            counts, answer = run_concurrently(
                decide, lambda c=client, a=application, b=body: c.replace(f"/applications/{a.pk}", b)
            )
            assert (counts["approved"] == 1) == (answer.status_code == 400)
            if counts["approved"]:
                assert_error(answer, 400, "E3004")

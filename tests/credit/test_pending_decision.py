"""Test that two reviewers decide together under `four_eyes`, over the API and in the back office."""

from hashlib import sha256

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from config.core.json_text import canonical_json
from credit.anchoring import record_keys
from credit.models import Application, ApplicationHistory, Proposal, ProviderMember
from identity.access.authentication import forget_credentials
from tests.api import ApiClient, assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, send_form, text_of
from tests.backoffice.test_applications import move_of, page_of
from tests.backoffice.test_teamwork import end_of
from tests.credit.support import BECAUSE
from tests.credit.support import make_reviewer as reviewer
from tests.factories import PASSWORD, ApplicationFactory, ClaimFactory, ProviderFactory, UserFactory
from tests.identity.support import issue
from tests.races import run_concurrently
from tests.second_factors import authenticator_of, code_of

pytestmark = pytest.mark.django_db
DATA = {"amount": 1}


@pytest.fixture(autouse=True)
def _policy(settings):
    settings.REVIEW_POLICY = "four_eyes"


@pytest.fixture
def first(db):
    return reviewer(username="rita")


@pytest.fixture
def second(db):
    return reviewer(username="ruth")


@pytest.fixture
def application(user):
    return ApplicationFactory(consumer=user, status="under_review", application_data=DATA)


def decide(person, application, to="approved", **members):
    """Request a decision, as an account or with a client."""
    client = person if isinstance(person, ApiClient) else client_of(person)
    return client.replace(f"/applications/{application.pk}/status", {"status": to, "updated_by": "name", **members})


def close_proposal(person, application):
    """Withdraw or decline a proposed decision."""
    return client_of(person).remove(f"/applications/{application.pk}/pending-decision")


def state(application):
    """Return the status, and the number of transitions."""
    application.refresh_from_db()
    return application.status, application.moves


class TestTwoReviewers:
    def test_four_eyes_decision_by_the_first_reviewer_creates_a_proposal(self, application, first, second):
        answer = decide(first, application, reason="Enough income", metadata={"score": 7})
        assert answer.status_code == 200
        shown = answer.json()
        proposal = Proposal.objects.get()
        assert shown["status"] == "under_review"
        assert shown["pending_decision"] == {
            "to": "approved", "proposed_by": str(first.pk), "proposed_at": shown["pending_decision"]["proposed_at"],
            "data_sha256": sha256(canonical_json(DATA)).hexdigest(), "terms": None,
        }  # fmt: skip
        assert state(application) == ("under_review", 0)
        answer = decide(second, application)
        assert (answer.status_code, answer.json()["status"]) == (200, "approved")
        assert "pending_decision" not in answer.json()
        row = ApplicationHistory.objects.get()
        assert (row.status, row.principal, row.changed_by, row.reason) == ("approved", second, "name", "Enough income")
        assert row.metadata["score"] == 7
        assert (row.metadata["four_eyes"]["proposed_by"], row.metadata["four_eyes"]["confirmed_by"]) == ("rita", "ruth")
        proposal.refresh_from_db()
        assert (proposal.outcome, proposal.closed_by) == ("confirmed", second)

    def test_confirmed_decision_has_the_metadata_of_the_proposal_and_the_second_reviewers_reason(
        self, application, first, second, settings
    ):
        """Without the report the notice would lack what 15 USC 1681m(a) requires."""
        settings.REPORTS = "off"
        report = {"agency": "Example Bureau", "address": "1 File Street", "phone": "800-555-0100"}
        decide(first, application, "rejected", reason="No", metadata={**BECAUSE, "consumer_report": report, "score": 7})
        members = {"reason": "Income too low", "metadata": {"reasons": ["no_credit_file"]}}
        assert decide(second, application, "rejected", **members).json()["status"] == "rejected"
        row = ApplicationHistory.objects.get()
        assert (row.reason, row.metadata["score"], row.metadata["consumer_report"]) == ("Income too low", 7, report)
        assert row.metadata["reasons"] == ["no_credit_file"]

    def test_four_eyes_decision_after_changed_data_creates_a_new_proposal(self, api, application, first, second):
        decide(first, application)
        change = {"updated_by": "me", "application_data": {"amount": 9}}
        assert api.replace(f"/applications/{application.pk}", change).status_code == 200
        assert "pending_decision" not in client_of(first).read(f"/applications/{application.pk}").json()
        answer = decide(second, application).json()
        assert answer["status"] == "under_review"
        assert answer["pending_decision"]["proposed_by"] == str(second.pk)
        assert answer["pending_decision"]["data_sha256"] == sha256(canonical_json({"amount": 9})).hexdigest()
        assert sorted(Proposal.objects.values_list("outcome", flat=True)) == ["", "void"]
        assert decide(first, application).json()["status"] == "approved"

    def test_different_decision_is_rejected_while_a_proposal_is_open(self, application, first, second):
        decide(first, application)
        for person in (first, second):
            body = assert_error(decide(person, application, "rejected"), 400, "E3001")
            others = ["approved", "pending_documents", "withdrawn"]
            assert body["details"] == {"from": "under_review", "to": "rejected", "allowed": others}
        assert close_proposal(second, application).status_code == 200
        assert decide(second, application, "rejected", metadata=BECAUSE).json()["pending_decision"]["to"] == "rejected"

    def test_applicant_and_last_editor_cannot_propose_or_make_a_decision(self, first, second):
        own = ApplicationFactory(consumer=first, status="under_review")
        touched = ApplicationFactory(status="under_review", data_changed_by=first)
        for application in (own, touched):
            assert_error(decide(first, application), 403, "E2010")
            assert decide(second, application).status_code == 200
            assert_error(decide(first, application), 403, "E2010")
            assert state(application) == ("under_review", 0)

    def test_lender_members_can_decide_with_keys_created_after_a_second_factor_login(self, application, settings):
        settings.BACKOFFICE_SECOND_FACTOR = True
        provider = ProviderFactory(id=str(application.provider_id))
        people = [UserFactory() for _ in range(2)]
        for person in people:
            ProviderMember.objects.create(provider=provider, user=person)
        assert_error(decide(ApiClient(api_key=issue(people[0]).key), application), 403, "E2012")
        keys = [ApiClient(api_key=issue(person, second_factor=True).key) for person in people]
        assert decide(keys[0], application).json()["status"] == "under_review"
        assert decide(keys[1], application).json()["status"] == "approved"

    @pytest.mark.parametrize("policy", ["open", "reviewed"])
    def test_open_and_reviewed_policies_require_no_second_reviewer(self, application, first, settings, policy):
        settings.REVIEW_POLICY = policy
        assert decide(first, application).json()["status"] == "approved"
        settings.REVIEW_POLICY = "four_eyes"
        other = ApplicationFactory(status="under_review")
        assert decide(first, other, "pending_documents").json()["status"] == "pending_documents"
        assert not Proposal.objects.exists()


class TestReadPendingDecision:
    def test_pending_decision_is_shown_to_reviewers_and_not_to_the_applicant(self, api, application, first, second):
        proposed = decide(first, application).json()["pending_decision"]
        for client in (first, ApiClient(api_key=issue(first).key)):  # A repeated request changes nothing.
            assert decide(client, application).json()["pending_decision"] == proposed
        assert (state(application), Proposal.objects.count()) == (("under_review", 0), 1)
        for path in ("", "/transitions"):
            address = f"/applications/{application.pk}{path}"
            assert client_of(second).read(address).json()["pending_decision"] == proposed
            assert "pending_decision" not in api.read(address).json()
        moves = client_of(second).read(f"/applications/{application.pk}/transitions").json()["transitions"]
        allowed = {entry["to"]: entry["allowed"] for entry in moves}
        assert (allowed["approved"], allowed["rejected"]) == (True, False)


class TestEndOfAProposal:
    @pytest.mark.parametrize(("who", "outcome"), [("first", "withdrawn"), ("second", "declined")])
    def test_closing_a_proposal_returns_the_application_to_review(self, application, first, second, who, outcome):
        person = {"first": first, "second": second}[who]
        assert_error(close_proposal(person, application), 404, "E4001")
        decide(first, application)
        answer = close_proposal(person, application)
        assert (answer.status_code, answer.content) == (200, b"")
        assert_error(close_proposal(person, application), 404, "E4001")
        assert Proposal.objects.get().outcome == outcome
        assert state(application) == ("under_review", 0)
        assert decide(second, application).json()["pending_decision"]["proposed_by"] == str(second.pk)

    def test_only_reviewers_can_withdraw_or_decline_a_proposal(self, api, user, application, first, stranger):
        decide(first, application)
        assert_error(close_proposal(user, application), 403, "E2010")
        assert_error(close_proposal(stranger, application), 404, "E4002")
        user.groups.add(Group.objects.get(name="Reviewer"))
        forget_credentials()
        assert_error(close_proposal(user, application), 403, "E2010")
        assert Proposal.objects.get().closed_at is None


class TestProposalsOverApiAndBackOffice:
    def test_decision_proposed_over_the_api_is_confirmed_in_the_back_office(self, application, first):
        decide(first, application, metadata=["odd"])
        backoffice = backoffice_client(staff_of("Reviewer", username="ruth"))
        assert "Waiting for a second reviewer" in text_of(backoffice.get(page_of(application)))
        assert "is now approved" in text_of(confirm(backoffice, end_of(Proposal.objects.get(), "confirm")))
        assert ApplicationHistory.objects.get().metadata["given"] == ["odd"]

    def test_decision_proposed_in_the_back_office_is_confirmed_over_the_api(self, application, second):
        rita = backoffice_client(staff_of("Reviewer", username="rita"))
        send_form(rita, move_of(application, "approved"), reason="Good")
        shown = client_of(second).read(f"/applications/{application.pk}").json()
        assert shown["pending_decision"]["to"] == "approved"
        answer = decide(second, application).json()
        assert (answer["status"], answer["status_reason"]) == ("approved", "Good")
        four = ApplicationHistory.objects.get().metadata["four_eyes"]
        assert (four["proposed_by"], four["confirmed_by"]) == ("rita", "ruth")

    def test_same_reviewer_in_api_and_back_office_is_counted_once_under_four_eyes(self, application):
        rita = staff_of("Reviewer", username="rita")
        send_form(backoffice_client(rita), move_of(application, "approved"))
        assert decide(rita, application).json()["pending_decision"]["proposed_by"] == str(rita.pk)
        assert state(application) == ("under_review", 0)


class TestSecondFactor:
    """If staff require a second factor, a password or a key alone can't decide."""

    @pytest.fixture(autouse=True)
    def _required(self, settings):
        settings.BACKOFFICE_SECOND_FACTOR = True

    @pytest.fixture
    def member_of_staff(self, db):
        return reviewer(username="sue", is_staff=True)

    def log_in(self, person, **members):
        """Return the tokens of a log-in."""
        body = {"username": person.username, "password": PASSWORD, **members}
        return ApiClient().send("/auth/token", body).json()

    def test_decision_with_a_password_or_key_without_second_factor_is_rejected(
        self, application, member_of_staff, first
    ):
        by_password = ApiClient(bearer=self.log_in(member_of_staff)["access_token"])
        by_key = ApiClient(api_key=issue(member_of_staff).key)
        for client in (by_password, by_key, client_of(first)):
            assert_error(decide(client, application), 403, "E2012")
            assert_error(decide(client, application, "pending_documents"), 403, "E2012")
            path = f"/applications/{application.pk}/pending-decision"
            assert_error(client.remove(path), 403, "E2012")
            assert_error(client.read(f"/applications/{application.pk}"), 403, "E2012")
        assert state(application) == ("under_review", 0)
        assert not Proposal.objects.exists()

    def test_tokens_of_a_second_factor_log_in_can_decide_applications_also_after_a_refresh(
        self, application, member_of_staff
    ):
        authenticator_of(member_of_staff)
        pair = self.log_in(member_of_staff, otp=code_of())
        for _ in range(2):
            client = ApiClient(bearer=pair["access_token"])
            assert decide(client, application).json()["pending_decision"]["proposed_by"] == str(member_of_staff.pk)
            pair = client.send("/auth/refresh", {"refresh_token": pair["refresh_token"]}).json()

    def test_reviewer_without_second_factor_cannot_decide_their_own_application(self, application, user, settings):
        """Reading their own application needs no second factor."""
        settings.REVIEW_POLICY = "reviewed"
        user.groups.add(Group.objects.get(name="Reviewer"))
        assert client_of(user).read(f"/applications/{application.pk}").status_code == 200
        assert_error(decide(user, application), 403, "E2012")
        assert state(application) == ("under_review", 0)
        draft = ApplicationFactory(consumer=user)
        assert decide(user, draft, "submitted").status_code == 200

    def test_reviewer_without_a_second_factor_cannot_decide_a_claim(self, member_of_staff):
        claim = ClaimFactory(status="pending", visibility="shared")
        body = {"status": "approved", "updated_by": "sue"}
        answer = client_of(member_of_staff).replace(f"/claims/{claim.pk}/status", body)
        assert_error(answer, 403, "E2012")


def disable(person, _member):
    person.is_active = False
    person.save(update_fields=["is_active"])


def disable_without_signal(person, _member):
    type(person).objects.filter(pk=person.pk).update(is_active=False)


def leave_group(person, _member):
    person.groups.clear()


def empty_group(person, _member):
    Group.objects.get(name="Reviewer").user_set.remove(person)


def remove_member(person, member):
    path = f"/providers/{member.provider_id}/members/{person.pk}"
    assert client_of(member.provider.owner).remove(path).status_code == 200


def demote_member(person, member):
    path = f"/providers/{member.provider_id}/members/{person.pk}"
    assert client_of(member.provider.owner).replace(path, {"role": "reader"}).status_code == 200


class TestProposerWithoutReviewPermission:
    @pytest.fixture
    def proposer(self, application, request):
        if request.node.callspec.params["lose"] in {leave_group, empty_group}:
            return reviewer(username="pia"), None
        provider = ProviderFactory(id=str(application.provider_id), created_at=application.created_at)
        member = ProviderMember.objects.create(provider=provider, user=UserFactory(username="pia"), role="reviewer")
        return member.user, member

    @pytest.mark.parametrize(
        "lose", [disable, disable_without_signal, leave_group, empty_group, remove_member, demote_member]
    )
    def test_proposal_is_void_after_the_proposer_loses_the_reviewer_role(self, application, proposer, second, lose):
        person, member = proposer
        assert decide(person, application).json()["pending_decision"]["proposed_by"] == str(person.pk)
        lose(person, member)
        proposal = Proposal.objects.get()
        assert proposal.outcome == ("" if lose is disable_without_signal else "void")
        assert "pending_decision" not in client_of(second).read(f"/applications/{application.pk}").json()
        answer = decide(second, application).json()
        assert (answer["status"], answer["pending_decision"]["proposed_by"]) == ("under_review", str(second.pk))
        assert sorted(Proposal.objects.values_list("outcome", flat=True)) == ["", "void"]

    def test_proposal_remains_valid_if_another_reviewer_loses_the_role(self, application, first, second):
        decide(first, application)
        disable(reviewer(username="gone"), None)
        second.groups.add(Group.objects.get(name="Support"))
        second.groups.remove(Group.objects.get(name="Support"))
        assert decide(second, application).json()["status"] == "approved"

    def test_console_rejects_confirmation_of_a_proposal_by_a_disabled_account(self, application, first):
        decide(first, application)
        disable_without_signal(first, None)
        client = backoffice_client(staff_of("Reviewer", username="ruth"))
        assert "the proposal is void" in text_of(confirm(client, end_of(Proposal.objects.get(), "confirm")))
        assert state(application) == ("under_review", 0)


def decide_at_once(clients, application):
    return run_concurrently(*[lambda item=client: decide(item, application) for client in clients])


def warm(people):
    """Return an authenticated client for each account: the tests are about the time after authentication."""
    clients = [client_of(person) for person in people]
    for client in clients:
        client.read("/auth/me")
    return clients


@pytest.mark.usefixtures("committed", "needs_postgresql")
class TestRaces:
    def test_concurrent_proposal_confirmations_create_only_one_decision(self):
        application = ApplicationFactory(status="under_review")
        first, *others = warm([reviewer() for _ in range(5)])
        decide(first, application)
        answers = decide_at_once(others, application)
        assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
        assert state(application) == ("approved", 1)
        assert [proposal.outcome for proposal in Proposal.objects.all()] == ["confirmed"]

    def test_concurrent_decisions_of_two_reviewers_create_one_proposal_and_one_decision(self):
        application = ApplicationFactory(status="under_review")
        answers = decide_at_once(warm([reviewer(), reviewer()]), application)
        assert sorted(answer.json()["status"] for answer in answers) == ["approved", "under_review"]
        assert state(application) == ("approved", 1)

    def test_concurrent_requests_of_the_same_reviewer_create_only_one_proposal(self):
        application, person = ApplicationFactory(status="under_review"), reviewer()
        answers = decide_at_once(warm([person] * 4), application)
        assert [answer.status_code for answer in answers] == [200] * 4
        assert state(application) == ("under_review", 0)
        assert Proposal.objects.count() == 1


def test_four_eyes_decision_executes_at_most_14_sql_statements(api, user, settings, django_assert_max_num_queries):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    settings.REVIEW_POLICY = "open"
    application = ApplicationFactory(consumer=user, status="under_review")
    api.read("/auth/me")
    record_keys.key_at(timezone.now())  # This decision creates the first key.
    # A decision without an Idempotency-Key executes at most 14 statements: transaction, application, update, history,
    # signing key, anchor, notices, due date, its clock, notice, review request, event, recipient, and end.
    with django_assert_max_num_queries(14):
        assert decide(api, application).status_code == 200
    assert Application.objects.get().status == "approved"

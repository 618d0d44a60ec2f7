"""PUT /v1/applications/{id}/status: the state table, the review policies, and what a move writes."""

import uuid

import pytest
from django.contrib.auth.models import Group

from config.core.lifecycle import Role
from config.webhooks.models import Event
from credit.machine import MACHINE
from credit.models import Application, ApplicationHistory, ProviderMember
from tests.api import ApiClient, assert_error, client_of
from tests.credit.support import BECAUSE, EVERY_MOVE, STATUSES, TABLE, requestable
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db


def move(api, application, to, *, by="me", key=None, **members):
    """Ask for a move."""
    return api.replace(f"/applications/{application.id}/status", {"status": to, "updated_by": by, **members}, key=key)


@pytest.fixture
def reviewer(db):
    """Somebody with the permission to review."""
    made = UserFactory()
    made.groups.add(Group.objects.get(name="Reviewer"))
    return made


@pytest.fixture
def member(db):
    """A member of the provider that the factory's applications name."""
    made = UserFactory()
    ProviderMember.objects.create(provider=ProviderFactory(id="700"), user=made)
    return made


def test_the_table_in_the_code_is_the_table_of_the_decisions():
    assert MACHINE.statuses == STATUSES
    declared = {(start, to): role for start in MACHINE.statuses for to, role in MACHINE.moves_from(start).items()}
    assert declared == TABLE


class TestOpen:
    @pytest.mark.parametrize(("start", "to"), EVERY_MOVE)
    def test_every_pair_of_statuses(self, api, user, start, to):
        application = ApplicationFactory(consumer=user, status=start)
        response = move(api, application, to)
        role = TABLE.get((start, to))
        if role is None or role is Role.SYSTEM:
            body = assert_error(response, 400, "E3001")
            assert set(body["details"]["allowed"]) == requestable(start)
            assert (body["details"]["from"], body["details"]["to"]) == (start, to)
            application.refresh_from_db()
            assert (application.status, application.moves) == (start, 0)
            assert ApplicationHistory.objects.count() == Event.objects.count() == 0
        else:
            assert (response.status_code, response.json()["status"]) == (200, to)
            assert ApplicationHistory.objects.get().status == to

    def test_a_consumer_walks_to_a_decision(self, api, user):
        application = ApplicationFactory(consumer=user)
        for to in ("submitted", "under_review", "approved"):
            assert move(api, application, to).status_code == 200

    def test_a_reviewer_moves_what_they_see(self, reviewer, user):
        application = ApplicationFactory(consumer=user, status="submitted")
        assert move(client_of(reviewer), application, "under_review").status_code == 200


class TestReviewed:
    """Reviewer moves belong to reviewers, owner moves to the consumer."""

    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.REVIEW_POLICY = "reviewed"

    @pytest.mark.parametrize(("start", "to"), sorted(TABLE))
    @pytest.mark.parametrize("who", ["consumer", "reviewer", "member", "stranger"])
    def test_every_move_by_everybody(self, user, stranger, reviewer, member, start, to, who):
        application = ApplicationFactory(consumer=user, status=start, data_changed_by=user)
        caller = {"consumer": user, "reviewer": reviewer, "member": member, "stranger": stranger}[who]
        response = move(client_of(caller), application, to, metadata=BECAUSE)
        role = TABLE[start, to]
        if who == "stranger" or (who != "consumer" and start == "draft"):
            assert_error(response, 404, "E4002")
        elif role is Role.SYSTEM:
            assert_error(response, 400, "E3001")
        elif role is Role.EITHER or (role is Role.OWNER) == (who == "consumer"):
            assert response.status_code == 200
        else:
            assert_error(response, 403, "E2010")
            application.refresh_from_db()
            assert application.status == start

    def test_a_consumer_who_is_a_reviewer_may_review_their_own(self, reviewer):
        application = ApplicationFactory(consumer=reviewer, status="submitted")
        assert move(client_of(reviewer), application, "under_review").status_code == 200

    def test_a_refusal_for_want_of_a_reviewer_is_not_kept(self, api, user, key):
        application = ApplicationFactory(consumer=user, status="submitted")
        assert_error(move(api, application, "under_review", key=key), 403, "E2010")
        user.groups.add(Group.objects.get(name="Reviewer"))
        from identity.access.authentication import forget_credentials

        forget_credentials()
        assert move(api, application, "under_review", key=key).status_code == 200


class TestFourEyes:
    """Besides: nobody reviews their own, and who changed the data last does not decide."""

    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.REVIEW_POLICY = "four_eyes"

    @pytest.mark.parametrize(("start", "to"), sorted(TABLE))
    def test_a_reviewing_consumer_makes_only_the_consumers_moves(self, reviewer, start, to):
        application = ApplicationFactory(consumer=reviewer, status=start)
        response = move(client_of(reviewer), application, to)
        role = TABLE[start, to]
        if role is Role.SYSTEM:
            assert_error(response, 400, "E3001")
        elif role is Role.REVIEWER:
            assert_error(response, 403, "E2010")
        else:
            assert response.status_code == 200

    @pytest.mark.parametrize(("start", "to"), sorted(TABLE))
    def test_who_changed_the_data_last_decides_nothing(self, user, reviewer, start, to):
        application = ApplicationFactory(consumer=user, status=start, data_changed_by=reviewer)
        if start == "draft":
            return
        response = move(client_of(reviewer), application, to)
        role = TABLE[start, to]
        if role is Role.SYSTEM:
            assert_error(response, 400, "E3001")
        elif role is Role.OWNER or to in {"approved", "rejected"}:
            assert_error(response, 403, "E2010")
        else:
            assert response.status_code == 200

    def test_two_people_come_to_a_decision(self, user, api, reviewer, member):
        application = ApplicationFactory(consumer=user, data_changed_by=user)
        assert move(api, application, "submitted").status_code == 200
        assert move(client_of(member), application, "under_review").status_code == 200
        assert move(client_of(reviewer), application, "approved").json()["status"] == "under_review"
        assert move(client_of(member), application, "approved").json()["status"] == "approved"


class TestWhatAMoveWrites:
    def test_submitting_pins_the_offer(self, api, user):
        offer = OfferFactory(version=3, apr_max_percent=9.5)
        application = ApplicationFactory(consumer=user, offer_id=offer.pk, provider_id=int(offer.provider_id))
        shown = move(api, application, "submitted").json()
        application.refresh_from_db()
        assert shown["submitted_at"] == shown["updated_at"]
        assert application.offer_version == 3
        assert application.offer_snapshot["apr_max_percent"] == 9.5
        api_of_owner = client_of(offer.owner)
        terms = {"provider_id": offer.provider_id, "name": "B", "product_type": "x"}
        assert api_of_owner.replace(f"/provider-offers/{offer.pk}", terms).json()["version"] == 4
        application.refresh_from_db()
        assert application.offer_version == 3

    @pytest.mark.parametrize("decision", ["approved", "rejected"])
    def test_a_decision_says_who_and_when(self, api, user, decision):
        application = ApplicationFactory(consumer=user, status="under_review")
        shown = move(api, application, decision, by="Dr. R", reason="because").json()
        assert (shown["reviewed_by"], shown["status_reason"]) == ("Dr. R", "because")
        assert shown["reviewed_at"] == shown["updated_at"]

    def test_a_later_move_takes_the_reason_with_it(self, api, user):
        application = ApplicationFactory(consumer=user, status="under_review")
        move(api, application, "rejected", reason="because")
        shown = move(api, application, "under_review").json()
        assert shown["status_reason"] is None
        assert shown["reviewed_by"] == "me"

    def test_submitted_at_is_the_first_time(self, api, user):
        application = ApplicationFactory(consumer=user)
        first = move(api, application, "submitted").json()["submitted_at"]
        for to in ("pending_documents", "under_review", "approved"):
            assert move(api, application, to).json()["submitted_at"] == first

    def test_the_wire_name_and_the_principal_are_both_kept(self, user, stranger):
        issued = issue(user)
        application = ApplicationFactory(consumer=user)
        api = ApiClient(api_key=issued.key)
        response = move(api, application, "submitted", by=str(stranger.pk), metadata={"k": [1]}, reason="r")
        assert response.status_code == 200
        row = ApplicationHistory.objects.get()
        assert (row.changed_by, row.principal) == (str(stranger.pk), user)
        assert row.credential == f"api_key:{issued.record.pk}"
        assert (row.metadata, row.reason, row.position) == ({"k": [1]}, "r", 1)
        assert (row.previous_status, row.status) == ("draft", "submitted")

    def test_it_is_an_event_of_the_consumer(self, user, reviewer):
        application = ApplicationFactory(consumer=user, status="submitted")
        move(client_of(reviewer), application, "under_review", reason="private words")
        event = Event.objects.get()
        assert (event.type, event.account) == ("application.under_review", user)
        assert event.object["status"] == "under_review"
        assert "private" not in str(event.object)


class TestRefused:
    @pytest.fixture
    def application(self, user):
        return ApplicationFactory(consumer=user, status="under_review")

    def test_nobody_and_strangers(self, anonymous, stranger_api, application):
        assert_error(move(anonymous, application, "approved"), 401, "E2001")
        assert_error(move(stranger_api, application, "approved"), 404, "E4002")

    def test_a_limited_key(self, user, application):
        api = ApiClient(api_key=issue(user, scopes=["offers:read"]).key)
        assert_error(move(api, application, "approved"), 403, "E2005")

    @pytest.mark.parametrize(
        "status", ["APPROVED", " approved", "approved ", "", "bogus", None, 5, True, ["approved"], {}]
    )
    def test_a_status_that_is_none(self, api, application, status):
        assert_error(move(api, application, status), 400, "E1004")

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, "E1004"),
            ({"updated_by": "me"}, "E1004"),
            ({"status": "approved"}, "E1001"),
            ({"status": "approved", "updated_by": None}, "E1001"),
            ({"status": "approved", "updated_by": ""}, "E1001"),
            ({"status": "approved", "updated_by": "x" * 256}, "E1001"),
            ({"status": "approved", "updated_by": "me", "reason": 5}, "E1001"),
            ({"status": "approved", "updated_by": "me", "reason": "x" * 10_001}, "E1001"),
        ],
    )
    def test_a_body_of_another_shape(self, api, application, body, code):
        response = api.replace(f"/applications/{application.id}/status", body)
        assert response.status_code == 400
        assert response.json()["code"] in {code, "E1001"}
        application.refresh_from_db()
        assert application.status == "under_review"

    def test_an_unknown_application(self, api):
        response = api.replace(f"/applications/{uuid.uuid4()}/status", {"status": "approved", "updated_by": "me"})
        assert_error(response, 404, "E4002")

    @pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
    def test_other_methods(self, api, application, method):
        assert_error(api.call(method, f"/applications/{application.id}/status", {}), 405, "E4050")


def test_a_replay_is_the_same_bytes_and_one_row(api, user, key):
    application = ApplicationFactory(consumer=user)
    first, second = (move(api, application, "submitted", key=key) for _ in range(2))
    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert ApplicationHistory.objects.count() == 1


def test_a_refused_move_is_replayed_even_when_it_would_be_allowed_now(api, user, key):
    application = ApplicationFactory(consumer=user)
    first = move(api, application, "approved", key=key)
    assert_error(first, 400, "E3001")
    Application.objects.update(status="under_review")
    second = move(api, application, "approved", key=key)
    assert (second.status_code, second.content) == (400, first.content)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.headers["X-Request-Id"] != second.json()["request_id"]


def test_a_move_costs_a_fixed_number_of_statements(api, user, settings, django_assert_max_num_queries):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    settings.REVIEW_POLICY = "open"
    application = ApplicationFactory(consumer=user, status="under_review")
    move(api, application, "pending_documents", key=True)
    # Ten: transaction, lock, key, application, update, history, event and its number, answer, end.
    with django_assert_max_num_queries(10) as captured:
        assert move(api, application, "under_review", key=True).status_code == 200
    assert sum("credit_application" in query["sql"] for query in captured.captured_queries) == 3

"""POST /v1/applications: applying to an offer."""

import re
import uuid

import pytest

from config.webhooks.models import Event
from credit.models import Application, ApplicationHistory
from tests.api import ApiClient, assert_error
from tests.factories import OfferFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
PATH = "/applications"
MEMBERS = {
    "id", "consumer_id", "offer_id", "provider_id", "status", "created_at", "updated_at", "application_data", "notes",
    "reviewed_at", "reviewed_by", "status_reason", "submitted_at",
}  # fmt: skip
STATUSES = [
    "draft", "submitted", "under_review", "pending_documents", "approved", "rejected", "withdrawn", "expired",
]  # fmt: skip


@pytest.fixture
def body(user):
    """A body that is accepted."""
    return {"consumer_id": str(user.pk), "offer_id": 7_000, "provider_id": 8_000}


def test_it_makes_a_draft(api, user, body):
    response = api.send(PATH, {**body, "application_data": {"income_cents": 1}})
    assert response.status_code == 201
    made = response.json()
    assert set(made) == MEMBERS
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made["id"])
    assert (made["consumer_id"], made["offer_id"], made["provider_id"]) == (str(user.pk), 7_000, 8_000)
    assert (made["status"], made["application_data"]) == ("draft", {"income_cents": 1})
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", made["created_at"])
    assert made["created_at"] == made["updated_at"]
    for name in ("notes", "reviewed_at", "reviewed_by", "status_reason", "submitted_at"):
        assert made[name] is None
    assert api.read(f"{PATH}/{made['id']}").content == response.content
    assert Application.objects.get().consumer_id == user.pk


def test_it_writes_no_history_and_one_event(api, user, body):
    made = api.send(PATH, body).json()
    assert ApplicationHistory.objects.count() == 0
    event = Event.objects.get()
    assert (event.type, event.account_id) == ("application.created", user.pk)
    assert event.object == {"application_id": made["id"], "status": "draft", "offer_id": 7_000, "provider_id": 8_000}


def test_nobody_cannot_apply(anonymous, body):
    assert_error(anonymous.send(PATH, body), 401, "E2001")
    assert Application.objects.count() == 0


@pytest.mark.parametrize("other", ["0", "999999", "abc", "0{}", " {}", "{} "])
def test_nobody_applies_for_somebody_else(api, user, body, other):
    assert_error(api.send(PATH, {**body, "consumer_id": other.format(user.pk)}), 401, "E2004")
    assert Application.objects.count() == 0


def test_the_member_that_names_somebody_else_is_named(api, body):
    answer = assert_error(api.send(PATH, {**body, "consumer_id": "0"}), 401, "E2004")
    assert "consumer_id" in answer["message"]
    assert answer["details"][0]["field"] == "consumer_id"


@pytest.mark.parametrize("scopes", [[], ["offers:read", "offers:write", "applications:read"]])
def test_a_limited_key_cannot_apply(user, body, scopes):
    assert_error(ApiClient(api_key=issue(user, scopes=scopes).key).send(PATH, body), 403, "E2005")


@pytest.mark.parametrize("missing", ["consumer_id", "offer_id", "provider_id"])
def test_a_required_member_is_missing(api, body, missing):
    del body[missing]
    answer = assert_error(api.send(PATH, body), 400, "E1001")
    assert answer["details"][0]["field"] == missing


@pytest.mark.parametrize("status", ["bogus", "", "DRAFT", " draft", 5, True, ["draft"]])
def test_an_unknown_initial_status(api, body, status):
    assert_error(api.send(PATH, {**body, "initial_status": status}), 400, "E1004")


@pytest.mark.parametrize("status", STATUSES)
def test_under_open_any_status_may_be_the_first(api, body, settings, status):
    settings.REVIEW_POLICY = "open"
    made = api.send(PATH, {**body, "initial_status": status})
    assert (made.status_code, made.json()["status"]) == (201, status)
    assert Application.objects.get().initial_status == status
    assert ApplicationHistory.objects.count() == 0


@pytest.mark.parametrize("policy", ["reviewed", "four_eyes"])
@pytest.mark.parametrize("status", STATUSES)
def test_under_the_other_policies_only_two_may_be(api, body, settings, policy, status):
    settings.REVIEW_POLICY = policy
    response = api.send(PATH, {**body, "initial_status": status})
    if status in {"draft", "submitted"}:
        assert response.status_code == 201
    else:
        assert_error(response, 400, "E1004")
        assert Application.objects.count() == 0


def test_a_null_initial_status_is_a_draft(api, body):
    assert api.send(PATH, {**body, "initial_status": None}).json()["status"] == "draft"


def test_server_owned_members_are_ignored(api, body, stranger):
    sent = {
        "id": str(uuid.uuid4()), "status": "approved", "created_at": "2000-01-01T00:00:00Z", "reviewed_by": "me",
        "reviewed_at": "2000-01-01T00:00:00Z", "status_reason": "because", "submitted_at": "2000-01-01T00:00:00Z",
        "notes": "mine", "consumer": stranger.pk, "moves": 9,
    }  # fmt: skip
    made = api.send(PATH, {**body, **sent}).json()
    assert made["status"] == "draft"
    for name in ("id", "created_at"):
        assert made[name] != sent[name]
    for name in ("reviewed_by", "reviewed_at", "status_reason", "submitted_at", "notes"):
        assert made[name] is None


class TestOffers:
    def test_an_active_listed_offer_is_applied_to(self, api, body):
        offer = OfferFactory()
        assert api.send(PATH, {**body, "offer_id": offer.pk, "provider_id": int(offer.provider_id)}).status_code == 201

    def test_an_inactive_listed_offer_is_not(self, api, body):
        offer = OfferFactory(is_active=False)
        answer = api.send(PATH, {**body, "offer_id": offer.pk, "provider_id": int(offer.provider_id)})
        assert_error(answer, 400, "E1011")

    def test_an_unlisted_offer_belongs_to_another_marketplace(self, api, body, settings):
        assert api.send(PATH, body).status_code == 201
        settings.REQUIRE_LISTED_OFFERS = True
        assert_error(api.send(PATH, body), 400, "E1011")

    @pytest.mark.parametrize("policy", ["reviewed", "four_eyes"])
    def test_where_providers_review_the_provider_must_be_the_offers_own(self, api, body, settings, policy):
        settings.REVIEW_POLICY = policy
        offer = OfferFactory()
        assert_error(api.send(PATH, {**body, "offer_id": offer.pk, "provider_id": 1}), 400, "E1011")

    def test_a_draft_pins_nothing_and_a_submission_pins_the_terms(self, api, body):
        offer = OfferFactory(apr_min_percent=3.5, version=4, term_options_months=[12, 24])
        body |= {"offer_id": offer.pk, "provider_id": int(offer.provider_id)}
        api.send(PATH, body)
        draft = Application.objects.get()
        assert (draft.offer_version, draft.offer_snapshot, draft.submitted_at) == (None, None, None)
        made = api.send(PATH, {**body, "initial_status": "submitted"}).json()
        submitted = Application.objects.get(pk=made["id"])
        assert made["submitted_at"] == made["created_at"]
        assert submitted.offer_version == 4
        assert submitted.offer_snapshot["apr_min_percent"] == 3.5
        assert submitted.offer_snapshot["term_options_months"] == [12, 24]


def test_a_replay_is_the_same_bytes_and_one_row(api, body, key):
    first, second = api.send(PATH, body, key=key), api.send(PATH, body, key=key)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Application.objects.count() == Event.objects.count() == 1


def test_creating_with_a_key_costs_a_fixed_number_of_statements(
    api, body, settings, django_assert_max_num_queries, django_assert_num_queries
):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    api.send(PATH, body, key=True)
    from django.db import connection

    # savepoint, (lock), look-up of the key, offer, application, event, stored answer, release
    expected = 8 if connection.vendor == "postgresql" else 7
    with django_assert_max_num_queries(expected + 1) as context:
        assert api.send(PATH, body, key=True).status_code == 201
    inserts = [query["sql"] for query in context.captured_queries if query["sql"].startswith("INSERT")]
    assert len(inserts) == 3

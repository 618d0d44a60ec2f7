"""Test POST /v1/applications."""

import json
import re
from hashlib import sha256

import pytest
import rfc8785

from config.webhooks.models import Event
from credit.models import Application, ApplicationHistory, DecisionAnchor
from tests.api import assert_error
from tests.credit.scoring.bundles import fields_of_anchor
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
PATH = "/applications"
MEMBERS = {
    "id", "consumer_id", "offer_id", "provider_id", "status", "created_at", "updated_at", "application_data",
    "applicants", "notes",
    "reviewed_at", "reviewed_by", "share", "status_reason", "submitted_at",
}  # fmt: skip
STATUSES = [
    "draft", "submitted", "under_review", "pending_documents", "approved", "rejected", "withdrawn", "expired",
]  # fmt: skip


@pytest.fixture
def body(user):
    """Return a valid body."""
    return {"consumer_id": str(user.pk), "offer_id": 7_000, "provider_id": 8_000}


def test_creating_an_application_returns_a_draft(api, user, body):
    response = api.send(PATH, {**body, "application_data": {"income_cents": 1}})
    assert response.status_code == 201
    created = response.json()
    assert set(created) == MEMBERS
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", created["id"])
    assert (created["consumer_id"], created["offer_id"], created["provider_id"]) == (str(user.pk), 7_000, 8_000)
    assert (created["status"], created["application_data"]) == ("draft", {"income_cents": 1})
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", created["created_at"])
    assert created["created_at"] == created["updated_at"]
    for name in ("notes", "reviewed_at", "reviewed_by", "status_reason", "submitted_at"):
        assert created[name] is None
    assert api.read(f"{PATH}/{created['id']}").content == response.content
    assert Application.objects.get().consumer_id == user.pk


def test_creating_an_application_emits_one_event_and_no_history(api, user, body):
    created = api.send(PATH, body).json()
    assert ApplicationHistory.objects.count() == 0
    event = Event.objects.get()
    assert (event.type, event.account_id) == ("application.created", user.pk)
    assert event.object == {"application_id": created["id"], "status": "draft", "offer_id": 7_000, "provider_id": 8_000}


@pytest.mark.parametrize("status", STATUSES)
def test_application_can_be_created_in_any_status_under_the_open_policy(api, body, settings, status):
    settings.REVIEW_POLICY = "open"
    response = api.send(PATH, {**body, "initial_status": status})
    assert (response.status_code, response.json()["status"]) == (201, status)
    assert Application.objects.get().initial_status == status
    assert ApplicationHistory.objects.count() == 0
    event = Event.objects.get()  # the applicant's account has no `application.submitted`
    assert (event.type, event.object["status"]) == ("application.created", status)


@pytest.mark.parametrize("policy", ["reviewed", "four_eyes"])
def test_application_can_be_created_only_as_draft_or_submitted_under_review_policies(api, body, settings, policy):
    settings.REVIEW_POLICY = policy
    for status in STATUSES:
        response = api.send(PATH, {**body, "initial_status": status})
        if status in {"draft", "submitted"}:
            assert response.status_code == 201
        else:
            assert_error(response, 400, "E1004")
    assert Application.objects.count() == 2


def test_application_with_a_null_initial_status_is_created_as_draft(api, body):
    assert api.send(PATH, {**body, "initial_status": None}).json()["status"] == "draft"


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        (2**53, ""), (-(2**53), ""), ({"a": 2**63 - 1}, "/a"), ({"a": [1, {"b/c": 2**53 + 1}]}, "/a/1/b~1c"),
        ({"~": [-(2**63)]}, "/~0/0"),
    ],
)  # fmt: skip
def test_integer_beyond_2_to_the_53_in_application_data_is_rejected(api, body, data, pointer):
    refused = assert_error(api.send(PATH, {**body, "application_data": data}), 400, "E1001")
    message = f"The integer at {pointer} must be between -9007199254740991 and 9007199254740991. "
    assert refused["details"] == [{"field": "application_data", "message": f"{message}Send a larger one as a string."}]


@pytest.mark.parametrize("data", [2**53 - 1, {"a": [1 - 2**53, 1e300, "9007199254740993", 1e16, True, 0.1]}])
def test_exact_numbers_in_application_data_are_stored_unchanged(api, body, data):
    response = api.send(PATH, {**body, "application_data": data})
    assert (response.status_code, response.json()["application_data"]) == (201, data)


@pytest.mark.parametrize("number", [7_000, 2**53 - 1, 2**53, 2**63 - 1])
def test_decision_record_is_rfc_8785_json_with_exact_ids(api, body, number):
    body |= {"offer_id": number, "provider_id": number, "initial_status": "under_review"}
    created = api.send(PATH, {**body, "application_data": {"\ufb33": 9.0, "😀": 1e-7}}).json()
    assert api.replace(f"{PATH}/{created['id']}/status", {"status": "approved", "updated_by": "me"}).status_code == 200
    anchor = DecisionAnchor.objects.get()
    for text in (anchor.record, anchor.openings):
        assert text.encode() == rfc8785.dumps(json.loads(text))
    messages = fields_of_anchor(anchor)
    assert {str(messages["offer_id"]), str(messages["provider_id"])} == {str(number)}
    data = b'{"\xf0\x9f\x98\x80":1e-7,"\xef\xac\xb3":9}'
    assert messages["application_data_sha256"] == sha256(data).hexdigest()


class TestOffers:
    def test_application_to_an_active_listed_offer_is_created(self, api, body):
        offer = OfferFactory()
        assert api.send(PATH, {**body, "offer_id": offer.pk, "provider_id": int(offer.provider_id)}).status_code == 201

    def test_application_to_an_inactive_listed_offer_is_rejected(self, api, body):
        offer = OfferFactory(is_active=False)
        answer = api.send(PATH, {**body, "offer_id": offer.pk, "provider_id": int(offer.provider_id)})
        assert_error(answer, 400, "E1011")

    def test_unlisted_offer_is_accepted_unless_listed_offers_are_required(self, api, body, settings):
        assert api.send(PATH, body).status_code == 201
        settings.REQUIRE_LISTED_OFFERS = True
        assert_error(api.send(PATH, body), 400, "E1011")

    @pytest.mark.parametrize(
        ("figure", "why"),
        [
            ({"amount_cents": "500000"}, "Must be a whole number that isn't negative."),
            ({"amount_cents": 500000.5}, "Must be a whole number that isn't negative."),
            ({"amount_cents": -1}, "Must be a whole number that isn't negative."),
            ({"amount_cents": None}, "Must be a whole number that isn't negative."),
            ({"amount_cents": 99_999}, "The offer lends $1,000.00 or more."),
            ({"amount_cents": 900_001}, "The offer lends $9,000.00 or less."),
            ({"term_months": 13}, "The offer's terms are 12, 24 months."),
        ],
    )
    def test_application_outside_of_the_offers_limits_cannot_be_submitted(self, api, body, settings, figure, why):
        settings.REQUIRE_LISTED_OFFERS = True
        limits = {"loan_amount_min_cents": 100_000, "loan_amount_max_cents": 900_000, "term_options_months": [12, 24]}
        offer = OfferFactory(**limits)
        body |= {"offer_id": offer.pk, "provider_id": int(offer.provider_id)}
        refused = {**body, "initial_status": "submitted", "application_data": figure}
        error = assert_error(api.send(PATH, refused), 400, "E1020")
        assert error["details"] == [{"field": f"/application_data/{next(iter(figure))}", "message": why}]
        draft = api.send(PATH, {**body, "application_data": figure}).json()["id"]
        due = api.read(f"{PATH}/{draft}/requirements").json()["currently_due"]
        assert [item["why"] for item in due] == [why]
        settings.REQUIRE_LISTED_OFFERS = False
        assert api.send(PATH, refused).status_code == 201

    @pytest.mark.parametrize("policy", ["reviewed", "four_eyes"])
    def test_offer_of_another_lender_is_rejected_under_the_lender_review_policy(self, api, body, settings, policy):
        settings.REVIEW_POLICY = policy
        offer = OfferFactory()
        assert_error(api.send(PATH, {**body, "offer_id": offer.pk, "provider_id": 1}), 400, "E1011")

    def test_draft_pins_no_offer_terms_and_submission_pins_them(self, api, body):
        offer = OfferFactory(apr_min_percent=3.5, version=4, term_options_months=[12, 24])
        body |= {"offer_id": offer.pk, "provider_id": int(offer.provider_id)}
        api.send(PATH, body)
        draft = Application.objects.get()
        assert (draft.offer_version, draft.offer_snapshot, draft.submitted_at) == (None, None, None)
        created = api.send(PATH, {**body, "initial_status": "submitted"}).json()
        submitted = Application.objects.get(pk=created["id"])
        assert created["submitted_at"] == created["created_at"]
        assert submitted.offer_version == 4
        assert submitted.offer_snapshot["apr_min_percent"] == 3.5
        assert submitted.offer_snapshot["term_options_months"] == [12, 24]

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
from tests.credit.support import STATUSES
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
PATH = "/applications"


@pytest.fixture
def body(user):
    """Return a valid body."""
    return {"consumer_id": str(user.pk), "offer_id": 7_000, "provider_id": 8_000}


@pytest.mark.parametrize("nulls", [{}, {"initial_status": None}])
def test_creating_an_application_returns_a_draft(api, user, body, nulls):
    response = api.send(PATH, {**body, **nulls, "application_data": {"income_cents": 1}})
    assert response.status_code == 201
    created = response.json()
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", created["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", created["created_at"])
    unset = ("applicants", "notes", "reviewed_at", "reviewed_by", "status_reason", "submitted_at")
    assert created == {
        **body, **dict.fromkeys(unset), "id": created["id"], "status": "draft", "share": [],
        "application_data": {"income_cents": 1}, "created_at": created["updated_at"],
        "updated_at": created["updated_at"],
    }  # fmt: skip
    assert api.read(f"{PATH}/{created['id']}").content == response.content
    assert Application.objects.get().consumer_id == user.pk
    assert ApplicationHistory.objects.count() == 0
    event = Event.objects.get()
    assert (event.type, event.account_id) == ("application.created", user.pk)
    assert event.object == {"application_id": created["id"], "status": "draft", "offer_id": 7_000, "provider_id": 8_000}


@pytest.mark.parametrize("policy", ["open", "reviewed", "four_eyes"])
def test_application_can_be_created_with_a_decided_status_only_under_the_open_policy(api, body, settings, policy):
    settings.REVIEW_POLICY = policy
    for status in STATUSES:
        response = api.send(PATH, {**body, "initial_status": status})
        if policy != "open" and status not in {"draft", "submitted"}:
            assert_error(response, 400, "E1004")
            continue
        assert (response.status_code, response.json()["status"]) == (201, status)
        assert Application.objects.get(pk=response.json()["id"]).initial_status == status
        event = Event.objects.latest("id")  # the applicant's account has no `application.submitted`
        assert (event.type, event.object["status"]) == ("application.created", status)
    assert Application.objects.count() == Event.objects.count() == (8 if policy == "open" else 2)
    assert ApplicationHistory.objects.count() == 0


def test_integer_beyond_2_to_the_53_in_application_data_is_rejected(api, body):
    for data, pointer in (
        (2**53, ""), (-(2**53), ""), ({"a": 2**63 - 1}, "/a"), ({"a": [1, {"b/c": 2**53 + 1}]}, "/a/1/b~1c"),
        ({"~": [-(2**63)]}, "/~0/0"),
    ):  # fmt: skip
        refused = assert_error(api.send(PATH, {**body, "application_data": data}), 400, "E1001")
        bounds = "must be between -9007199254740991 and 9007199254740991. Send a larger integer as a string."
        assert refused["details"] == [{"field": "application_data", "message": f"The integer at {pointer} {bounds}"}]


def test_exact_numbers_in_application_data_are_stored_unchanged(api, body):
    for data in (2**53 - 1, {"a": [1 - 2**53, 1e300, "9007199254740993", 1e16, True, 0.1]}):
        response = api.send(PATH, {**body, "application_data": data})
        assert (response.status_code, response.json()["application_data"]) == (201, data)


def test_decision_record_is_rfc_8785_json_with_exact_ids(api, body):
    for number in (7_000, 2**53 - 1, 2**53, 2**63 - 1):
        body |= {"offer_id": number, "provider_id": number, "initial_status": "under_review"}
        created = api.send(PATH, {**body, "application_data": {"\ufb33": 9.0, "😀": 1e-7}}).json()
        move = {"status": "approved", "updated_by": "me"}
        assert api.replace(f"{PATH}/{created['id']}/status", move).status_code == 200
        anchor = DecisionAnchor.objects.latest("id")
        for text in (anchor.record, anchor.openings):
            assert text.encode() == rfc8785.dumps(json.loads(text))
        messages = fields_of_anchor(anchor)
        assert {str(messages["offer_id"]), str(messages["provider_id"])} == {str(number)}
        data = b'{"\xf0\x9f\x98\x80":1e-7,"\xef\xac\xb3":9}'
        assert messages["application_data_sha256"] == sha256(data).hexdigest()


class TestOffers:
    def test_application_to_an_unlisted_offer_is_rejected_only_if_listed_offers_are_required(self, api, body, settings):
        for is_active in (True, False):
            offer = OfferFactory(is_active=is_active)
            answer = api.send(PATH, {**body, "offer_id": offer.pk, "provider_id": int(offer.provider_id)})
            assert answer.status_code == 201 if is_active else assert_error(answer, 400, "E1011")
        assert api.send(PATH, body).status_code == 201
        settings.REQUIRE_LISTED_OFFERS = True
        assert_error(api.send(PATH, body), 400, "E1011")

    def test_application_outside_of_the_offers_limits_cannot_be_submitted(self, api, body, settings):
        limits = {"loan_amount_min_cents": 100_000, "loan_amount_max_cents": 900_000, "term_options_months": [12, 24]}
        offer = OfferFactory(**limits)
        body |= {"offer_id": offer.pk, "provider_id": int(offer.provider_id)}
        not_whole = "Must be a whole number above zero."
        for figure, why in (
            ({"amount_cents": "500000"}, not_whole), ({"amount_cents": 500000.5}, not_whole),
            ({"amount_cents": -1}, not_whole), ({"amount_cents": None}, not_whole), ({"amount_cents": 0}, not_whole),
            ({"amount_cents": 99_999}, "The offer lends $1,000.00 or more."),
            ({"amount_cents": 900_001}, "The offer lends $9,000.00 or less."),
            ({"term_months": 13}, "The offer's terms are 12, 24 months."),
        ):  # fmt: skip
            settings.REQUIRE_LISTED_OFFERS = True
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

    def test_offer_terms_are_copied_to_the_application_at_submission_and_not_in_a_draft(self, api, body):
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

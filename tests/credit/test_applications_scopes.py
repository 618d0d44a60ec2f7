"""Test that `applications:read` and `applications:write` cover only own applications, and no decisions."""

import pytest
from django.contrib.auth.models import Group

from config.core.lifecycle import Role
from credit.core.machine import INITIAL_STATUSES, MACHINE
from credit.models import Application
from tests.api import ApiClient, assert_error, client_of
from tests.credit.support import STATUSES, TABLE, app_of, key_of, make_reviewer, move
from tests.factories import ApplicationFactory, OfferFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
PATH = "/applications"
READING, WRITING = "applications:read", "applications:write"
OWN_MOVES = sorted((start, to) for (start, to), role in TABLE.items() if role in {Role.OWNER, Role.EITHER})
REVIEWERS_MOVES = sorted((start, to) for (start, to), role in TABLE.items() if role is Role.REVIEWER)


@pytest.fixture(params=[app_of, key_of])
def limited(request):
    return request.param


@pytest.fixture(params=["open", "reviewed", "four_eyes"])
def any_policy(request, settings):
    settings.REVIEW_POLICY = request.param


@pytest.fixture(params=[("open", app_of), ("reviewed", key_of), ("four_eyes", app_of)])
def limited_under_policy(request, settings):
    settings.REVIEW_POLICY, limited = request.param
    return limited


def apply_body(user, **changes):
    return {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 7, "application_data": {}, **changes}


def test_scoped_credential_can_create_and_read_an_application(user, limited):
    app = limited(user, READING, WRITING)
    response = app.send(PATH, apply_body(user))
    assert response.status_code == 201, response.content
    text = f"{PATH}/{response.json()['id']}"
    assert app.replace(text, {"application_data": {"a": 1}, "updated_by": "app"}).status_code == 200
    assert app.replace(f"{text}/status", {"status": "submitted", "updated_by": "app"}).status_code == 200
    assert [row["id"] for row in app.read(PATH).json()] == [response.json()["id"]]
    for path in (text, f"{text}/history", f"{text}/transitions"):
        assert app.read(path).status_code == 200
    assert_error(app.read(f"{text}/proof"), 404, "E4001")


def test_scoped_key_can_make_every_applicant_transition(user, any_policy):
    key = key_of(user, WRITING)
    for start, to in OWN_MOVES:
        application = ApplicationFactory(consumer=user, status=start)
        assert move(key, application, to).status_code == 200, (start, to)


def test_credential_without_the_write_scope_can_make_no_transition(user, limited_under_policy):
    readers, writers = limited_under_policy(user, READING), limited_under_policy(user, READING, WRITING)
    for start, to in OWN_MOVES:
        path = f"{PATH}/{ApplicationFactory(consumer=user, status=start).pk}/transitions"
        shown = {entry["to"]: entry for entry in readers.read(path).json()["transitions"]}
        assert not any(entry["allowed"] for entry in shown.values())
        assert (shown[to]["code"], WRITING in shown[to]["why"]) == ("E2005", True)
        assert to in {entry["to"] for entry in writers.read(path).json()["transitions"] if entry["allowed"]}


def test_scoped_key_cannot_make_reviewer_transitions(user, any_policy):
    user.groups.add(Group.objects.get(name="Reviewer"))
    key = key_of(user, WRITING)
    for start, to in REVIEWERS_MOVES:
        application = ApplicationFactory(consumer=user, status=start)
        assert "decision" in assert_error(move(key, application, to), 403, "E2005")["message"]
        application.refresh_from_db()
        assert (application.status, application.moves) == (start, 0)


def test_app_cannot_decide_applications_under_any_review_policy(user, any_policy):
    application = ApplicationFactory(consumer=user, status="under_review")
    app = app_of(user, READING, WRITING)
    for to in ("approved", "rejected", "pending_documents"):
        assert_error(move(app, application, to), 403, "E2005")
    shown = app.read(f"{PATH}/{application.id}/transitions").json()["transitions"]
    allowed = {entry["to"] for entry in shown if entry["allowed"]}
    assert allowed == {"withdrawn"}


def test_scoped_credential_cannot_create_a_decided_application(user, limited, settings):
    assert settings.REVIEW_POLICY == "open"
    client = limited(user, WRITING)
    for status in STATUSES:
        answer = client.send(PATH, apply_body(user, initial_status=status))
        if status in INITIAL_STATUSES:
            assert answer.status_code == 201
        else:
            assert_error(answer, 400, "E1004")
    assert Application.objects.count() == len(INITIAL_STATUSES)


def test_scoped_credential_of_a_reviewer_can_read_only_the_reviewers_own_applications(limited_under_policy):
    reviewer = make_reviewer()
    application = ApplicationFactory(status="under_review")
    text = f"{PATH}/{application.id}"
    assert client_of(reviewer).read(text).status_code == 200
    app = limited_under_policy(reviewer, READING, WRITING)
    for path in (text, f"{text}/history", f"{text}/transitions", f"{text}/proof"):
        assert_error(app.read(path), 404, "E4002")
    for to in MACHINE.moves_from("under_review"):
        assert_error(move(app, application, to), 404, "E4002")
    assert_error(app.replace(text, {"notes": "x", "updated_by": "app"}), 404, "E4002")
    assert app.read(PATH).json() == []


def test_scoped_credential_of_a_lender_member_can_read_but_not_decide_applications(limited_under_policy):
    offer = OfferFactory()
    app = limited_under_policy(offer.provider.owner, READING, WRITING)
    for start in STATUSES[1:]:
        application = ApplicationFactory(offer_id=offer.pk, provider_id=int(offer.provider_id), status=start)
        path = f"{PATH}/{application.id}"
        assert app.read(path).status_code == 200
        for to in STATUSES:
            message = assert_error(move(app, application, to), 403, "E2005")["message"]
            assert message.startswith("No scope allows a decision.")
        assert_error(app.send(f"{path}/counteroffers", {}), 403, "E2005")
        assert_error(app.remove(f"{path}/counteroffers/{application.id}"), 403, "E2005")
        assert_error(app.send(f"{path}/notices/{application.id}/deliveries", {}), 403, "E2005")
        application.refresh_from_db()
        assert (application.status, application.moves) == (start, 0)


def test_unrestricted_key_of_a_reviewer_can_make_reviewer_transitions(any_policy, settings):
    reviewer = make_reviewer()
    application = ApplicationFactory(status="submitted")
    assert move(ApiClient(api_key=issue(reviewer).key), application, "under_review").status_code == 200

"""Test that PUT /v1/applications/{id} replaces data, notes, or both."""

import hashlib
import json

import pytest

from config.webhooks.models import Event
from credit.core.machine import FROZEN, MACHINE
from credit.models import Application, ApplicationHistory, ApplicationRevision
from tests.api import ApiClient, assert_error, client_of
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db


@pytest.fixture
def application(user):
    """Return a draft of `user`."""
    return ApplicationFactory(consumer=user, application_data={"old": 1}, notes="old")


@pytest.fixture
def path(application):
    """Return the path of the draft."""
    return f"/applications/{application.id}"


def test_application_update_replaces_only_the_sent_fields(api, path):
    body = api.replace(path, {"updated_by": "me", "application_data": {"new": 2}}).json()
    assert (body["application_data"], body["notes"]) == ({"new": 2}, "old")
    body = api.replace(path, {"updated_by": "me", "notes": "new"}).json()
    assert (body["application_data"], body["notes"]) == ({"new": 2}, "new")
    body = api.replace(path, {"updated_by": "me", "notes": None, "application_data": None}).json()
    assert (body["application_data"], body["notes"]) == (None, None)
    assert api.read(path).json() == body
    after = api.replace(path, {"updated_by": "me"}).json()
    assert after["updated_at"] > body["updated_at"]
    assert {name for name in after if after[name] != body[name]} == {"updated_at"}
    assert ApplicationHistory.objects.count() == 0


def test_application_update_creates_a_revision_only_if_data_changes(api, path, application, user):
    for same in ({"notes": "n"}, {"application_data": application.application_data}, {"applicants": None}):
        assert api.replace(path, {"updated_by": "me", **same}).status_code == 200
    assert ApplicationRevision.objects.count() == 0
    api.replace(path, {"updated_by": "somebody", "application_data": {"b": 1, "a": [1.5, "é"]}})
    row = ApplicationRevision.objects.get()
    canonical = json.dumps({"a": [1.5, "é"], "b": 1}, separators=(",", ":"), ensure_ascii=False).encode()
    assert row.sha256 == hashlib.sha256(canonical).hexdigest()
    assert (row.updated_by, row.principal, row.status) == ("somebody", user, "draft")
    assert row.credential.startswith("jwt:")
    application.refresh_from_db()
    assert application.data_changed_by == user
    event = Event.objects.latest("id")
    assert event.type == "application.updated"
    assert "1.5" not in json.dumps(event.object)
    issued = issue(user)
    ApiClient(api_key=issued.key).replace(path, {"updated_by": "x", "application_data": 1})
    assert ApplicationRevision.objects.latest("id").credential == f"api_key:{issued.record.pk}"


def test_reviewer_cannot_change_an_application(path, application):
    Application.objects.update(status="submitted")
    reviewer = make_reviewer()
    assert client_of(reviewer).read(path).status_code == 200
    assert_error(client_of(reviewer).replace(path, {"updated_by": "r", "notes": "x"}), 404, "E4002")


def test_decided_application_rejects_data_changes_and_accepts_notes(api, path, application):
    for status in FROZEN:
        Application.objects.update(status=status)
        changed = api.replace(path, {"updated_by": "me", "application_data": {"new": 1}, "notes": "both"})
        assert_error(changed, 400, "E3004")
    application.refresh_from_db()
    assert (application.application_data, application.notes) == ({"old": 1}, "old")
    assert ApplicationRevision.objects.count() == Event.objects.count() == 0
    for status in MACHINE.statuses:
        Application.objects.update(status=status)
        if status not in FROZEN:
            changed = api.replace(path, {"updated_by": "me", "application_data": {"new": status}, "notes": "both"})
            assert (changed.status_code, changed.json()["notes"]) == (200, "both"), status
        noted = api.replace(path, {"updated_by": "me", "notes": "only notes"})
        assert (noted.status_code, noted.json()["notes"]) == (200, "only notes"), status

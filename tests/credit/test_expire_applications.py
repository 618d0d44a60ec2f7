"""Test that `expire_applications` expires idle applications."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from config.webhooks.models import Event
from credit.applications.services import IDLE_DAYS, expire_idle
from credit.models import Application, ApplicationHistory
from tests.credit.support import STATUSES
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db


def run():
    """Run the command; return the JSON object of its last line."""
    out = io.StringIO()
    call_command("expire_applications", "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def test_only_idle_applications_in_expiring_statuses_expire():
    now = timezone.now()
    for status in STATUSES:
        for days in (29, 31, 400):
            ApplicationFactory(status=status, updated_at=now - timedelta(days=days))
    result = run()
    assert expire_idle(now=timezone.now())["draft"] == 0
    assert result == {
        "expired": 6, "by_status": {"draft": 2, "pending_documents": 2, "approved": 2}, "counteroffers_expired": 0,
        "failed": 0,
    }  # fmt: skip
    assert set(IDLE_DAYS) == {"draft", "pending_documents", "approved"}
    assert Application.objects.filter(status="expired").count() == 6 + 3
    for status in ("submitted", "under_review", "rejected", "withdrawn"):
        assert Application.objects.filter(status=status).count() == 3


def test_application_expiry_creates_a_history_entry_and_an_event():
    application = ApplicationFactory(updated_at=timezone.now() - timedelta(days=31))
    run()
    row = ApplicationHistory.objects.get()
    assert (row.status, row.previous_status, row.changed_by) == ("expired", "draft", "system")
    assert (row.principal, row.credential) == (None, "command:expire_applications")
    event = Event.objects.get()
    assert (event.type, event.account) == ("application.expired", application.consumer)
    application.refresh_from_db()
    assert application.status_reason == "Idle for 30 days."
    assert run()["expired"] == 0
    out = io.StringIO()
    call_command("expire_applications", stdout=out)
    assert "expired: 0" in out.getvalue()

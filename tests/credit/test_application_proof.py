"""Test `GET /applications/{id}/proof` and the records of decisions."""

from django.test import override_settings
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.models import DecisionAnchor
from tests.api import assert_error
from tests.factories import ApplicationFactory


def move(api, application, status, reason=None, **options):
    body = {"status": status, "updated_by": "reviewer-7", "reason": reason}
    return api.replace(f"/applications/{application.pk}/status", body, **options)


def read_proof(api, application):
    with override_settings(ROOT_URLCONF="config.urls"):
        return api.read(f"/applications/{application.pk}/proof")


def test_application_without_a_record_has_no_inclusion_proof(db, api, user, settings):
    settings.ANCHOR_DECISIONS = False
    application = ApplicationFactory(consumer=user, status="under_review")
    assert_error(read_proof(api, application), 404, "E4001")
    assert move(api, application, "approved").status_code == 200
    assert not DecisionAnchor.objects.exists()


def test_application_created_as_approved_creates_a_decision_record_only_when_reopened(db, user, settings):
    settings.ANCHOR_DECISIONS = True
    for to, records in (("withdrawn", 0), ("expired", 0), ("under_review", 1)):
        application = ApplicationFactory(consumer=user, status="approved")
        actor = Actor.system("expire_applications") if to == "expired" else Actor(user, "api_key:x")
        application.transition_to(to, actor=actor, now=timezone.now(), reason="It ends here.")
        assert application.anchors.filter(history__isnull=False).count() == records, to

"""Test `GET /applications/{id}/proof` and the records of decisions."""

from django.test import override_settings

from credit.models import DecisionAnchor
from tests.api import assert_error
from tests.factories import ApplicationFactory


def move(api, application, status, reason=None, **options):
    body = {"status": status, "updated_by": "reviewer-7", "reason": reason}
    return api.replace(f"/applications/{application.pk}/status", body, **options)


def read_proof(api, application):
    with override_settings(ROOT_URLCONF="config.urls"):
        return api.read(f"/applications/{application.pk}/proof")


def test_undecided_application_has_no_inclusion_proof(db, api, user):
    application = ApplicationFactory(consumer=user, status="submitted")
    assert_error(read_proof(api, application), 404, "E4001")


def test_decision_creates_no_record_if_anchoring_is_off(db, api, user, settings):
    settings.ANCHOR_DECISIONS = False
    application = ApplicationFactory(consumer=user, status="under_review")
    assert move(api, application, "approved").status_code == 200
    assert not DecisionAnchor.objects.exists()

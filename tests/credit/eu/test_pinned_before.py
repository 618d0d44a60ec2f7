"""Test applications that pinned their offer before offers had a `jurisdiction`."""

import pytest
from django.utils import timezone

from credit.models import Application, Notice
from credit.notices.services import issue_due
from tests.api import assert_error, client_of
from tests.credit.terms.lending import accept_terms, applied, approve, listed

pytestmark = pytest.mark.django_db
BEFORE = ("jurisdiction", "regime", "regime_reason", "currency", "day_count", "fee_financed", "example", "apr_cap",
          "terms_text", "texts", "risk_based_pricing", "risk_based_pricing_reason")  # fmt: skip
TERMS = {"amount_cents": 1_000_000, "rate_percent": 9.5, "term_months": 24}


@pytest.fixture
def application(db):
    """Return an application with pinned terms of the first release."""
    application = applied(listed())
    pinned = {name: value for name, value in application.offer_snapshot.items() if name not in BEFORE}
    Application.objects.filter(pk=application.pk).update(offer_snapshot=pinned)
    application.refresh_from_db()
    return application


def test_application_stored_without_a_jurisdiction_can_be_accepted_under_us_law(application, client):
    api, path = client_of(application.consumer), f"/applications/{application.pk}"
    assert api.read(path).status_code == 200
    assert approve(api, application, TERMS).status_code == 200
    assert_error(api.read(f"{path}/precontract"), 404, "E4001")
    client.force_login(application.consumer)
    assert client.get(f"/my/applications/{application.pk}/accept").status_code == 200
    assert accept_terms(api, application).status_code == 200
    assert api.read(f"{path}/agreement").status_code == 200
    assert_error(api.read(f"{path}/withdrawal"), 404, "E4001")
    assert client.get(f"/my/applications/{application.pk}").status_code == 200


def test_rejected_application_stored_without_a_jurisdiction_gets_an_adverse_action_notice(application):
    rejection = {"status": "rejected", "updated_by": "x", "metadata": {"reasons": ["income_insufficient"]}}
    api = client_of(application.consumer)
    assert api.replace(f"/applications/{application.pk}/status", rejection).status_code == 200
    issue_due(now=timezone.now())
    assert Notice.objects.get().kind == "adverse_action"

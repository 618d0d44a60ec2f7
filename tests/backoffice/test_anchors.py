"""The list of what is on its way into the ledger, whatever it is about."""

import pytest
from django.urls import reverse

from credit.models import DecisionAnchor
from tests.credit.scoring.support import make_model, make_version

pytestmark = pytest.mark.django_db


def test_a_publication_is_listed_and_shown_without_an_application(superusers_client, user):
    version = make_version(make_model(user), role="champion")
    row = DecisionAnchor.objects.get()
    listed = superusers_client.get(reverse("admin:credit_decisionanchor_changelist"))
    assert (listed.status_code, "scoring_model_version" in listed.content.decode()) == (200, True)
    shown = superusers_client.get(reverse("admin:credit_decisionanchor_change", args=[row.pk]))
    assert (shown.status_code, version.definition_sha256 in shown.content.decode()) == (200, True)

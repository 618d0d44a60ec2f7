"""The back office pages of the demo: every list, and every application."""

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils.html import escape

from credit.core.figures import money
from credit.models import Application
from tests.backoffice.conftest import backoffice_client
from tests.test_examples import demo_settings, seeded


@pytest.fixture
def client(db, tmp_path):
    """A client that is logged in as the demo's superuser."""
    with demo_settings(tmp_path):
        seeded()
        yield backoffice_client(get_user_model().objects.get(username="admin"))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_back_office_list_and_application_of_the_demo_can_be_opened(client, step):
    """The short form opens every fourth application, and one of each status."""
    for model in admin.site._registry:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert client.get(address).status_code == 200, address
    assert Application.objects.count() >= 200
    applications = list(Application.objects.order_by("status", "pk"))
    of_each_status = {application.status: application for application in applications}
    for application in {*applications[::step], *of_each_status.values()}:
        answer = client.get(reverse("admin:credit_application_change", args=[application.pk]))
        assert answer.status_code == 200, application.pk
        content = answer.content.decode()
        assert escape(money(application.amount_cents)) in content, application.pk
        assert all(escape(applicant["legal_name"]) in content for applicant in application.applicants or ()), (
            application.pk
        )

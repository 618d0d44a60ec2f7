"""Test that every back office page masks the retained records of erased accounts."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from config.core.casework import DataAccess
from credit.models import Application
from identity.accounts import erasure
from payments.cards.models import Payment
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import console_client
from tests.factories import ProviderFactory
from tests.flows.markers import places_of
from tests.flows.test_erasure import planted

pytestmark = pytest.mark.django_db
MARKER = "qqmarker"


@pytest.fixture
def owner(user):
    """Erase an account whose application and payments a law retains; return the lender's owner."""
    application = planted(user, MARKER, status="withdrawn", submitted_at=timezone.now())
    Application.objects.update(share=["bank"], offer_snapshot=None)
    Payment.objects.update(status="Processing")
    created_at = application.created_at - timedelta(days=1)
    owner = ProviderFactory(id=str(application.provider_id), created_at=created_at).owner
    owner.groups.add(Group.objects.get(name="Lender"))
    erasure.erase(erasure._record(user.pk, requested_at=timezone.now()), now=timezone.now())
    assert {"credit.Application.applicants", "payments.Wallet.address"} <= places_of(MARKER)
    return owner


def test_back_office_pages_of_an_erased_account_contain_no_personal_data(owner):
    for viewer in ("Reviewer", "Support", "Operations"):
        opened = labels_of_pages_without_the_marker(backoffice_client(staff_of(viewer)))
        assert "credit.Application" in opened, viewer
        assert viewer != "Operations" or "payments.ProcessorEvent" in opened
    assert "credit.Application" in labels_of_pages_without_the_marker(console_client(owner))


def labels_of_pages_without_the_marker(client):
    """Open the list and the pages of every model. Check that no page contains the marker; return the opened models."""
    opened = set()
    for model in admin.site._registry:
        if model is DataAccess:  # Only Operations can open the audit log.
            continue
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        rows = model._default_manager.all()[:2]
        for address in [reverse(f"{name}_changelist"), *(reverse(f"{name}_change", args=[row.pk]) for row in rows)]:
            page = client.get(address)
            if page.status_code == 200:
                opened.add(model._meta.label)
                assert MARKER not in page.content.decode(), address
    return opened

"""Test the list and the retry of items that a worker failed to process."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.utils import timezone

from config.core.registration import declared
from config.ops.failed_items import KILLED
from config.ops.models import FailedItem
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import send_form
from tests.config.test_doctor import why

pytestmark = pytest.mark.django_db
LIST = "/admin/ops/faileditem/"


@pytest.fixture
def items():
    """Return a dead letter, and an item that its worker retries automatically."""
    now = timezone.now()
    times = {"first_failed_at": now, "last_failed_at": now, "retry_at": now + timedelta(hours=6)}
    dead = FailedItem.objects.create(kind="notice", key="4711", kills=3, error=KILLED, dead_at=now, **times)
    waiting = FailedItem.objects.create(kind="mail", key="8", failures=2, error="KeyError", **times)
    return dead, waiting


def retry_address(item):
    return f"{LIST}{item.pk}/do/retry/"


def test_operations_can_retry_a_dead_letter(items):
    dead, _ = items
    client = backoffice_client(staff_of("Operations"))
    assert "Dead letters" in client.get("/admin/").content.decode()
    listed = client.get(f"{LIST}?state=dead").content.decode()
    assert "4711" in listed
    assert "KeyError" not in listed
    send_form(client, retry_address(dead))
    dead.refresh_from_db()
    assert (dead.dead_at, dead.kills, dead.failures) == (None, 1, 0)
    assert dead.retry_at <= timezone.now()


def test_failed_item_links_to_the_record_only_for_viewers_who_can_open_the_record(items):
    dead, waiting = items
    support = backoffice_client(staff_of("Support"))
    address = '<a href="/admin/credit/notice/4711/change/">notice 4711</a>'
    for page in (LIST, f"{LIST}{dead.pk}/change/"):
        assert address in support.get(page).content.decode()
    assert "<code>8</code>" in support.get(f"{LIST}{waiting.pk}/change/").content.decode()
    dead, _ = items
    page = backoffice_client(staff_of("Operations")).get(f"{LIST}{dead.pk}/change/").content.decode()
    assert "4711" in page
    assert "/admin/credit/notice/4711/" not in page


def test_every_model_of_a_failed_item_is_registered_in_the_back_office():
    registered = {model._meta.label_lower for model in admin.site._registry}
    assert set(dict(declared("failed_item_models")).values()) <= registered


def test_support_can_view_but_not_retry_failed_items(items):
    client = backoffice_client(staff_of("Support"))
    assert "KeyError" in client.get(LIST).content.decode()
    page = client.get(f"{LIST}{items[0].pk}/change/").content.decode()
    assert "4711" in page
    assert "do/retry" not in page
    assert client.post(retry_address(items[0]), {"seen": "0:3:None"}).status_code == 403
    assert FailedItem.objects.filter(dead_at__isnull=False).exists()


def test_dead_letter_that_failed_again_after_the_page_was_opened_is_not_retried(items):
    client = backoffice_client(staff_of("Operations"))
    dead, _ = items
    address = retry_address(dead)
    form = client.get(address).context["form"]
    FailedItem.objects.filter(pk=dead.pk).update(kills=4)
    client.post(address, {"seen": form.initial["seen"]})
    dead.refresh_from_db()
    assert dead.dead_at is not None


def test_doctor_counts_dead_letters_by_kind(items):
    assert why("dead_letters") == (
        "warning: Dead letters: notice 1. Find the cause, then retry them in the back office."
    )
    FailedItem.objects.update(dead_at=None)
    assert why("dead_letters") == "none"

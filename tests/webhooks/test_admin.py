"""Test webhook endpoints and deliveries in the back office."""

import re
from datetime import datetime

import pytest
from django.urls import reverse
from django.utils import timezone

from config.backoffice.html import time_in_words
from config.webhooks.models import Delivery, Endpoint, Event
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, messages_of, send_form, text_of

pytestmark = pytest.mark.django_db
ENDPOINTS, DELIVERIES = "/admin/webhooks/endpoint/", "/admin/webhooks/delivery/"


@pytest.fixture
def operations(db):
    return backoffice_client(staff_of("Operations", username="omar"))


@pytest.fixture
def support(db):
    return backoffice_client(staff_of("Support", username="sam"))


@pytest.fixture
def failed(receiver, make_endpoint, emit, work):
    """Return a delivery that failed once and is pending."""
    make_endpoint(receiver.url)
    receiver.answers = [(503, {}, b"")]
    emit()
    work()
    return Delivery.objects.get()


def page_of(record):
    return reverse(f"admin:webhooks_{record._meta.model_name}_change", args=[record.pk])


def button_of(record, name):
    return reverse(f"admin:webhooks_{record._meta.model_name}_do", args=[record.pk, name])


def test_back_office_pages_of_webhooks_show_the_attempts_and_no_secret(operations, support, failed):
    endpoint = Endpoint.objects.get()
    for backoffice in (operations, support):
        for address in (ENDPOINTS, DELIVERIES, page_of(endpoint), page_of(failed)):
            response = backoffice.get(address)
            assert response.status_code == 200, address
            assert endpoint.secret not in response.content.decode()
    text = text_of(operations.get(page_of(failed)))
    assert "503" in text
    assert time_in_words(datetime.fromisoformat(failed.attempts[0]["at"])) in text
    assert failed.attempts[0]["at"] not in text
    assert "wallet.connected" in text


@pytest.mark.parametrize("others", [0, 1])
def test_search_for_a_webhook_endpoint_id_opens_the_endpoint_instead_of_its_deliveries(
    operations, failed, emit, work, others
):
    emit(others)
    work()
    endpoint = Endpoint.objects.get()
    assert Delivery.objects.filter(endpoint=endpoint).count() == 1 + others
    for record in (endpoint, failed, Event.objects.get(pk=failed.event_id)):
        opened = operations.get(reverse("admin:search"), {"q": record.pk})
        assert opened.headers["Location"] == page_of(record)


def test_tokens_in_a_receivers_url_are_hidden_from_staff(operations, support, make_endpoint):
    for url, shown in [
        ("https://hooks.example/services/T024Q/B0Secret/x1y2z3", "https://hooks.example/services/•••/•••/•••"),
        ("https://r.example:8443/v1/credit-events?token=t0ken&a=b", "https://r.example:8443/v1/credit-events?•••"),
        ("https://r.example/", "https://r.example/"),
    ]:  # fmt: skip
        endpoint = make_endpoint(url)
        assert str(endpoint) == shown, (url, shown)
        pages = [(support, ENDPOINTS), (support, page_of(endpoint)), (operations, button_of(endpoint, "test"))]
        for backoffice, address in pages:
            body = backoffice.get(address).content.decode()
            assert shown in body, address
            assert url == shown or url not in body, address


def test_back_office_lists_of_webhooks_have_filters_and_a_search_by_id(operations, failed, user):
    def rows(address):
        return len(re.findall('name="_selected_action"', operations.get(address).content.decode()))

    for query, count in [
        ("status__exact=pending", 1), ("status__exact=delivered", 0), ("event_type__exact=wallet.connected", 1),
        ("event_type__exact=offer.created", 0), (f"q={failed.pk}", 1), (f"q={failed.event_id}", 1),
        (f"q={failed.endpoint_id}", 1), (f"q=user:{user.pk}", 1), (f"q={user.username}", 1), ("q=nobody", 0),
    ]:  # fmt: skip
        assert rows(f"{DELIVERIES}?{query}") == count, query
    for state, shown in [("failing", True), ("working", False), ("disabled", False), ("deleted", False)]:
        body = operations.get(f"{ENDPOINTS}?state={state}").content.decode()
        assert (page_of(Endpoint.objects.get()) in body) is shown, state


def test_webhook_endpoint_page_links_to_its_deliveries_and_shows_the_failure(operations, failed):
    body = operations.get(page_of(failed.endpoint)).content.decode()
    failures, everything = (
        re.search(f'href="([^"]*)">{text}</a>', body)[1].replace("&amp;", "&")
        for text in ("Failed deliveries", "All deliveries")
    )
    assert page_of(failed) not in operations.get(failures).content.decode()
    assert page_of(failed) in operations.get(everything).content.decode()
    Delivery.objects.filter(pk=failed.pk).update(status="failed", due_at=None)
    assert page_of(failed) in operations.get(failures).content.decode()
    endpoint = given_up(failed)
    body, text = operations.get(page_of(endpoint)).content.decode(), text_of(operations.get(page_of(endpoint)))
    assert "failing since" in text
    assert "wallet.connected failed" in text
    assert page_of(failed) in body
    assert "Enable" not in text


def test_redeliver_button_sends_the_webhook_event_again(operations, failed, receiver, work):
    text = text_of(confirm(operations, button_of(failed, "redeliver")))
    again = Delivery.objects.exclude(pk=failed.pk).get()
    assert str(again.pk) in text
    work()
    assert receiver.ids == [str(failed.event_id)] * 2


def given_up(failed):
    """Mark a delivery as failed for good; return its endpoint."""
    Delivery.objects.filter(pk=failed.pk).update(status="failed", due_at=None)
    return Endpoint.objects.get()


def test_redelivery_of_all_failed_deliveries_sends_each_delivery_of_the_endpoint_only_once(
    operations, failed, receiver, work
):
    endpoint, place = given_up(failed), button_of(Endpoint.objects.get(), "resend-failed")
    assert "again: 1." in text_of(operations.get(place))
    assert "Deliveries sent again: 1." in messages_of(send_form(operations, place))
    assert Delivery.objects.filter(endpoint=endpoint, is_redelivery=True).count() == 1
    assert "No delivery has failed." in messages_of(operations.get(place))
    work()
    assert receiver.ids == [str(failed.event_id)] * 2


def test_operations_can_redeliver_selected_webhook_deliveries(operations, support, failed):
    sent = {"action": "send_again", "_selected_action": [str(failed.pk)]}
    support.post(DELIVERIES, sent)
    assert Delivery.objects.count() == 1
    assert "Deliveries sent again: 1." in messages_of(operations.post(DELIVERIES, sent))
    assert Delivery.objects.filter(is_redelivery=True).count() == 1
    Endpoint.objects.update(status="disabled", disabled_reason="disabled_by_operator")
    assert "the endpoint is disabled: 1." in messages_of(operations.post(DELIVERIES, sent))


def test_support_can_view_but_not_change_webhooks(support, failed):
    endpoint = Endpoint.objects.get()
    assert "Send again" not in text_of(support.get(page_of(failed)))
    assert "_selected_action" not in support.get(DELIVERIES).content.decode()
    for record, name in ((failed, "redeliver"), (endpoint, "test"), (endpoint, "disable"), (endpoint, "rotate")):
        assert support.post(button_of(record, name), {"seen": ""}).status_code == 403
    assert Delivery.objects.count() == 1
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.secret_version) == ("enabled", 1)


def test_operator_can_disable_and_enable_a_webhook_endpoint(operations, failed):
    endpoint = Endpoint.objects.get()
    send_form(operations, button_of(endpoint, "disable"))
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "disabled_by_operator")
    assert Event.objects.filter(type="webhook.endpoint.disabled").count() == 1
    assert "The endpoint is disabled." in text_of(confirm_refused(operations, failed))
    send_form(operations, button_of(endpoint, "enable"))
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.disabled_reason) == ("enabled", None)


def confirm_refused(backoffice, delivery):
    """Request a redelivery that is rejected; return the page."""
    return backoffice.get(button_of(delivery, "redeliver"), follow=True)


def test_staff_cannot_rotate_or_read_another_accounts_webhook_secret(operations, failed):
    endpoint = Endpoint.objects.get()
    assert "Rotate secret" not in text_of(operations.get(page_of(endpoint)))
    assert operations.get(button_of(endpoint, "rotate")).status_code == 403
    assert operations.post(button_of(endpoint, "rotate"), {"seen": "x", "grace_hours": "2"}).status_code == 403
    assert Endpoint.objects.get().secret == endpoint.secret


def test_rotated_webhook_secret_is_shown_only_once_to_the_owner(operations, failed):
    Endpoint.objects.update(account=operations.get("/admin/").wsgi_request.user.pk)
    endpoint = Endpoint.objects.get()
    response = confirm(operations, button_of(endpoint, "rotate"), grace_hours="2")
    old = endpoint.secret
    endpoint.refresh_from_db()
    assert endpoint.secret != old
    assert endpoint.secret in response.content.decode()
    assert endpoint.secret not in operations.get(page_of(endpoint)).content.decode()
    assert (endpoint.previous_secret_until - timezone.now()).total_seconds() == pytest.approx(7200, abs=60)


def test_back_office_can_send_a_webhook_test_event(operations, failed, receiver, work):
    send_form(operations, button_of(Endpoint.objects.get(), "test"))
    work()
    assert b"webhook.test" in receiver.received[-1].body

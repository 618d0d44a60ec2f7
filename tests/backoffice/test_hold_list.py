"""The list of litigation holds: Operations starts and ends a hold by an application's number, and sees no data."""

import pytest
from django.urls import reverse

from credit.core.figures import reference_of
from credit.models import RetentionHold
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import links_of, messages_of, send_form, text_of
from tests.backoffice.test_applications import make

pytestmark = pytest.mark.django_db
LIST, ADD = "/admin/credit/retentionhold/", "/admin/credit/retentionhold/add/"


@pytest.fixture
def client():
    return backoffice_client(staff_of("Operations", username="olga"))


def send(client, number, change="on", reason="Case 28-cv-1"):
    return client.post(ADD, {"number": number, "change": change, "reason": reason}, follow=True)


@pytest.mark.parametrize("number_of", [str, lambda pk: f" {reference_of(pk).lower()} "])
def test_operations_can_start_and_end_a_litigation_hold_by_application_number(client, number_of):
    application = make()
    assert client.get(f"/admin/credit/application/{application.pk}/change/").status_code == 403
    assert "Litigation holds" in text_of(client.get("/admin/records/"))
    text = text_of(send(client, number_of(application.pk)))
    assert f"The litigation hold of {reference_of(application.pk)} is on." in text
    assert "Case 28-cv-1" in text
    hold = RetentionHold.objects.get()
    assert (hold.application_id, hold.is_on, hold.principal.username) == (application.pk, True, "olga")
    end = reverse("admin:credit_retentionhold_do", args=[hold.pk, "end"])
    assert f"The litigation hold of {reference_of(application.pk)} is off." in messages_of(
        send_form(client, end, reason="Settled")
    )
    assert RetentionHold.newest_of(application).is_on is False
    assert "The application has no hold now." in messages_of(client.get(end))


def test_litigation_hold_pages_identify_the_application_without_its_data(client, superusers_client, reviewers_client):
    application = make()
    send(client, str(application.pk))
    hold = RetentionHold.objects.get()
    for address in (LIST, reverse("admin:credit_retentionhold_change", args=[hold.pk])):
        text = client.get(address).content.decode()
        assert application.consumer.username not in text
        assert "/admin/credit/application/" not in text
    page = superusers_client.get("/admin/admin/logentry/")
    assert f"litigation hold of {reference_of(application.pk)}" in text_of(page)
    hold = RetentionHold.objects.get()
    assert str(hold.pk) not in text_of(page)
    assert reverse("admin:credit_retentionhold_change", args=[hold.pk]) in links_of(page)
    assert f"/admin/credit/application/{application.pk}/change/" in reviewers_client.get(LIST).content.decode()
    assert reviewers_client.get(ADD).status_code == 403


def test_litigation_hold_form_rejects_unknown_application_numbers_and_repeated_changes(client):
    for number, message in [
        ("A-00000000", "No application has this number."),
        ("01900000-0000-7000-8000-000000000000", "No application has this number."),
        ("Dana Example", "A reference such as A-3F9C21AB, or the application&#x27;s id is required."),
    ]:  # fmt: skip
        assert message in send(client, number).content.decode(), (number, message)
        assert not RetentionHold.objects.exists(), (number, message)
    application = make()
    assert "The application has no hold." in text_of(send(client, str(application.pk), "off"))
    send(client, str(application.pk))
    assert "The hold is already on." in text_of(send(client, str(application.pk)))
    assert RetentionHold.objects.count() == 1


def test_litigation_hold_list_can_be_searched_and_filtered(client):
    held, ended = make(), make()
    send(client, str(held.pk))
    send(client, str(ended.pk))
    send(client, str(ended.pk), "off")
    assert reference_of(ended.pk) not in text_of(client.get(f"{LIST}?state=on"))
    assert reference_of(held.pk) not in text_of(client.get(f"{LIST}?q={reference_of(ended.pk)}"))
    assert "0 litigation holds" in text_of(client.get(f"{LIST}?q=dana"))


def test_lender_members_cannot_open_the_litigation_hold_list():
    lender = lender_of("northern", 71)
    assert console_client(lender.people["reviewer"]).get(LIST).status_code == 403

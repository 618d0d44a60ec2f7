"""Test that the back office masks personal data by role and logs every access."""

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse

from config.backoffice.personal import mask
from config.core.casework import DataAccess
from tests.backoffice.pages import confirm, text_of
from tests.backoffice.test_applications import LIST, make, page_of
from tests.factories import UserFactory

SECRETS = ("Jane", "Doe", "jane@example.test", "12 Acacia Avenue", "confidential")


@pytest.fixture
def application(db):
    person = UserFactory(username="jdoe", first_name="Jane", last_name="Doe", email="jane@example.test")
    return make(
        consumer=person,
        application_data={"name": "Jane Doe", "address": {"street": "12 Acacia Avenue"}, "income": 987654, "kids": [7]},
        notes="confidential note",
    )


def user_page(application):
    return reverse("admin:identity_user_change", args=[application.consumer_id])


def unmask_of(application):
    return reverse("admin:credit_application_do", args=[application.pk, "unmask"])


def test_access_to_pages_and_lists_of_personal_data_creates_unchangeable_log_entries(
    reviewers_client, reviewer, application, supports_client
):
    body = reviewers_client.get(page_of(application)).content.decode()
    assert "12 Acacia Avenue" in body
    look = DataAccess.objects.get(action="page")
    assert (look.viewer, look.subject_id, look.record_id) == (reviewer, application.consumer_id, str(application.pk))
    assert look.kind == "credit.application"
    assert look.request_id
    assert not look.was_masked
    supports_client.get(f"{LIST}?queue=review")
    look = DataAccess.objects.get(action="list")
    assert look.was_masked
    assert look.details == {"query": "queue=review", "rows": 1}
    for change in (lambda: DataAccess.objects.update(reason="x"), lambda: DataAccess.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_support_can_unmask_a_record_for_a_limited_time_with_a_logged_reason(supports_client, application):
    for reason in ["", "   "]:
        response = confirm(supports_client, unmask_of(application), reason=reason)
        assert "This field is required" in text_of(response), reason
        assert not DataAccess.objects.filter(action="unmasked").exists(), reason
    other = make(application_data={"name": "Jane Doe"})
    response = confirm(supports_client, unmask_of(application), reason="Ticket 4711")
    assert "12 Acacia Avenue" in response.content.decode()
    assert DataAccess.objects.get(action="unmasked").reason == "Ticket 4711"
    assert "Jane Doe" not in supports_client.get(page_of(other)).content.decode()
    assert "jane@example.test" not in supports_client.get(user_page(application)).content.decode()
    session = supports_client.session
    session["backoffice.unmasked"] = dict.fromkeys(session["backoffice.unmasked"], 0)
    session.save()
    assert "12 Acacia Avenue" not in supports_client.get(page_of(application)).content.decode()


def test_unmask_button_is_hidden_from_viewers_who_already_see_unmasked_data(
    reviewers_client, operations_client, application
):
    assert "unmask" not in reviewers_client.get(page_of(application)).content.decode()
    assert reviewers_client.get(unmask_of(application)).status_code == 403
    assert operations_client.get(unmask_of(application)).status_code == 403


def test_masked_page_shows_a_digest_of_the_data(supports_client, reviewers_client, application):
    from hashlib import sha256

    from config.core.json_text import canonical_json

    digest = sha256(canonical_json(application.application_data)).hexdigest()
    assert digest in supports_client.get(page_of(application)).content.decode()
    assert digest in reviewers_client.get(page_of(application)).content.decode()


def test_operations_can_search_the_access_log(operations_client, reviewers_client, application):
    reviewers_client.get(page_of(application))
    address = "/admin/backoffice/dataaccess/"
    for term in ("rita", "jdoe", f"person:{application.consumer_id}", str(application.pk)):
        assert len(operations_client.get(address, {"q": term}).context["cl"].result_list) == 1, term
    for term in ("nobody", "person:x", "person:0"):
        assert operations_client.get(address, {"q": term}).context["cl"].result_list == [], term
    assert reviewers_client.get(address).status_code == 403


def test_masked_value_has_the_structure_of_the_original_value():
    for value, masked in [
        (None, None), ("", ""), ("Jane", "J•••"), (7, "•••"), (True, "•••"),
        ({"a": {"b": ["xy", 1]}}, {"a": {"b": ["x•••", "•••"]}}),
    ]:  # fmt: skip
        assert mask(value) == masked, (value, masked)

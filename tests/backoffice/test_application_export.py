"""Test which names, terms, reasons, and assignees each viewer can export."""

import csv
import io

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.casework import Assignment, DataAccess
from credit.core.applicants import Applicants
from credit.core.figures import reference_of
from credit.models import Offer
from tests.backoffice.conftest import backoffice_client
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import send_form
from tests.backoffice.test_applications import LIST, move_of
from tests.credit.applicants import changed
from tests.credit.terms.lending import applied, listed
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _policy(settings):
    settings.REVIEW_POLICY = "reviewed"


def rows_of(client, query=""):
    response = client.post(f"{LIST}export/csv/?{query}")
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"), newline="")))


def application_of(name="Rosa Quillfeather", offer=None):
    persons = Applicants.of([changed("legal_name", name)])
    return applied(offer or listed(name="Harbour loan"), applicants=persons, applicants_sha256=persons.sha256)


@pytest.fixture
def application(db):
    return application_of()


def test_application_export_contains_list_columns_and_approved_terms(reviewers_client, reviewer, application):
    Assignment.objects.create(
        kind="credit.application", record_id=str(application.pk), assignee=reviewer, assigned_by=reviewer,
        assigned_at=timezone.now(),
    )  # fmt: skip
    (row,) = rows_of(reviewers_client)
    assert (row["reference"], row["legal_name"], row["account"], row["offer_name"], row["assignee"]) == (
        reference_of(application.pk), "Rosa Quillfeather", application.consumer.username, "Harbour loan", "rita",
    )  # fmt: skip
    assert (row["amount"], row["requested_term_months"], row["rate_percent"]) == ("10000.00", "24", "")
    fields = {"amount": "8000", "rate_percent": "7.5", "term_months": "36", "fee": "10"}
    send_form(reviewers_client, move_of(application, "approved"), **fields)
    (row,) = rows_of(reviewers_client)
    terms = {name: row[name] for name in ("approved_amount", "rate_percent", "term_months", "fee")}
    assert terms == {"approved_amount": "8000.00", "rate_percent": "7.5000", "term_months": "36", "fee": "10.00"}
    assert float(row["apr_percent"]) > 7.5


def test_application_export_contains_rejection_reasons_in_words(reviewers_client, application):
    send_form(reviewers_client, move_of(application, "rejected"), code_1="no_credit_file", code_2="bankruptcy")
    (row,) = rows_of(reviewers_client)
    assert row["reasons"] == "No credit file; Bankruptcy."
    send_form(reviewers_client, move_of(application, "under_review"), reason="New facts")
    assert rows_of(reviewers_client)[0]["reasons"] == ""


def test_application_export_escapes_names_that_are_spreadsheet_formulas(reviewers_client):
    application_of("-Rosa")
    assert rows_of(reviewers_client)[0]["legal_name"] == "'-Rosa"


def test_application_export_for_staff_with_masked_access_contains_only_masked_values(application):
    person = UserFactory(is_staff=True)
    for codename in ("view_application", "export_records"):
        person.user_permissions.add(Permission.objects.get(codename=codename))
    (row,) = rows_of(backoffice_client(person))
    assert {row[name] for name in ("legal_name", "amount", "requested_term_months", "reasons", "rate_percent")} == {
        "•••"
    }
    assert row["reference"] == reference_of(application.pk)
    assert DataAccess.objects.get(action="export").was_masked


def test_application_export_of_a_lender_contains_only_that_lenders_applications_and_assignees(settings):
    ours, _theirs = lender_of("quartz", 701), lender_of("zircon", 702)
    (row,) = rows_of(console_client(ours.people["reader"]))
    assert (row["id"], row["assignee"], row["offer_name"]) == (str(ours.application.pk), "owner-quartz", "Offer quartz")


def test_application_export_leaves_an_undecryptable_name_empty(reviewers_client, application, settings):
    kept, settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS, ["A" * 43 + "="]
    application.save(update_fields=["applicants"])
    settings.FIELD_ENCRYPTION_KEYS = kept
    assert rows_of(reviewers_client)[0]["legal_name"] == ""


def test_application_export_of_any_length_executes_a_fixed_number_of_sql_statements(reviewers_client, application):
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            rows_of(reviewers_client)
        counts.append(len(captured))
        application_of(offer=Offer.objects.get())
    assert counts[0] == counts[1]


def test_application_export_logs_a_digest_of_the_search_text(reviewers_client, application):
    assert rows_of(reviewers_client, "q=quillfeather") == []  # The name has no search index.
    query = DataAccess.objects.get(action="export").details["query"]
    assert query.startswith("q=digest")
    assert "quillfeather" not in query

"""Test the required and forbidden content of responses to GDPR requests."""

import json
from datetime import timedelta
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone

from config.core.export import write_export
from identity.accounts import erasure
from tests.api import client_of
from tests.credit.eu.test_eu_cases import scored
from tests.credit.eu.test_figures import approved
from tests.credit.eu.test_precontract import accept, path_of
from tests.credit.notices.test_pages import read
from tests.credit.scoring.submitting import SAYS_POOR

pytestmark = pytest.mark.django_db


def borrowed():
    """Return an application whose agreement is concluded."""
    application, _ = approved()
    client = client_of(application.consumer)
    form = client.read(path_of(application)).json()
    assert accept(client, application, precontract_sha256=form["sha256"]).status_code == 200
    application.refresh_from_db()
    return application


def index_of(user):
    file = BytesIO()
    write_export(user.pk, file, now=timezone.now())
    return json.loads(ZipFile(file).read("index.json"))


def test_explanation_of_a_scored_decision_contains_its_procedure_its_inputs_and_suggested_changes(settings):
    """Test the rule in GDPR Art. 15(1)(h); C-203/22 (EU-34)."""
    world = scored(settings, SAYS_POOR)
    world.move(0, "under_review")
    world.reject(1)
    body = client_of(world.consumer.user).read(f"/applications/{world.pk}/explanation").json()
    assert "Each item below has points." in body["procedure"]
    assert "the total is" in body["procedure"]
    assert all(fact["source_text"] for each in body["inputs"] for fact in each["facts"])
    assert any(fact["value"] is not None for each in body["inputs"] for fact in each["facts"])
    assert body["changes"]
    assert not any(words in json.dumps(body).lower() for words in ("algorithm", "formula"))
    browser = Client()
    browser.force_login(world.consumer.user)
    text = read(browser.get(f"/my/applications/{world.pk}/explanation").content.decode())[0]
    assert body["procedure"] in text
    assert "What would have changed the result" in text


def test_privacy_page_and_data_export_of_a_borrower_list_rights_and_retained_records():
    """Test the rule in GDPR Art. 12(3), (4), 15(1)(f), 17(3)(b), (e), 79 (EU-35)."""
    application = borrowed()
    user = application.consumer
    browser = Client()
    browser.force_login(user)
    for is_requested in (False, True):
        if is_requested:
            assert client_of(user).send("/account/erasure").status_code == 201
        text = read(browser.get("/account/privacy").content.decode())[0]
        for words in (
            "the term of a loan", "The last record is deleted on:", "We answer within one month.",
            "You can lodge a complaint with a supervisory authority, and go to court.",
        ):  # fmt: skip
            assert words in text
        assert (
            "The records in the previous section remain after the account is deleted."
            in text.partition("Stored data")[2]
        )
        assert "deleted." not in text.partition("Delete my account")[2].partition("The deletion starts")[0]
        index = index_of(user)
        assert all(words in index["rights"] for words in ("supervisory authority", "go to court"))
        kept = {each["ground"]: each for each in index["kept_after_erasure"]}
        assert kept["application_records"]["rows"] > 0
        end = application.accepted_at + timedelta(days=31 * (application.loan_terms.term_months + 1))
        assert kept["application_records"]["until"] >= end.date().isoformat()
    assert kept["application_records"] in client_of(user).read("/account/erasure").json()["kept"]
    erasure.erase(erasure.Erasure.objects.get(), now=timezone.now())
    record = erasure.Erasure.objects.get()
    assert (record.status, "application_records" in {each["ground"] for each in record.kept}) == ("waiting", True)


def test_data_export_marks_only_data_provided_by_the_applicant_as_portable(settings):
    """Test the rule in GDPR Art. 20 (EU-36)."""
    world = scored(settings, SAYS_POOR)
    index = index_of(world.consumer.user)
    portable = {each["file"]: each["portable"] for each in index["contents"]}
    assert portable["records/credit.Application.json"]
    inferred = ("credit.Score", "credit.ScoreFacts", "credit.LastScore")
    assert not any(portable.get(f"records/{label}.json") for label in inferred)
    assert "Other files, such as scores, are part of your access" in index["portability"]

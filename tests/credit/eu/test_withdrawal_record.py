"""Test the content and the readers of a withdrawal's record, and that it is written once."""

import json
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.core.json_text import rfc3339
from credit.models import ContractWithdrawal, DecisionAnchor
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.eu.test_contract_withdrawal import concluded, declare, lender_of_row, read, text_of_mails

pytestmark = pytest.mark.django_db


@pytest.fixture
def recent(settings):
    settings.ANCHOR_DECISIONS = True
    return concluded(at=timezone.now() - timedelta(days=2))


def anchors():
    return DecisionAnchor.objects.filter(withdrawal__isnull=False)


def test_withdrawal_creates_one_anchored_record_without_personal_text(recent):
    client = client_of(recent.consumer)
    assert read(client, recent).json()["proof"] is None
    proof = declare(client, recent).json()["proof"]
    assert declare(client, recent).json()["proof"] == proof == read(client, recent).json()["proof"]
    anchor, row = anchors().get(), ContractWithdrawal.objects.get()
    assert (anchor.report_type, anchor.application_id, anchor.subject_id) == (
        "contract_withdrawal", recent.pk, str(recent.consumer_id),
    )  # fmt: skip
    assert (proof["status"], proof["record"], proof["record_sha256"]) == ("pending", anchor.record, str(anchor))
    record = json.loads(anchor.record)
    common = {"application_id", "hashes", "offer_id", "offer_version", "offer_terms_sha256", "provider_id"}
    assert list(record["hashes"]) == ["consumer_id"]
    assert {name: record[name] for name in record.keys() - common - {"request_id"}} == {
        "record_version": 1, "withdrawal": str(row.pk), "terms_sha256": recent.loan_terms.terms_sha256,
        "declared_at": rfc3339(row.declared_at), "received_at": rfc3339(row.received_at), "channel": "api",
        "period_ends_at": rfc3339(row.period_ends_at), "repay_by": row.repay_by.isoformat(),
    }  # fmt: skip
    assert "Beispiel" not in anchor.record


def test_anchored_record_of_a_withdrawal_by_letter_has_declaration_and_receipt_times(recent):
    sent_at = (timezone.now() - timedelta(days=1)).replace(microsecond=0)
    declare(client_of(lender_of_row(recent)), recent, declared_at=sent_at.isoformat(), channel="post")
    record = json.loads(anchors().get().record)
    assert (record["channel"], record["declared_at"]) == ("post", rfc3339(sent_at))
    assert record["received_at"] > record["declared_at"]


def test_withdrawal_receipt_page_and_timeline_show_the_hash_of_the_anchored_record(recent, client):
    declare(client_of(recent.consumer), recent)
    digest = anchors().get().record_sha256
    assert f"Record of the withdrawal, SHA-256: {digest}\n" in text_of_mails()[0].body
    client.force_login(recent.consumer)
    assert digest in client.get(f"/my/applications/{recent.pk}/withdrawal").content.decode()
    page = f"/admin/credit/application/{recent.pk}/change/"
    staff = backoffice_client(staff_of("Reviewer"))
    assert "Withdrawal anchored" not in staff.get(page).content.decode()
    anchors().update(anchored_at=timezone.now(), block_number=7)
    assert "Withdrawal anchored in the ledger" in staff.get(page).content.decode()


def test_withdrawal_without_anchoring_creates_no_anchored_record(recent, settings, client):
    settings.ANCHOR_DECISIONS = False
    assert declare(client_of(recent.consumer), recent).json()["proof"] is None
    assert not DecisionAnchor.objects.exists()
    client.force_login(recent.consumer)
    assert "SHA-256" not in client.get(f"/my/applications/{recent.pk}/withdrawal").content.decode()
    assert "SHA-256" not in text_of_mails()[0].body


def test_database_requires_exactly_one_subject_of_an_anchored_withdrawal_record(recent):
    declare(client_of(recent.consumer), recent)
    for changes in ({"withdrawal": None}, {"acceptance": recent.acceptances.get()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            anchors().update(**changes)

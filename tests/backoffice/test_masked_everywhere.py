"""Test that no list and no page shows unmasked data to support."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from config.backoffice.personal import PersonalData
from config.core.casework import DataAccess
from config.core.lifecycle import Actor
from credit.applications.services import change_application
from credit.core.applicants import Applicants
from credit.models import (
    Application,
    ApplicationHistory,
    ApplicationRevision,
    ContractWithdrawal,
    Correction,
    DecisionAnchor,
    Proposal,
    RequestedDocument,
)
from credit.notices.services import issue_due, request_review
from identity.access.models import AccountHistory
from identity.accounts.models import Invitation, ManagedAccount
from identity.bank.models import BankAccount, BankItem, BankTransaction
from identity.kyc.models import KycVerification, KycVerificationHistory
from payments.cards.models import Payment, PaymentMethod, ProcessorEvent
from payments.crypto.models import CryptoPayment, CryptoPaymentHistory
from staging.models import Note
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.applicants import changed
from tests.factories import ApplicationFactory, ClaimFactory, ProviderFactory, StagedItemFactory, UserFactory
from tests.payments.wallet_support import ADDRESS, connected, custodial

SECRET = "qqsecret"  # Every personal text contains this string.
NUMBER = 98_765_431  # Every personal number has this value.
SHOWN = re.compile(rf"{SECRET}|98,?765,?431|987,?654\.31", re.IGNORECASE)
ADMINS = {
    model: model_admin
    for model, model_admin in admin.site._registry.items()
    if isinstance(model_admin, PersonalData) and model_admin.is_about_people
}


def text(of=""):
    return f"{SECRET} {of}".strip()


@pytest.fixture
def person(db):
    return UserFactory(username="jane", email=f"{SECRET}@example.test", first_name=text(), last_name=text())


@pytest.fixture
def secret_records(person, reviewer):
    """Create records of every kind, with secrets in every masked field; return the application."""
    now = timezone.now()
    theirs = Actor(user=person, credential="jwt:x")
    staff = Actor(user=reviewer, credential="admin", second_factor=True)
    application = ApplicationFactory(
        consumer=person, application_data={"name": text(), "amount_cents": NUMBER}, notes=text(),
        applicants=Applicants.of([changed("legal_name", text())]),
    )  # fmt: skip
    application.transition_to("submitted", actor=theirs, changed_by="jane", now=now, reason=text("sent"))
    changes = {
        "application_data": {"name": text("again"), "amount_cents": NUMBER},
        "applicants": [changed("address.line1", text()), changed("email", f"{SECRET}@example.test")],
    }
    application = change_application(
        str(application.pk), actor=theirs, updated_by="jane", changes=changes, now=now + timedelta(seconds=1)
    )
    application.transition_to("under_review", actor=staff, changed_by="rita", now=now)
    RequestedDocument.objects.create(
        application=application, name="Payslip", reason=text("unreadable"), requested_at=now, changed_by=reviewer
    )
    reasons = {"reasons": [{"code": "other", "text": text("of the decision")}]}
    application.transition_to("rejected", actor=staff, changed_by="rita", now=now, reason=text("why"), metadata=reasons)
    request_review(str(application.pk), statement=text("asked again"), actor=theirs, now=now + timedelta(seconds=2))
    ProviderFactory(id=str(application.provider_id), name="Cedar Bank", address="1 Bank Street")
    assert issue_due(now=now + timedelta(seconds=3))["ready"] == 1
    claim = ClaimFactory(user=person, evidence=[text()], notes=text())
    claim.transition_to("pending", actor=theirs, changed_by="jane", now=now, reason=text())
    claim.transition_to("revoked", actor=theirs, changed_by="jane", now=now, reason=text())
    check = KycVerification.objects.create(
        user=person, attempt=1, status="failed", status_reason=text(), provider="sandbox", provider_reference="idv_1",
        provider_status="failed", steps={}, last_error={"message": text()}, expires_at=now, refreshed_at=now,
        completed_at=now, created_at=now, updated_at=now,
    )  # fmt: skip
    KycVerificationHistory.objects.create(
        verification=check, position=1, previous_status="pending_review", status="failed", changed_by="rita",
        changed_at=now, reason=text(), metadata={"note": text()}, principal=reviewer, credential="admin",
    )  # fmt: skip
    BankItem.objects.create(
        user=person, provider="sandbox", item_id="item-1", access_token=text(), token_fingerprint="ab",
        linked_at=now, updated_at=now,
    )  # fmt: skip
    BankAccount.objects.create(
        user=person, account_id="acc-1", item_id="item-1", name=text(), official_name=text(), mask=text(),
        type="depository", currency="USD", current_cents=NUMBER, available_cents=NUMBER, from_provider=True,
        created_at=now, updated_at=now,
    )  # fmt: skip
    BankTransaction.objects.create(
        user=person, transaction_id="tx-1", account_id="acc-1", item_id="item-1", name=text(), merchant_name=text(),
        date=now.date(), amount_cents=NUMBER, currency="USD", pending=False, from_provider=True, created_at=now,
        updated_at=now,
    )  # fmt: skip
    payment = Payment.objects.create(
        user=person, amount_cents=5000, fee_amount_cents=75, currency="usd", payment_method_id="pm",
        processor="sandbox", processor_key="k1", method_token=text(), status="Unknown", description=text(),
        due_at=now, created_at=now,
    )  # fmt: skip
    ProcessorEvent.objects.create(id="evt-1", type="charge", payment=payment, detail={}, received_at=now)
    PaymentMethod.objects.create(
        user=person, processor_type="card", account_token=text(), account_hint="visa", created_at=now
    )
    wallet = connected(person, label=text())
    custodial(person, label=text())
    crypto = CryptoPayment.objects.create(
        user=person, wallet=wallet, simulated=True, network=wallet.network, from_address=ADDRESS, to_address=ADDRESS,
        amount_usdc=1, description=text(), status="awaiting_signature", expires_at=now, created_at=now, updated_at=now,
    )  # fmt: skip
    CryptoPaymentHistory.objects.create(
        payment=crypto, position=1, previous_status="awaiting_signature", status="expired", changed_by="system",
        changed_at=now, reason=text(), principal=None, credential="system",
    )  # fmt: skip
    Proposal.objects.create(
        application=application, to="approved", reason=text(), seen="x", proposed_by=UserFactory(), proposed_at=now
    )
    ManagedAccount.objects.create(
        user=person, partner=reviewer, external_id=text(), email=text(), name=text(), created_at=now
    )
    Invitation.objects.create(email=text(), role="developer", invited_by=reviewer, created_at=now, expires_at=now)
    AccountHistory.objects.create(account=person, principal=person, credential="jwt", action="account.claimed", at=now)
    StagedItemFactory(user=person, payload={"text": text()})
    Note.objects.create(id=uuid4(), user=person, title=text(), text=text(), created_at=now)
    ContractWithdrawal.objects.create(
        application=application, declared_at=timezone.now(), received_at=timezone.now(), channel="post",
        repay_by=timezone.now().date(), principal=application.consumer, credential="jwt",
    )  # fmt: skip
    Correction.objects.create(
        application=application, fact="application_data.amount_cents", claimed=str(NUMBER), statement=text(),
        requested_at=now, due_at=now,
    )  # fmt: skip
    return application


def pages():
    """Yield the URL of every list and of every record's pages, for every admin about people."""
    for model, model_admin in ADMINS.items():
        yield model_admin.address_of("changelist")
        for pk in model._base_manager.values_list("pk", flat=True):
            yield model_admin.address_of("change", pk)
            yield model_admin.address_of("do", pk, "unmask")


def test_lists_pages_and_exports_show_support_no_unmasked_data(secret_records, supports_client, person):
    assert all(model._base_manager.exists() for model in ADMINS)
    for address in pages():
        response = supports_client.get(address)
        # Only reviewers, lenders, or Operations can open these pages.
        of_others = any(kind in address for kind in ("/proposal/", "/credit/applicant/", "/processorevent/"))
        assert response.status_code == (403 if of_others else 200), address
        assert not (match := SHOWN.search(response.content.decode())), (address, match)
    case = reverse("admin:credit_application_change", args=[secret_records.pk])
    assert not SHOWN.search(supports_client.get(f"{case}?events=all").content.decode())
    omar = backoffice_client(staff_of("Operations", username="omar"))
    exported = omar.post(f"{reverse('admin:credit_decisionanchor_changelist')}export/csv/").getvalue().decode()
    assert "•••" in exported
    assert not SHOWN.search(exported)


def test_reviewer_can_view_and_sort_the_data_that_is_masked_for_support(
    secret_records, reviewers_client, supports_client
):
    move = ApplicationHistory.objects.get(status="rejected")
    for record in (secret_records, move, DecisionAnchor.objects.get(history__isnull=False)):
        page = reviewers_client.get(ADMINS[type(record)].address_of("change", record.pk))
        assert SHOWN.search(page.content.decode()), record
    small = ApplicationFactory(consumer=secret_records.consumer, application_data={"amount_cents": 5})
    address = reverse("admin:credit_application_changelist")
    # For reviewers, a checkbox is the first column.
    assert reviewers_client.get(f"{address}?o=-3").context["cl"].result_list == [secret_records, small]
    rows = supports_client.get(f"{address}?o=-2").context["cl"].result_list
    assert [row.pk for row in rows] == sorted(Application.objects.values_list("pk", flat=True), reverse=True)


def test_access_to_a_record_about_a_person_is_logged_as_access_to_personal_data(
    secret_records, person, supports_client
):
    for model in (ApplicationHistory, ApplicationRevision, DecisionAnchor):
        looks, record = DataAccess.objects.count(), model.objects.first()
        supports_client.get(ADMINS[model].address_of("changelist"))
        supports_client.get(ADMINS[model].address_of("change", record.pk))
        listed, opened = DataAccess.objects.order_by("id")[looks:]
        assert (listed.action, listed.kind, listed.was_masked) == ("list", model._meta.label_lower, True)
        assert (opened.action, opened.record_id, opened.subject_id) == ("page", str(record.pk), person.pk)
        assert opened.was_masked


def test_lists_cannot_be_sorted_by_masked_columns(rf, supports_client):
    """Checks the field that a column sorts by, not the column's name."""
    viewer = staff_of("Support")
    for model_admin in ADMINS.values():
        for direction in ("", "-"):
            columns = ".".join(f"{direction}{at}" for at in range(len(model_admin.list_display)))
            request = rf.get("/", {"o": columns})
            request.user = viewer
            ordering = model_admin.get_changelist_instance(request).queryset.query.order_by
            assert not {item.lstrip("-") for item in ordering} & {*model_admin.hidden_fields}, model_admin

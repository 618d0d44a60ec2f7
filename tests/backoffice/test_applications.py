"""Test that the back office searches, shows, and moves applications by the rules of the API."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.urls import reverse
from django.utils import timezone

from config.core.lifecycle import Actor
from config.webhooks.models import Event
from credit.applications.services import change_application
from credit.core.figures import reference_of
from credit.models import Application, ApplicationHistory, ProviderMember
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, messages_of, seen_value, send_form, text_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

LIST = "/admin/credit/application/"


def page_of(application):
    return reverse("admin:credit_application_change", args=[application.pk])


def move_of(application, to):
    return reverse("admin:credit_application_move", args=[application.pk, to])


def make(status="under_review", **options):
    options.setdefault("submitted_at", None if status == "draft" else timezone.now() - timedelta(days=3))
    return ApplicationFactory(status=status, initial_status="draft", **options)


# --- Lists ---------------------------------------------------------------------------------------------------------


def test_application_list_shows_status_age_offer_and_account(reviewers_client):
    offer = OfferFactory(name="Harbour loan")
    application = make(offer_id=offer.pk, submitted_at=timezone.now() - timedelta(days=26))
    make(offer_id=987_654, submitted_at=timezone.now() - timedelta(days=31))
    body = reviewers_client.get(LIST).content.decode()
    assert '<span class="chip chip-wait">under review</span>' in body
    assert "26 days of 30" in body
    assert "clock-late" in body
    assert "clock-over" in body
    assert "987654 (not listed here)" in body
    assert f"Harbour loan ({offer.pk})" in body
    assert f"{application.consumer.username} ({application.consumer_id})" in body


def test_application_age_is_counted_from_submission_even_after_document_requests(reviewers_client):
    application = make("submitted", submitted_at=timezone.now() - timedelta(days=26))
    send_form(reviewers_client, move_of(application, "pending_documents"), reason="Please", documents="Payslip")
    for address in (page_of(application), f"{LIST}?queue=documents", f"{LIST}?age=21"):
        assert "26 days of 30" in text_of(reviewers_client.get(address)), address


def test_application_filters_return_only_the_selected_statuses(reviewers_client):
    for status in ("draft", "submitted", "pending_documents", "approved", "rejected"):
        make(status)
    make("under_review", submitted_at=timezone.now() - timedelta(days=25))
    for query, found in [
        ("queue=review", {"submitted", "under_review"}), ("queue=documents", {"pending_documents"}),
        ("queue=decided", {"approved", "rejected"}), ("status__exact=draft", {"draft"}), ("age=21", {"under_review"}),
        ("age=nonsense", {"draft", "submitted", "under_review", "pending_documents", "approved", "rejected"}),
    ]:  # fmt: skip
        response = reviewers_client.get(f"{LIST}?{query}")
        assert {row.status for row in response.context["cl"].result_list} == found, (query, found)


def test_review_queue_lists_the_oldest_waiting_application_first(reviewers_client):
    now = timezone.now()
    order = [make("submitted", submitted_at=now - timedelta(days=days)) for days in (9, 2, 5)]
    rows = reviewers_client.get(f"{LIST}?queue=review").context["cl"].result_list
    assert [row.pk for row in rows] == [order[0].pk, order[2].pk, order[1].pk]


def test_application_search_finds_applications_by_exact_id_or_account(reviewers_client):
    application = make(offer_id=4711)
    make(offer_id=4712)
    person = application.consumer
    for term in (str(application.pk), str(application.pk).upper(), person.username, str(person.pk)):
        rows = reviewers_client.get(LIST, {"q": term}).context["cl"].result_list
        assert [row.pk for row in rows] == [application.pk], term
    for term in ("nobody-at-all", "99999999999999999999", "%", "\x00"):
        response = reviewers_client.get(LIST, {"q": term})
        assert response.status_code == 200
        assert "\x00" in term or response.context["cl"].result_list == [], term


def test_application_search_finds_an_application_by_reference_or_ten_characters_of_the_id(reviewers_client):
    application, _other = make(), make()
    reference = f"A-{application.pk.hex[-8:].upper()}"
    assert reference in reviewers_client.get(LIST).content.decode()
    for term in (reference, reference.lower(), f" {reference} "):
        assert reviewers_client.get(LIST, {"q": term}).context["cl"].result_list == [application], term
    assert reviewers_client.get(LIST, {"q": reference[:9]}).context["cl"].result_list == []
    shown = str(application.pk)[-12:]
    for term in (shown, f"…{shown}", shown[:10], shown[2:], shown.upper(), str(application.pk)[9:]):
        assert reviewers_client.get(LIST, {"q": term}).context["cl"].result_list == [application], term
    assert reviewers_client.get(LIST, {"q": shown[:9]}).context["cl"].result_list == []
    theirs = make(consumer=UserFactory(username=shown[1:11]))
    assert reviewers_client.get(LIST, {"q": shown[1:11]}).context["cl"].result_list == [theirs, application]
    assert reviewers_client.get(LIST, {"q": shown, "queue": "documents"}).context["cl"].result_list == []


def test_application_search_by_offer_number_finds_the_applications_to_that_offer(reviewers_client):
    applications = [make(offer_id=17), make("submitted", offer_id=17)]
    make(offer_id=170)
    assert set(reviewers_client.get(LIST, {"q": "offer:17"}).context["cl"].result_list) == set(applications)
    narrowed = reviewers_client.get(LIST, {"q": "offer:17", "status__exact": "submitted"})
    assert narrowed.context["cl"].result_list == [applications[1]]
    for term in ("offer:18", "offer:", "offer:x", "offer:0", "offer:99999999999999999999"):
        assert reviewers_client.get(LIST, {"q": term}).context["cl"].result_list == [], term


def test_application_list_of_any_length_executes_the_same_sql_statements(
    reviewers_client, django_assert_max_num_queries
):
    offers = [OfferFactory() for _ in range(3)]
    make(offer_id=offers[0].pk)
    with django_assert_max_num_queries(100) as few:
        assert reviewers_client.get(LIST).status_code == 200
    for offer in offers * 5:
        make(offer_id=offer.pk)
    with django_assert_max_num_queries(len(few)):
        assert reviewers_client.get(LIST).status_code == 200


# --- The page ------------------------------------------------------------------------------------------------------


def test_application_page_shows_the_application_data_the_submitted_offer_terms_and_the_digest(reviewers_client):
    application = make(
        application_data={"purpose": "<roof>"}, notes="<b>bold</b>", status_reason="<i>", offer_version=3,
        offer_snapshot={"name": "Roof loan", "nationwide": True},
    )  # fmt: skip
    page = reviewers_client.get(page_of(application))
    assert not re.search("<roof>|<b>bold", page.content.decode()), "values are escaped"
    text = text_of(page)
    assert "Purpose <roof>" in text
    assert "Roof loan" in text
    assert "Nationwide yes" in text
    assert "d5d7b1" not in text  # Digests are computed when the page is shown.
    from hashlib import sha256

    assert sha256(b'{"purpose":"<roof>"}').hexdigest() in text


def test_application_timeline_shows_the_authenticated_actor_and_the_name_sent_by_the_client(reviewers_client, reviewer):
    application = make("submitted")
    application.transition_to(
        "under_review", actor=Actor(user=reviewer, credential="api_key:abc"), changed_by="Somebody Else",
        now=timezone.now(), reason="Looks complete", metadata={"ticket": 7},
    )  # fmt: skip
    text = text_of(reviewers_client.get(page_of(application)))
    assert "by rita, with the API key abc (the client named “Somebody Else”)" in text
    assert "Looks complete" in text
    assert "Ticket 7" in text


def test_timeline_entries_at_the_same_instant_are_in_insertion_order(reviewers_client, reviewer):
    now = timezone.now()
    application = ApplicationFactory(status="draft", initial_status="draft", created_at=now, updated_at=now)
    actor = Actor(user=reviewer, credential="api_key:abc")
    for to in ("submitted", "under_review", "pending_documents", "under_review", "approved"):
        application.transition_to(to, actor=actor, changed_by="rita", now=now)
    timeline = reviewers_client.get(page_of(application)).context["timeline"]
    assert [entry.status for entry in timeline] == [
        "approved", "under_review", "pending_documents", "under_review", "submitted", "draft",
    ]  # fmt: skip


def test_application_page_shows_data_changes_in_insertion_order_with_digests(reviewers_client):
    application = make("submitted", application_data={"amount": 1})
    change_application(
        str(application.pk), actor=Actor(user=application.consumer, credential="jwt:x"), updated_by="me",
        changes={"application_data": {"amount": 2}}, now=timezone.now(),
    )  # fmt: skip
    text = text_of(reviewers_client.get(page_of(application)))
    assert "The data changed 1 time(s) after submission" in text
    assert f"before as created after {application.revisions.get().sha256}" in text
    application, now = make("submitted", application_data={"amount": 0}), timezone.now()
    for amount in (1, 2, 3):
        change_application(
            str(application.pk), actor=Actor(user=application.consumer, credential="jwt:x"), updated_by="me",
            changes={"application_data": {"amount": amount}}, now=now,
        )  # fmt: skip
    digests = list(application.revisions.order_by("-id").values_list("sha256", flat=True))
    timeline = reviewers_client.get(page_of(application)).context["timeline"]
    assert [dict(entry.facts)["after"] for entry in timeline if entry.title == "Data changed"] == digests


def test_page_of_an_application_imported_as_approved_states_that_no_earlier_decision_exists(reviewers_client):
    application = ApplicationFactory(status="approved", initial_status="approved")
    assert "The platform has no earlier decision" in text_of(reviewers_client.get(page_of(application)))
    assert "The platform has no earlier decision" not in text_of(reviewers_client.get(page_of(make("draft"))))


# --- Transitions ---------------------------------------------------------------------------------------------------


def test_reviewer_can_approve_an_application_with_a_reason(reviewers_client, reviewer):
    application = make()
    response = confirm(reviewers_client, move_of(application, "approved"), reason="Income is enough")
    assert f"Application {reference_of(application.pk)} is now approved." in text_of(response)
    application.refresh_from_db()
    row = ApplicationHistory.objects.get()
    assert (application.status, application.status_reason, application.reviewed_by) == (
        "approved", "Income is enough", "rita",
    )  # fmt: skip
    assert (row.principal, row.credential, row.changed_by) == (reviewer, "admin", "rita")
    assert Event.objects.get().type == "application.approved"


def test_transition_confirmation_page_describes_the_transition_and_highlights_one_field(reviewers_client):
    application = make()
    text = text_of(reviewers_client.get(move_of(application, "rejected")))
    assert "The status changes from “under review” to “rejected”" in text
    assert "The applicant can read the new status and the reason" in text
    for to, first in [("approved", "amount"), ("pending_documents", "documents"), ("rejected", "code_1")]:
        form = reviewers_client.get(move_of(make(), to)).content.decode()
        tags = re.findall(r"<(?:input|textarea|select)[^>]* data-first[^>]*>", form)
        assert "autofocus" not in form, (to, first)
        assert len(tags) == 1, (to, first)
        assert f'name="{first}"' in tags[0], (to, first)


def test_disallowed_back_office_transition_shows_the_required_status(reviewers_client):
    application = make("draft")
    # Reviewers can't expire an application.
    other, ended = make(), make("withdrawn")
    for address, text in (
        (move_of(application, "approved"), f"{reference_of(application.pk)} must be under review first."),
        (move_of(other, "expired"), f"Can't change the status of {reference_of(other.pk)} from “under review”"),
        (move_of(ended, "approved"), f"{reference_of(ended.pk)} is withdrawn, which is final."),
    ):
        assert text in messages_of(reviewers_client.get(address))
        assert text in messages_of(reviewers_client.post(address, {"seen": "x"}))
    assert not ApplicationHistory.objects.exists()


def test_outdated_or_repeated_confirmation_of_a_transition_changes_nothing(reviewers_client):
    application = make("submitted", application_data={"amount": 1})
    address = move_of(application, "under_review")
    seen = seen_value(reviewers_client.get(address))
    Application.objects.update(application_data={"amount": 2})
    response = reviewers_client.post(address, {"seen": seen})
    assert "changed after you opened the page" in text_of(response)
    application.refresh_from_db()
    assert application.status == "submitted"
    application = make()
    address = move_of(application, "pending_documents")
    fields = {"seen": seen_value(reviewers_client.get(address)), "reason": "Please", "documents": "Payslip"}
    reviewers_client.post(address, fields)
    again = reviewers_client.post(address, fields)
    assert "is already pending documents. rita changed the status to “pending documents” at " in text_of(again)
    assert again.context["form"]["reason"].value() == "Please"
    assert ApplicationHistory.objects.count() == 1


def test_four_eyes_forbids_a_decision_by_the_last_editor_of_the_application_data(reviewers_client, reviewer, settings):
    settings.REVIEW_POLICY = "four_eyes"
    application = make(data_changed_by=reviewer)
    response = reviewers_client.post(move_of(application, "approved"), {"seen": "x"})
    assert "can't decide the application" in text_of(response)
    application.refresh_from_db()
    assert application.status == "under_review"


def test_support_staff_and_requests_without_a_csrf_token_cannot_change_a_status(supports_client, reviewer):
    application = make()
    body = supports_client.get(page_of(application)).content.decode()
    assert "/move/" not in body
    assert "Only reviewers can decide this record" in body
    assert supports_client.get(move_of(application, "approved")).status_code == 403
    assert supports_client.post(move_of(application, "approved"), {"seen": "x"}).status_code == 403
    assert not ApplicationHistory.objects.exists()
    strict = backoffice_client(reviewer, enforce_csrf_checks=True)
    assert strict.post(move_of(application, "approved"), {"seen": "x"}).status_code == 403
    assert not ApplicationHistory.objects.exists()


def test_lender_member_can_review_only_applications_to_that_lender(db, settings):
    settings.REVIEW_POLICY = "reviewed"
    member = staff_of("Support")
    provider = ProviderFactory(id="501")
    ProviderMember.objects.create(provider=provider, user=member)
    theirs, others = make(provider_id=501), make(provider_id=502)
    client = backoffice_client(member)
    assert "/move/" in client.get(page_of(theirs)).content.decode()
    assert "/move/" not in client.get(page_of(others)).content.decode()
    assert client.get(move_of(others, "approved")).status_code == 403
    send_form(client, move_of(theirs, "approved"))
    theirs.refresh_from_db()
    assert theirs.status == "approved"


def test_back_office_transition_of_an_unknown_application_redirects_or_returns_404(reviewers_client):
    for identifier in ("0", "nonsense", "019a0000-0000-7000-8000-000000000000", "..", "%00"):
        assert reviewers_client.get(f"{LIST}{identifier}/move/approved/").status_code in {302, 404}, identifier


def test_application_timeline_includes_events_of_other_modules(reviewers_client):
    from config.webhooks.models import Delivery, Endpoint
    from identity.bank.models import BankItem
    from identity.kyc.models import KycVerification
    from payments.cards.models import Payment

    application, other = make("draft"), make("draft")
    now = timezone.now()
    person = application.consumer
    KycVerification.objects.create(
        user=person, attempt=1, status="verified", provider="sandbox", provider_reference="idv_1", steps={},
        provider_status="success", expires_at=now, refreshed_at=now, completed_at=now, created_at=now, updated_at=now,
    )  # fmt: skip
    BankItem.objects.create(
        user=person, provider="sandbox", item_id="item-1", access_token="access-sandbox-x", token_fingerprint="f" * 64,
        linked_at=now, updated_at=now,
    )  # fmt: skip
    endpoint = Endpoint.objects.create(
        account=person, url="https://shop.test/hook", event_types=["*"], secret="whsec_x", created_at=now,
        updated_at=now,
    )  # fmt: skip
    for record in (application, other):
        record.transition_to(
            "submitted", actor=Actor(user=record.consumer, credential="jwt:x"), changed_by="me", now=now
        )
    for event in Event.objects.all():
        Delivery.objects.create(
            account=person, endpoint=endpoint, event=event, event_type=event.type, status="failed", created_at=now
        )
    Payment.objects.create(
        user=person, amount_cents=5000, fee_amount_cents=75, currency="usd", payment_method_id="pm",
        processor="sandbox", processor_key="k1", method_token="pm_sandbox_ok", status="Unknown", due_at=now,
        created_at=now,
    )  # fmt: skip
    assert "Webhook" not in text_of(reviewers_client.get(page_of(application)))
    text = text_of(reviewers_client.get(page_of(application), {"events": "all"}))
    assert f"Payment {Payment.objects.get().pk} Unknown" in text
    assert "pm_sandbox_ok" not in text
    assert "Identity verification, attempt 1" in text
    assert "Bank linked at sandbox" in text
    assert text.count("Webhook application.submitted failed") == 1
    assert "access-sandbox-x" not in text


@pytest.mark.parametrize(("query", "index"), [
    ("", "credit_application_pkey"), ("p=3", "credit_application_pkey"), ("queue=review", "credit_app_review_queue"),
    ("age=21", "credit_app_review_queue"), ("queue=documents", "credit_app_status_age"),
    ("status__exact=draft", "credit_app_status_age"),
    ("q=019a0000-0000-7000-8000-000000000000", "credit_application_pkey"), ("q=nobody7", "credit_app_consumer"),
    ("q=offer:17", "credit_application_pkey"), ("q=0123456789ab", "credit_app"),
])  # fmt: skip
def test_every_application_list_query_uses_a_database_index(needs_postgresql, rf, superuser, query, index):
    from django.contrib import admin
    from django.db import connection

    for number in range(30):
        make(("draft", "submitted", "under_review", "pending_documents", "approved")[number % 5])
    if "nobody" in query:
        UserFactory(username="nobody7")
    make(id=UUID("019a0000-0000-7000-8000-0123456789ab"))
    request = rf.get(LIST)
    request.user = superuser
    rows, ordering = admin.site._registry[Application].filtered_rows(request, query)
    statements = [rows.order_by()[:5001].values("pk")]
    if "status__exact" not in query:  # The list of one status, newest first, is read in key order or by a small sort.
        statements.append(rows.order_by(*ordering).values("pk")[:50])
    for expected in statements:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
            statement, parameters = expected.query.sql_with_params()
            cursor.execute(f"EXPLAIN {statement}", parameters)
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert "Seq Scan on credit_application" not in plan, plan
        assert index in plan or "credit_a" in plan, plan


def test_button_of_a_transition_to_review_describes_the_effect(reviewers_client):
    for status, word in [
        ("approved", "Reopen"),
        ("rejected", "Reopen"),
        ("submitted", "Start the review"),
        ("pending_documents", "Return to review"),
    ]:
        application = make(status)
        for address in (page_of(application), move_of(application, "under_review")):
            text = text_of(reviewers_client.get(address))
            assert word in text, (status, word)
            assert ("Start the review" in text) == (word == "Start the review"), (status, word)

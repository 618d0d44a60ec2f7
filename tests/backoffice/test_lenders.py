"""Test what members can view and do in a lender's console, and that other lenders' records are inaccessible."""

import inspect
import itertools
import os
import random
import re
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.backoffice.consoles import console_of, has_rule, rules
from config.backoffice.lists import LargeListAdmin
from config.core.casework import Assignment, DataAccess, Note, ReplyTemplate
from credit.models import Application, Notice, Proposal, ProviderMember
from identity.models import User
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import (
    Clients,
    addresses_of,
    console_client,
    lender_of,
    models_shown,
    questions_about,
    rows_of_lender,
)
from tests.backoffice.pages import confirm, text_of
from tests.factories import ApplicationFactory
from tests.properties import share_of
from tests.second_factors import authenticator_of

# `make test` sends 40 requests, `make test-all` 400, and `CONSOLE_PROBES=100000` that many.
PROBES = int(os.environ.get("CONSOLE_PROBES", share_of(400)))
LENDERS = ("A owner", "A reviewer", "A reader")
STAFF = ("superuser", "Reviewer", "Support", "Operations")
ROLES = (*LENDERS * 3, *STAFF, "nobody")


@pytest.fixture(autouse=True)
def _reviewed(settings, no_rate_limits):
    settings.REVIEW_POLICY = "reviewed"


@pytest.fixture
def own_lender(db):
    return lender_of("quartz", 701_000_000_001)


@pytest.fixture
def other_lender(db):
    return lender_of("zircon", 702_000_000_002)


@pytest.fixture
def clients(own_lender, other_lender):
    return Clients(A=own_lender, B=other_lender)


def page_of(record):
    options = record._meta
    return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[record.pk])


def nothing_like(record):
    """Return an id of the same type that no record has."""
    pk = record.pk
    return 999_999_999 if isinstance(pk, int) else "799000000009" if str(pk).isdecimal() else uuid4()


def probes(own_lender, other_lender):
    """Yield each request for a foreign record together with the same request for a missing record."""
    absent = {name: uuid4() for name in other_lender.parts}
    for model in models_shown():
        record = other_lender.records.get(model._meta.label_lower) or other_lender.application
        missing = nothing_like(record)
        foreign = addresses_of(model, record.pk, other_lender.parts)
        pairs = list(zip(foreign, addresses_of(model, missing, absent), strict=True))
        yield from ((method, *pair) for method in ("GET", "POST") for pair in pairs)
        for term, other in (
            (str(record.pk), str(missing)), (other_lender.mark, "nobody-like-that"),
            (f"user:{other_lender.application.consumer_id}", "user:888888888"),
            (f"provider:{other_lender.number}", "provider:799"),
        ):  # fmt: skip
            pairs = zip(questions_about(model, record, term), questions_about(model, record, other), strict=True)
            yield from (("GET", *pair) for pair in pairs)
        # The request has the URL of the own record, with foreign IDs in the other parts and in the body.
        own = own_lender.records.get(model._meta.label_lower) or own_lender.application
        pairs = zip(addresses_of(model, own.pk, other_lender.parts), addresses_of(model, own.pk, absent), strict=True)
        yield from (("GET", *pair) for pair in pairs)


def body_of(other_lender, *, foreign):
    """Return a form with a foreign (or missing) ID in every field that accepts an ID."""
    if foreign:
        pk, person = other_lender.application.pk, other_lender.people["reviewer"].pk
    else:
        pk, person = uuid4(), 999_999_999
    return {
        "row": f"{pk}|x", "_selected_action": str(pk), "action": "move_to_approved", "index": "0",
        "assignee": str(person), "application": str(pk), "seen": "x", "text": "", "status": "accepted",
        "name": "", "query": "",
    }  # fmt: skip


def text_and_count(response):
    """Return the text of a response, including the content of a file, and the number of rows of its list."""
    content = b"".join(response.streaming_content) if response.streaming else response.content
    shown = getattr(response.context, "get", lambda _name: None)("cl")
    return content.decode(errors="replace").lower(), shown and shown.result_count


def test_lender_member_cannot_open_records_of_another_lender(own_lender, other_lender, clients):
    probes_tried = [
        item
        for item in itertools.product(probes(own_lender, other_lender), ROLES)
        if item[1] not in STAFF or item[0][0] == "GET"
    ]
    random.Random(20261124).shuffle(probes_tried)
    before, number = rows_of_lender(other_lender), 0
    for (method, foreign, missing), role in itertools.cycle(probes_tried):
        if number >= PROBES:
            break
        client, answers = clients[role], []
        for address, is_foreign in ((foreign, True), (missing, False)):
            client.cookies.pop("messages", None)
            sent = body_of(other_lender, foreign=is_foreign)
            response = client.get(address) if method == "GET" else client.post(address, sent)
            assert response.status_code < 500, (role, method, address)
            number += 1
            if role in STAFF:
                continue
            shown, count = text_and_count(response)
            text = f"{address} {sent}".lower()
            names = {name for name in other_lender.names if name.lower() in shown and name.lower() not in text}
            assert not names, (role, method, address, names)
            if role == "nobody":
                assert response.status_code in {302, 403}, (role, method, address)
            where = response.headers.get("Location", "").partition("?")[0].replace(address.partition("?")[0], "")
            # Every request extends the access log, so its count differs.
            answers.append((response.status_code, where, None if "dataaccess" in address else count))
        if answers:
            (status, where, count), (status_missing, where_missing, count_missing) = answers
            assert (status, count) == (status_missing, count_missing), (role, method, foreign)
            assert bool(where) == bool(where_missing), (role, method, foreign)
    assert rows_of_lender(other_lender) == before


def test_staff_can_view_records_of_all_lenders_and_accounts_without_a_role_have_no_access(
    own_lender, other_lender, clients
):
    for address in ("/admin/", "/admin/credit/application/", page_of(other_lender.application)):
        for role in (*STAFF, "nobody", *LENDERS):
            response = clients[role].get(address)
            is_refused = role == "nobody" or (role == "Operations" and "credit" in address)
            expected = {302, 403} if is_refused else {200, 404}
            assert response.status_code in expected, (role, address)
    for role in ("superuser", "Reviewer", "Support"):
        listed = clients[role].get("/admin/credit/application/").content.decode()
        assert own_lender.mark in listed, role
        assert other_lender.mark in listed, role
        assert clients[role].get(page_of(other_lender.application)).status_code == 200
    for role in LENDERS:
        listed = clients[role].get("/admin/credit/application/").content.decode()
        assert own_lender.mark in listed, role
        assert other_lender.mark not in listed, role
    assert clients["B reader"].get(page_of(other_lender.application)).status_code == 200
    person = staff_of("Support", username="both")
    ProviderMember.objects.create(provider_id=str(own_lender.number), user=person, role="owner")
    person.groups.add(Group.objects.get(name="Lender"))
    client = console_client(person)
    listed = client.get("/admin/credit/application/").content.decode()
    assert own_lender.mark in listed
    assert other_lender.mark in listed
    assert client.get("/admin/credit/notice/").status_code == console_client(staff_of("Support")).get(
        "/admin/credit/notice/"
    ).status_code  # fmt: skip


@pytest.mark.parametrize("role", LENDERS)
def test_lender_members_can_view_every_kind_of_record_and_follow_every_link(own_lender, other_lender, clients, role):
    opened, links = set(), {}
    for label, record in own_lender.records.items():
        if not has_rule(type(record)):
            assert clients[role].get(page_of(record)).status_code == 403, label
            continue
        shown = clients[role].get(page_of(record))
        assert shown.status_code == 200, label
        opened.add(page_of(record))
        links |= dict.fromkeys(re.findall(r'<a [^>]*href="(/admin/[^"#?]*)', shown.content.decode()), label)
        options = record._meta
        # Without a query, the list of lenders redirects a member of a single lender to the lender's page.
        listed = clients[role].get(reverse(f"admin:{options.app_label}_{options.model_name}_changelist"), {"o": "1"})
        assert listed.status_code == 200, label
        assert listed.context["cl"].result_count == type(record)._default_manager.filter(
            rules()[label](_console_of(own_lender, role))
        ).count() > 0, label  # fmt: skip
    assert len(links) > 20
    followed = {link: label for link, label in links.items() if link not in opened}
    assert not {link: label for link, label in followed.items() if clients[role].get(link).status_code == 403}


def _console_of(lender, role):
    return console_of(type(lender.people["owner"]).objects.get(pk=lender.people[role.split()[1]].pk))


def test_admin_pages_of_a_lender_show_only_its_own_records(own_lender, clients):
    for model in models_shown():
        shown = admin.site.get_model_admin(model)
        assert isinstance(shown, LargeListAdmin), model
        for part in type(shown).__mro__:
            if "get_queryset" in vars(part) and part.__module__.partition(".")[0] not in {"django"}:
                source = inspect.getsource(part.get_queryset)
                assert "super()" in source or "narrowed(" in source, f"{part} reads past the rule"
        if has_rule(model):
            continue
        # The same code rejects both methods, so each address is requested with one of the methods.
        for address, method in zip(addresses_of(model, 1, {}), itertools.cycle(("get", "post")), strict=False):
            response = getattr(clients["A owner"], method)(address)
            assert (response.status_code, "No access" in response.content.decode()) == (403, True), address
    known = {model._meta.label_lower for model in models_shown()} | {"credit.counteroffer"}
    assert set(rules()) <= known


def test_lender_console_requires_a_second_factor_a_group_and_a_lender_membership(own_lender, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    person = own_lender.people["reviewer"]
    assert (
        backoffice_client(person).get("/admin/", follow=True).redirect_chain[-1][0].startswith("/account/second-factor")
    )
    authenticator_of(person)
    assert backoffice_client(person).get("/admin/").status_code == 302
    assert console_client(person).get("/admin/").status_code == 200
    client = console_client(own_lender.people["reader"])
    assert client.get("/admin/").status_code == 200
    own_lender.people["owner"].groups.clear()
    assert client.get("/admin/").status_code == 302
    own_lender.people["reader"].groups.add(Group.objects.get(name="Lender"))
    assert client.get("/admin/").status_code == 200
    ProviderMember.objects.filter(user=own_lender.people["reader"]).delete()
    assert client.get("/admin/credit/application/").status_code == 302
    assert not own_lender.people["reader"].has_perm("credit.view_application"), "the console is no permission"


def test_lender_reader_has_no_action_buttons_and_actions_return_403(own_lender, clients):
    application, client = own_lender.application, clients["A reader"]
    page = client.get(page_of(application))
    assert "Only reviewers can decide this record" in text_of(page)
    assert f"{own_lender.mark}.pdf" in page.content.decode()
    place = page_of(application).removesuffix("change/")
    assert client.get(f"{place}documents/files/{own_lender.parts['file_id']}/").status_code == 200
    for rest in ("move/approved/", "note/", "assign/", f"proposal/{own_lender.parts['proposal_id']}/confirm/"):
        assert client.post(f"{place}{rest}", {"text": "x", "assignee": "me"}).status_code == 403, rest
    assert client.post("/admin/credit/application/bulk/approved/", {"row": f"{application.pk}|x"}).status_code == 403
    assert client.post("/admin/credit/application/oldest/").status_code == 403
    assert client.get("/admin/backoffice/replytemplate/add/").status_code == 403
    application.refresh_from_db()
    assert application.status == "under_review"


def test_underwriter_can_process_an_application_from_inbox_to_notice(own_lender, other_lender, clients):
    application, client = own_lender.application, clients["A reviewer"]
    own_lender.records["credit.proposal"].close(
        "withdrawn", by=own_lender.people["reviewer"], now=application.updated_at
    )
    assert client.post("/admin/credit/application/oldest/").headers["Location"].endswith("?queue=review"), "the owner's"
    Assignment.objects.filter(provider=str(own_lender.number)).delete()
    taken = client.post("/admin/credit/application/oldest/")
    assert str(application.pk) in taken.headers["Location"]
    place = page_of(application).removesuffix("change/")
    said = {"reason": "", "code_1": "no_credit_file"}
    answer = confirm(client, f"{place}move/rejected/", **said)
    assert answer.status_code == 200
    application.refresh_from_db()
    assert (application.status, application.reviewed_by) == ("rejected", "reviewer-quartz")
    kept = Notice.objects.filter(application=application)
    assert kept.count() > 1 or kept.exclude(pk=own_lender.records["credit.notice"].pk).exists()
    listed = client.get("/admin/credit/notice/")
    assert listed.context["cl"].result_count == kept.count()
    other_lender.application.refresh_from_db()
    assert other_lender.application.status == "under_review"


def test_four_eyes_approval_requires_two_reviewers_of_the_lender(own_lender, clients, settings):
    settings.REVIEW_POLICY = "four_eyes"
    place = page_of(own_lender.application).removesuffix("change/")
    proposal = f"{place}proposal/{own_lender.parts['proposal_id']}/confirm/"
    said = clients["A reviewer"].get(proposal, follow=True)
    assert "You can't confirm your own proposal" in text_of(said)
    assert clients["A reader"].get(proposal).status_code == 403
    said = text_of(confirm(clients["A owner"], proposal))
    own_lender.application.refresh_from_db()
    assert own_lender.application.status == "approved", said


def test_notes_and_assignments_are_separate_for_lender_and_platform(own_lender, other_lender, clients):
    application = own_lender.application
    place = page_of(application).removesuffix("change/")
    clients["Reviewer"].post(f"{place}note/", {"text": "between us at the platform"})
    noted = clients["A reviewer"].post(f"{place}note/", {"text": "for @owner-quartz and @owner-zircon"}, follow=True)
    assert "“owner-zircon” can't review this record" in text_of(noted)
    clients["Reviewer"].post(f"{place}assign/", {"assignee": "me"})
    clients["A reviewer"].post(f"{place}assign/", {"assignee": "me"})
    written = Note.objects.latest("id")
    assert (written.provider, written.mentioned) == (str(own_lender.number), own_lender.people["owner"])
    kept = Assignment.objects.filter(record_id=str(application.pk))
    assert {record.provider: record.assignee.username for record in kept} == {
        "": "reviewer", str(own_lender.number): "reviewer-quartz",
    }  # fmt: skip
    own = text_of(clients["A owner"].get(page_of(application)))
    assert "between us at the platform" not in own
    assert "for @owner-quartz" in own
    both = text_of(clients["Reviewer"].get(page_of(application)))
    assert "between us at the platform" in both
    assert "for @owner-quartz" in both
    choices = text_of(clients["A reviewer"].get(f"{place}move/pending_documents/"))
    assert "Text quartz" in choices
    assert "zircon" not in choices
    foreign = clients["A reviewer"].get(f"{place}assign/")
    assert "zircon" not in text_of(foreign)
    client = clients["A owner"]
    assert client.post("/admin/backoffice/replytemplate/add/", {
        "provider": str(other_lender.number), "use": "reason", "name": "x", "text": "x",
    }).status_code == 200, "not one of the choices"  # fmt: skip
    assert client.post("/admin/backoffice/replytemplate/add/", {
        "provider": str(own_lender.number), "use": "reason", "name": "x", "text": "x",
    }).status_code == 302  # fmt: skip
    assert ReplyTemplate.objects.get(name="x").provider == str(own_lender.number)


def test_platform_staff_can_edit_only_reply_templates_of_the_platform(own_lender, clients):
    client, add = clients["Reviewer"], "/admin/backoffice/replytemplate/add/"
    theirs = ReplyTemplate.objects.get(provider=str(own_lender.number))
    body = {"provider": str(own_lender.number), "use": "reason", "name": "x", "text": "x"}
    assert client.post(add, body).status_code == 302
    assert ReplyTemplate.objects.get(name="x").provider == ""
    assert client.post(add, body).status_code == 200, "the name exists"
    page = f"/admin/backoffice/replytemplate/{theirs.pk}/"
    assert client.get(f"{page}change/").status_code == 200
    assert client.post(f"{page}change/", body).status_code == 403
    assert client.post(f"{page}delete/", {"post": "yes"}).status_code == 403


def test_access_log_entry_of_a_lender_member_contains_the_lender(own_lender, other_lender, clients):
    clients["A reader"].get(page_of(own_lender.application))
    clients["A reader"].get("/admin/credit/application/")
    clients["Support"].get(page_of(own_lender.application))
    seen = DataAccess.objects.filter(viewer__username="reader-quartz").values_list("action", "provider")
    assert {*seen} == {("page", str(own_lender.number)), ("list", str(own_lender.number))}
    assert DataAccess.objects.filter(viewer__username="support").values_list("provider", flat=True).first() == ""
    listed = clients["A owner"].get("/admin/backoffice/dataaccess/")
    assert {row.provider for row in listed.context["cl"].result_list} == {str(own_lender.number)}


def test_lender_sees_only_shared_data_and_only_the_applicants_applications_to_that_lender(
    own_lender, clients, other_lender
):
    shown = text_of(clients["A reviewer"].get(page_of(own_lender.application)))
    assert "not shared with you" in shown
    assert "no account linked" not in shown
    Application.objects.filter(pk=own_lender.application.pk).update(share=["bank", "identity"])
    shown = text_of(clients["A reviewer"].get(f"{page_of(own_lender.application)}?events=all"))
    assert "no account linked" in shown
    assert "never checked" in shown
    assert "Webhook" not in shown
    assert "not shared with you" not in text_of(clients["Reviewer"].get(page_of(own_lender.application)))
    person = own_lender.application.consumer
    for number in (own_lender.number, other_lender.number, other_lender.number):
        ApplicationFactory(
            consumer=person, provider_id=number, status="submitted", submitted_at=own_lender.application.submitted_at
        )
    assert "1: 1 submitted" in text_of(clients["A reviewer"].get(page_of(own_lender.application)))
    assert "3: 3 submitted" in text_of(clients["Reviewer"].get(page_of(own_lender.application)))


def test_landing_page_of_a_lender_counts_only_its_records(own_lender, other_lender, clients):
    for role in LENDERS:
        cards = {card.queue.name: card.count for card in clients[role].get("/admin/").context["cards"]}
        assert cards["notices"] <= 1, role
        assert cards["review-requests"] == 1, role
        assert ("review" in cards) == (role != "A reader"), role
        assert cards.get("review", 1) == 1, role
    assert "zircon" not in clients["A owner"].get("/admin/").content.decode()


def test_lender_owner_cannot_add_accounts_as_members(own_lender, other_lender, clients):
    provider = own_lender.records["credit.provider"]
    place = reverse("admin:credit_provider_do", args=[provider.pk, "add-member"])
    fields = {"seen": provider.pk, "username": other_lender.people["owner"].username, "role": "owner"}
    assert clients["A owner"].post(place, fields).status_code == 403
    assert {item.user for item in ProviderMember.objects.filter(provider=provider)} == {*own_lender.people.values()}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="a plan of PostgreSQL's")
def test_application_list_of_a_lender_uses_an_index(own_lender, clients):
    connection.cursor().execute("SET LOCAL enable_seqscan = off")
    with CaptureQueriesContext(connection) as captured:
        clients["A reader"].get("/admin/credit/application/")
    statements = [query["sql"] for query in captured if 'FROM "credit_application"' in query["sql"]]
    # The chips of a page are selected by the primary keys of its rows.
    lists = [sql for sql in statements if "LIMIT" in sql and '"credit_application"."id" IN' not in sql]
    assert lists
    for statement in lists:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {statement}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert "credit_app_inbox" in plan, plan


def test_application_list_of_a_lender_executes_at_most_one_additional_sql_statement(own_lender, other_lender, clients):
    counted = {}
    for role in ("Reviewer", "A reviewer"):
        clients[role].get("/admin/credit/application/")
        with CaptureQueriesContext(connection) as captured:
            assert clients[role].get("/admin/credit/application/").status_code == 200
        counted[role] = len(captured)
    assert counted["A reviewer"] <= counted["Reviewer"] + 1


def test_lender_console_shows_the_names_of_reviewers_in_proposals(db):
    lender = lender_of("quartz", 701)
    User.objects.filter(pk=lender.people["reviewer"].pk).update(first_name="Rita", last_name="Roe")
    proposal = Proposal.objects.get()
    owner = console_client(lender.people["owner"])
    case, proposals, own = (
        text_of(owner.get(address))
        for address in (
            page_of(lender.application),
            "/admin/credit/proposal/",
            f"/admin/credit/proposal/{proposal.pk}/change/",
        )
    )
    assert "Rita Roe proposed approval" in case
    assert "Rita Roe" in proposals
    assert "Proposed by Rita Roe" in own
    assert "reviewer-quartz" not in proposals + own
    proposal.close(Proposal.VOID, by=lender.people["reviewer"], now=timezone.now())
    assert "The proposal of approval by Rita Roe became void" in text_of(owner.get(page_of(lender.application)))

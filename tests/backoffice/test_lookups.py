"""A list answers what its own filters ask and nothing else, and every question about people is written down."""

from itertools import product
from uuid import uuid4

import pytest
from django.contrib import admin
from django.urls import reverse

from config.backoffice.lists import LargeListAdmin
from config.core.casework import DataAccess
from tests.backoffice.test_applications import LIST, make, page_of
from tests.factories import UserFactory

ADMINS = {model._meta.label_lower: model_admin for model, model_admin in admin.site._registry.items()}
OURS = sorted(label for label, model_admin in ADMINS.items() if isinstance(model_admin, LargeListAdmin))
LOOKUPS = ("", "__exact", "__startswith", "__regex", "__contains", "__gt", "__lte", "__in", "__isnull")
USERS, ACCOUNTS = "/admin/identity/user/", "/admin/identity/bankaccount/"


def test_every_list_is_built_on_our_base():
    assert set(ADMINS) == set(OURS)
    assert len(OURS) > 25


def test_every_paginated_list_has_an_order(rf, superuser):
    request = rf.get("/")
    request.user = superuser
    assert [label for label in OURS if not ADMINS[label].get_queryset(request).ordered] == []


@pytest.mark.parametrize("label", OURS)
def test_a_list_allows_the_look_ups_of_its_filters_and_no_other(label, rf, superuser):
    model_admin = ADMINS[label]
    request = rf.get("/")
    request.user = superuser
    listed = model_admin.get_changelist_instance(request)
    offered = {name for one in listed.filter_specs for name in one.expected_parameters()}
    for name in offered:
        assert model_admin.lookup_allowed(name, "x", request), name
    filtered = {one[0] if isinstance(one, tuple) else one for one in model_admin.list_filter}
    for field in model_admin.opts.concrete_fields:
        for lookup in LOOKUPS:
            name = f"{field.name}{lookup}"
            plain = field.name in filtered and lookup in {"", "__exact", "__isnull"}
            assert plain or name in offered or not model_admin.lookup_allowed(name, "x", request), name
            assert not model_admin.lookup_allowed(f"user__{name}", "x", request)


@pytest.mark.parametrize(("address", "query"), [
    (LIST, "notes__startswith=confid"), (LIST, "application_data__regex=Acacia"),
    (LIST, "application_data__name__startswith=J"), (LIST, "consumer__email__startswith=jane"),
    (LIST, "status_reason__contains=x"), (LIST, "queue=review&notes__startswith=confid"),
    (USERS, "email__startswith=jane"), (USERS, "password__startswith=m"), (USERS, "date_joined__gt=2020-01-01"),
    (ACCOUNTS, "current_cents__gt=5"), (ACCOUNTS, "user__first_name=Jane"),
    ("/admin/credit/applicationhistory/", "reason__startswith=x"), ("/admin/credit/offer/", "nonsense=1"),
])  # fmt: skip
def test_support_is_refused_and_that_it_asked_is_kept(supports_client, address, query):
    make(notes="confidential", application_data={"name": "Jane", "street": "Acacia"})
    response = supports_client.get(f"{address}?{query}")
    assert response.status_code == 400
    assert "offers no such filter" in response.content.decode()
    look = DataAccess.objects.get()
    assert (look.action, look.viewer.username, look.details["query"]) == ("refused", "sam", query)
    assert f"/admin/{look.kind.replace('.', '/')}/" == address


def test_neither_exports_nor_the_way_through_a_list_answer_such_a_question(reviewers_client):
    first, last = make(notes="confidential"), make(notes="confidential")
    exported = reviewers_client.post(f"{LIST}export/csv/?notes__startswith=confid")
    assert exported.status_code == 400
    assert DataAccess.objects.get().action == "refused"
    page = reviewers_client.get(page_of(first) + "?_changelist_filters=notes__startswith%3Dconfid")
    assert page.status_code == 200
    assert reverse("admin:credit_application_change", args=[last.pk]) not in page.content.decode()
    assert DataAccess.objects.filter(action="refused").count() == 2


def test_a_list_that_found_nothing_was_a_question_too(supports_client):
    make()
    for address, query in ((LIST, "q=nobody-at-all"), (LIST, "queue=documents"), (USERS, "q=nobody-at-all")):
        assert supports_client.get(f"{address}?{query}").context["cl"].result_list == []
        look = DataAccess.objects.order_by("id").last()
        assert (look.action, look.details) == ("list", {"query": query, "rows": 0})


def test_masked_columns_cannot_be_sorted(supports_client, superusers_client):
    for name in ("mia", "zoe", "amy"):
        UserFactory(username=f"{name}{name}", email=f"{name}@example.test")
    at = ADMINS["identity.user"].list_display.index("email")
    for direction in ("", "-"):
        mails = [row.email for row in superusers_client.get(f"{USERS}?o={direction}{at}").context["cl"].result_list]
        assert mails == sorted(mails, reverse=bool(direction))
        rows = supports_client.get(f"{USERS}?o={direction}{at}").context["cl"].result_list
        assert [row.pk for row in rows] == sorted((row.pk for row in rows), reverse=True)


def test_a_mail_address_is_found_whole_and_not_guessed_by_letters(supports_client):
    person = UserFactory(username="jdoe", email="jane@example.test")
    assert supports_client.get(f"{USERS}?q=Jane@example.test").context["cl"].result_list == [person]
    assert supports_client.get(f"{USERS}?q=jan").context["cl"].result_list == []


def test_every_searchable_list_accepts_any_query(rf, superuser, superusers_client):
    searched = [one for one in ADMINS.values() if one.search_fields]
    assert len(searched) > 15
    for one, term in product(searched, ("1", "ada", "a b", str(uuid4()))):
        request = rf.get("/", {"q": term})
        request.user = superuser
        assert one.get_changelist_instance(request).result_list is not None
    for one in searched:
        address = reverse(f"admin:{one.opts.app_label}_{one.opts.model_name}_changelist")
        assert superusers_client.get(address, {"q": str(2**63)}).status_code == 200, address

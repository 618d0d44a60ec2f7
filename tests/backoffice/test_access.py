"""Who may be at the back office, and that nobody meets a link there that leads to a refusal."""

import re
from collections import deque
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.backoffice.records import ReadOnlyAdmin
from config.core.lifecycle import Actor
from credit.applications import change_application
from identity.access import keys
from identity.access.signing_keys import create_signing_key
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, links_of
from tests.credit.scoring.cards import GOOD
from tests.credit.scoring.past import model_of, scored, version_of
from tests.factories import PASSWORD, ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

# What reading a page may write: who looked, and the session's life.
MAY_GROW = {"sessions.session", "backoffice.dataaccess", "backoffice.presence"}


@pytest.fixture
def furnished(db):
    """Records of every kind that the back office shows."""
    now = timezone.now()
    person = UserFactory(username="jane", email="jane@example.test", first_name="Jane")
    offer = OfferFactory(provider=ProviderFactory(id="501"))
    for status in ("draft", "submitted", "under_review", "pending_documents", "approved", "withdrawn"):
        application = ApplicationFactory(
            consumer=person, offer_id=offer.pk, provider_id=501, status=status, submitted_at=now - timedelta(days=2)
        )
    moved = ApplicationFactory(consumer=person, status="draft", application_data={"a": 1})
    actor = Actor(user=person, credential="jwt:x")
    moved.transition_to("submitted", actor=actor, changed_by="jane", now=now)
    change_application(str(moved.pk), actor=actor, updated_by="jane", changes={"application_data": {"a": 2}}, now=now)
    moved.transition_to("under_review", actor=actor, changed_by="jane", now=now)
    moved.transition_to("rejected", actor=actor, changed_by="jane", now=now)
    keys.create_api_key(owner=person, name="shop", scopes=None, now=now)
    busy = staff_of("Reviewer", username="busy")
    page = reverse("admin:credit_application_change", args=[moved.pk])
    backoffice_client(busy).get(page)
    confirm(backoffice_client(busy), page.replace("/change/", "/move/under_review/"))
    create_signing_key(now=now, signs_from=now)
    champion = version_of(model_of(ProviderFactory(id="502")))
    version_of(champion.model, number=2, role="")
    scored(champion, GOOD, offer_snapshot={"blockscore_model_id": champion.model_id})
    return application


def crawl(client, *, every_choice, start="/admin/"):
    """Follow every link of the back office; yield (address, from where, response).

    What a filter offers does the same for everybody: one visitor tries every choice, others one of each.
    """
    seen, filters, waiting = {start}, set(), deque([(start, "")])
    while waiting:
        address, source = waiting.popleft()
        response = client.get(address)
        yield address, source, response
        if response.status_code == 302:
            found = [response.headers["Location"]]
        elif "text/html" in response.headers.get("Content-Type", ""):
            found = links_of(response)
        else:
            continue
        for link in found:
            target = urlsplit(urljoin(address, link))
            plain = target.path + (f"?{target.query}" if target.query else "")
            # One filter at a time, and no sorting: combinations are the same pages again.
            is_combined = "&" in target.query or "o=" in target.query
            if not target.path.startswith("/admin/") or is_combined or plain in seen:
                continue
            seen.add(plain)
            chosen = (target.path, target.query.partition("=")[0])
            if every_choice or not target.query or chosen[1] == "queue" or chosen not in filters:
                filters.add(chosen)
                waiting.append((plain, address))
    assert len(seen) > 5


def rows():
    """Return how many rows each table has."""
    tables = set(connection.introspection.table_names())
    return {
        model._meta.label_lower: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.label_lower not in MAY_GROW and model._meta.db_table in tables
    }


def assert_harmless(address, body):
    """Check that a page has no script or style in it, and asks no other host for anything."""
    for tag in re.findall(r"<script\b[^>]*>", body):
        assert "src=" in tag or 'type="application/json"' in tag, (address, tag)
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?:https?:)?//", body), address
    assert not re.findall(r"<[^>]+\son[a-z]+=[\"']", body), address
    assert "<style" not in body, address
    assert not re.findall(r"<[^>]+\sstyle=[\"']", body), address


@pytest.mark.parametrize(
    ("group", "policy"),
    [("Reviewer", "open"), ("Reviewer", "four_eyes"), ("Support", "open"), ("Operations", "open"), (None, "reviewed")],
)
def test_no_link_of_the_backoffice_leads_to_a_refusal_or_a_fault_and_none_changes_anything(
    furnished, settings, group, policy
):
    settings.REVIEW_POLICY = policy
    person = staff_of(group) if group else UserFactory(is_staff=True, is_superuser=True)
    client = backoffice_client(person)
    before = rows()
    for address, source, response in crawl(client, every_choice=person.is_superuser):
        assert response.status_code in {200, 302}, f"{source} links to {address}: {response.status_code}"
        if response.status_code == 302:
            assert "/login/" not in response.headers["Location"], address
        elif "text/html" in response.headers["Content-Type"]:
            assert_harmless(address, response.content.decode())
    assert rows() == before


def test_the_backoffice_asks_for_a_login(db):
    for path in ("/admin/", "/admin/credit/application/", "/admin/identity/apikey/x/do/revoke/"):
        response = Client().get(path)
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/admin/login/")


def test_an_account_that_is_not_staff_is_not_let_in(user):
    response = backoffice_client(user).get("/admin/credit/application/", follow=True)
    assert "not authorized" in response.content.decode()
    anonymous = Client()
    response = anonymous.post("/admin/login/", {"username": user.username, "password": PASSWORD})
    assert response.status_code == 200
    assert "staff account" in response.content.decode()


def test_a_bearer_token_is_no_way_into_the_client(superuser):
    from tests.api import bearer_of

    response = Client().get("/admin/", headers={"Authorization": f"Bearer {bearer_of(superuser)}"})
    assert response.status_code == 302


def test_pages_carry_a_policy_that_allows_no_foreign_host_and_no_inline_script(superusers_client):
    response = superusers_client.get("/admin/")
    policy = response.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "no-store" in response.headers["Cache-Control"]
    assert response.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "label",
    ["credit.applicationhistory", "credit.applicationrevision", "credit.decisionanchor", "webhooks.event",
     "credit.application", "credit.offer", "identity.apikey", "identity.signingkey"],
)  # fmt: skip
def test_what_only_grows_is_read_only_even_for_a_superuser(label, rf, superuser):
    model = apps.get_model(label)
    model_admin = admin.site._registry[model]
    assert isinstance(model_admin, ReadOnlyAdmin)
    request = rf.get("/")
    request.user = superuser
    assert not model_admin.has_add_permission(request)
    assert not model_admin.has_change_permission(request)
    assert not model_admin.has_delete_permission(request)
    assert model_admin.has_view_permission(request)


def test_a_refusal_and_an_address_of_nothing_are_pages_with_a_way_back(supports_client):
    for address, status in (("/admin/identity/apikey/", 403), ("/admin/nothing/at/all/", 404)):
        response = supports_client.get(address)
        assert response.status_code == status
        assert response.headers["Content-Type"].startswith("text/html")
        assert "/admin/" in links_of(response)

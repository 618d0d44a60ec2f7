"""Crawl the links of the back office, with records of every kind to link to."""

import re
from collections import deque
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

import pytest
from django.apps import apps
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.applications.services import change_application
from identity.access import keys
from identity.access.signing_keys import create_signing_key
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import links_of, send_form
from tests.credit.scoring.cards import GOOD
from tests.credit.scoring.past import model_of, scored, version_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

# Reading a page can add rows to the access log, presence, and sessions.
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
    send_form(backoffice_client(busy), page.replace("/change/", "/move/under_review/"))
    create_signing_key(now=now, signs_from=now)
    champion = version_of(model_of(ProviderFactory(id="502")))
    version_of(champion.model, number=2, role="")
    scored(champion, GOOD, offer_snapshot={"blockscore_model_id": champion.model_id})
    return application


def crawl(client, *, kind_of, start="/admin/"):
    """Follow one link of each kind in the back office; yield (address, from where, response).

    `kind_of` maps an address to its kind.
    """
    seen, waiting = {kind_of(start)}, deque([(start, "")])
    while waiting:
        address, source = waiting.popleft()
        response = client.get(address)
        yield address, source, response
        if response.status_code == 302:
            addresses = [response.headers["Location"]]
        elif "text/html" in response.headers.get("Content-Type", ""):
            addresses = links_of(response)
        else:
            continue
        for link in addresses:
            target = urlsplit(urljoin(address, link))
            plain = target.path + (f"?{target.query}" if target.query else "")
            # The crawl uses one filter at a time and no sorting, because combinations show the same pages again.
            is_combined = "&" in target.query or "o=" in target.query
            if not target.path.startswith("/admin/") or is_combined or kind_of(plain) in seen:
                continue
            seen.add(kind_of(plain))
            waiting.append((plain, address))
    assert len(seen) > 5


def one_choice(address):
    """Treat all choices of a filter as one kind."""
    path, _, query = address.partition("?")
    return address if query.startswith("queue=") else (path, query.partition("=")[0])


def one_record(address):
    """Treat all records of a table as one kind, and all lists of the table too, regardless of filters."""
    return re.sub(r"[^/]*[0-9][^/]*", "*", address.partition("?")[0])


def rows():
    """Return the number of rows of each table."""
    tables = set(connection.introspection.table_names())
    return {
        model._meta.label_lower: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.label_lower not in MAY_GROW and model._meta.db_table in tables
    }


def assert_harmless(address, body):
    """Check that a page has no inline script or style and no code markup, and loads nothing from another host."""
    assert "`" not in body, address
    for tag in re.findall(r"<script\b[^>]*>", body):
        assert "src=" in tag or 'type="application/json"' in tag, (address, tag)
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?:https?:)?//", body), address
    assert not re.findall(r"<[^>]+\son[a-z]+=[\"']", body), address
    assert "<style" not in body, address
    assert not re.findall(r"<[^>]+\sstyle=[\"']", body), address


def assert_no_link_fails(client, *, kind_of):
    """Check that no link leads to a refusal or an error, and that reading pages changes nothing."""
    before = rows()
    for address, source, response in crawl(client, kind_of=kind_of):
        assert response.status_code in {200, 302}, f"{source} links to {address}: {response.status_code}"
        if response.status_code == 302:
            assert "/login/" not in response.headers["Location"], address
        elif "text/html" in response.headers["Content-Type"]:
            assert_harmless(address, response.content.decode())
    assert rows() == before

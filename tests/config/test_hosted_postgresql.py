"""Test an unprivileged role behind a proxy that pins a session to its client after some commands."""

from collections import Counter

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from config.core.databases import database_of
from config.ops.pruning import prune
from ledger.models import Entry
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.databases import own_database_url
from tests.factories import ApplicationFactory, UserFactory
from tests.pinning_proxy import PinningProxy

ROLE = "credit_platform_hosted"


def entry_of(query):
    return database_of(f"postgres://platform@db.example/platform{query}", statement_timeout_seconds=25)


def test_database_url_sets_start_up_options():
    options = entry_of("")["OPTIONS"]["options"]
    assert "-c TimeZone=UTC" in options
    assert "-c statement_timeout=25s" in options
    options = entry_of("?startup_options=0&prepare_threshold=1000000000")["OPTIONS"]
    assert options == {"connect_timeout": 3, "prepare_threshold": 1_000_000_000}
    assert entry_of("?startup_options=0&options=-c%20x.y%3D1")["OPTIONS"]["options"] == "-c x.y=1"


@pytest.fixture
def hosted(committed, needs_postgresql):
    """Connect this test through the proxy as an unprivileged role, with the URL in the documentation."""
    here = connection.settings_dict
    address = own_database_url()
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"DROP ROLE IF EXISTS {ROLE}")
        admin.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'hosted'")
        admin.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {ROLE}")
        admin.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {ROLE}")
        admin.execute(f"ALTER ROLE {ROLE} SET timezone = 'UTC'")
    before = {name: here[name] for name in ("HOST", "PORT", "USER", "PASSWORD", "OPTIONS")}
    options = {name: value for name, value in here["OPTIONS"].items() if name != "options"}
    with PinningProxy(here["HOST"] or "127.0.0.1", int(here["PORT"] or 5432)) as proxy:
        connection.close()
        through = {"HOST": "127.0.0.1", "PORT": proxy.port, "USER": ROLE, "PASSWORD": "hosted"}
        here.update(through, OPTIONS={**options, "prepare_threshold": 1_000_000_000})
        proxy.admin = address
        yield proxy
        connection.close()
        here.update(before)
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"DROP OWNED BY {ROLE}")
        admin.execute(f"DROP ROLE {ROLE}")


def work():
    """Call the API, pages, and a command: reads, writes with a key, prepared statements, a log-in, an export."""
    user = UserFactory()
    user.set_password("a right password")
    user.save()
    api = client_of(user)
    application = ApplicationFactory(consumer=user)
    for _again in range(4):
        assert api.read("/applications").status_code == 200
        assert api.read(f"/applications/{application.pk}").status_code == 200
    body = {"consumer_id": str(user.pk), "provider_id": "1", "product_id": "1", "status": "draft"}
    assert api.send("/applications", body, key="0193a1b2-0000-4000-8000-000000000001").status_code in {201, 400}
    browser = Client()
    browser.post("/account/login", {"login": user.username, "password": "a right password"})
    assert browser.get("/account/").status_code == 200
    reviewer = backoffice_client(staff_of("Reviewer"))
    assert reviewer.get("/admin/credit/application/").status_code == 200
    prune(now=timezone.now())
    assert not Entry.objects.exists()


def test_unprivileged_database_role_works_without_pinning_the_session_of_a_connection_proxy(hosted):
    work()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, usesuper FROM pg_user WHERE usename = current_user")
        assert cursor.fetchone() == (ROLE, False)
    assert hosted.statements > 50
    assert not +hosted.pins


PINNING = ("SET work_mem = '8MB'", "SELECT set_config('work_mem', '8MB', false)", "SELECT pg_advisory_lock(1)")


def test_connection_proxy_counts_the_sql_statements_that_pin_a_session(hosted):
    with connection.cursor() as cursor:
        for text in PINNING:
            cursor.execute(text)
    assert hosted.pins == Counter({"setting": 2, "state": 1})


def test_database_role_with_another_time_zone_pins_each_session(hosted):
    with psycopg.connect(hosted.admin, autocommit=True) as admin:
        admin.execute(f"ALTER ROLE {ROLE} SET timezone = 'Europe/Berlin'")
    connection.ensure_connection()
    assert hosted.pins == Counter({"setting": 1})


def test_database_start_up_options_set_the_time_zone_and_pin_the_session(hosted):
    with psycopg.connect(hosted.admin, autocommit=True) as admin:
        admin.execute(f"ALTER ROLE {ROLE} SET timezone = 'Europe/Berlin'")
    connection.settings_dict["OPTIONS"]["options"] = entry_of("")["OPTIONS"]["options"]
    connection.ensure_connection()
    assert hosted.pins == Counter({"options": 1})

"""Lists over tables of any size: no page asks the database for all the values that a column has."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.test_examples import demo  # noqa: F401  a fixture

# Whose assignments there are is read from a table that holds only what is assigned now.
SMALL = {"backoffice.assignment"}


def listed():
    return [
        model for model in apps.get_models() if admin.site.is_registered(model) and model._meta.label_lower not in SMALL
    ]


@pytest.mark.usefixtures("demo")
def test_a_list_costs_few_statements_and_walks_over_no_table_for_a_filter(superusers_client):
    superusers_client.get("/admin/")  # the first page reads what a process remembers
    for model in listed():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        query = {"q": "some-record"} if model._meta.label == "backoffice.DataAccess" else {}
        with CaptureQueriesContext(connection) as captured:
            assert superusers_client.get(address, query).status_code == 200
        asked = [one["sql"] for one in captured]
        assert len(asked) <= 12, (model, asked)
        table = f'FROM "{model._meta.db_table}"'
        assert [sql for sql in asked if "SELECT DISTINCT" in sql and table in sql] == []


def test_a_filter_offers_the_declared_values_and_keeps_one(superusers_client):
    address = reverse("admin:credit_applicationhistory_changelist")
    page = superusers_client.get(address).content.decode()
    for status in ("draft", "under_review", "expired"):
        assert f"?status__exact={status}" in page
    assert superusers_client.get(address, {"status__exact": "approved"}).status_code == 200


@pytest.mark.parametrize("asked", ["application/?status=%00", "notice/?status__exact=a%00", "clock/?kind=%00"])
def test_a_filter_that_no_database_can_be_asked_for_leads_back_to_the_list(superusers_client, asked):
    assert superusers_client.get(f"/admin/credit/{asked}").headers["Location"].endswith("?e=1")


@pytest.mark.parametrize("model", ["identity/apikey", "identity/signingkey", "credit/provider", "credit/application"])
@pytest.mark.parametrize("page", ["change", "history"])
def test_an_id_that_no_database_can_be_asked_for_names_nothing(superusers_client, model, page):
    assert superusers_client.get(f"/admin/{model}/a%00/{page}/").status_code in {302, 404}

"""Test the statements, filters, names, and links of the back office lists."""

import re
from itertools import product
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.backoffice.html import change_address
from config.backoffice.lists import LargeListAdmin
from config.core.casework import DataAccess, Note
from config.core.encryption import blind_digests
from credit.models import Application, DecisionAnchor
from identity.models import User
from identity.oauth.clients import create_client
from payments.cards.models import ProcessorEvent
from tests.backoffice.pages import links_of
from tests.backoffice.test_applications import LIST, make, page_of
from tests.credit.scoring.making import make_model, make_version
from tests.factories import ProviderFactory, ScoringModelFactory, UserFactory
from tests.test_examples import demo  # noqa: F401  a fixture

# Filters of assignments are computed from the table, which has only current assignments.
SMALL = {"backoffice.assignment"}


def listed():
    return [
        model for model in apps.get_models() if admin.site.is_registered(model) and model._meta.label_lower not in SMALL
    ]


@pytest.mark.usefixtures("demo")
def test_every_back_office_list_executes_a_limited_number_of_sql_statements(superusers_client):
    superusers_client.get("/admin/")  # The first page fills the caches of the process.
    for model in listed():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        query = {"q": "some-record"} if model._meta.label == "backoffice.DataAccess" else {}
        with CaptureQueriesContext(connection) as captured:
            assert superusers_client.get(address, query).status_code == 200
        queries = [item["sql"] for item in captured]
        # The list of applications reads the open proposals and counteroffers with one more statement.
        assert len(queries) <= 13, (model, queries)
        table = f'FROM "{model._meta.db_table}"'
        assert [sql for sql in queries if "SELECT DISTINCT" in sql and table in sql] == []


def test_back_office_filter_offers_the_declared_values_and_rejects_other_values(superusers_client):
    address = reverse("admin:credit_applicationhistory_changelist")
    page = superusers_client.get(address).content.decode()
    for status in ("draft", "under_review", "expired"):
        assert f"?status__exact={status}" in page
    assert superusers_client.get(address, {"status__exact": "approved"}).status_code == 200
    for asked in ["application/?status=%00", "notice/?status__exact=a%00", "clock/?kind=%00"]:
        assert superusers_client.get(f"/admin/credit/{asked}").headers["Location"].endswith("?e=1"), asked


def test_back_office_id_with_a_null_byte_returns_404(superusers_client):
    models = ("identity/apikey", "identity/signingkey", "credit/provider", "credit/application")
    for model, page in product(models, ("change", "history")):
        assert superusers_client.get(f"/admin/{model}/a%00/{page}/").status_code in {302, 404}, model


ADMINS = {model._meta.label_lower: model_admin for model, model_admin in admin.site._registry.items()}
OURS = sorted(label for label, model_admin in ADMINS.items() if isinstance(model_admin, LargeListAdmin))
LOOKUPS = ("", "__exact", "__startswith", "__gt", "__in", "__isnull")
USERS, ACCOUNTS = "/admin/identity/user/", "/admin/identity/bankaccount/"


def test_every_model_admin_extends_large_list_admin_and_declares_an_order(rf, superuser):
    assert set(ADMINS) == set(OURS)
    assert len(OURS) > 25
    request = rf.get("/")
    request.user = superuser
    assert [label for label in OURS if not ADMINS[label].get_queryset(request).ordered] == []


def test_disallowed_filter_lookup_of_reply_templates_is_logged(reviewers_client):
    assert reviewers_client.get("/admin/backoffice/replytemplate/?text__startswith=x").status_code == 400
    assert DataAccess.objects.get().action == "refused"


def test_back_office_list_allows_only_lookups_of_its_filters(rf, superuser):
    for label in OURS:
        model_admin = ADMINS[label]
        request = rf.get("/")
        request.user = superuser
        listed = model_admin.get_changelist_instance(request)
        offered = {name for filter_spec in listed.filter_specs for name in filter_spec.expected_parameters()}
        for name in offered:
            assert model_admin.lookup_allowed(name, "x", request), name
        filtered = {item[0] if isinstance(item, tuple) else item for item in model_admin.list_filter}
        for field in model_admin.opts.concrete_fields:
            for lookup in LOOKUPS:
                name = f"{field.name}{lookup}"
                plain = field.name in filtered and lookup in {"", "__exact", "__isnull"}
                assert plain or name in offered or not model_admin.lookup_allowed(name, "x", request), name
                assert not model_admin.lookup_allowed(f"user__{name}", "x", request), label


def test_disallowed_filter_lookup_by_support_is_rejected_and_logged(supports_client):
    make(notes="confidential", application_data={"name": "Jane", "street": "Acacia"})
    for address, query in [
        (LIST, "notes__startswith=confid"), (LIST, "application_data__regex=Acacia"),
        (LIST, "application_data__name__startswith=J"), (LIST, "consumer__email__startswith=jane"),
        (LIST, "status_reason__contains=x"), (LIST, "queue=review&notes__startswith=confid"),
        (USERS, "email__startswith=jane"), (USERS, "password__startswith=m"), (USERS, "date_joined__gt=2020-01-01"),
        (ACCOUNTS, "current_cents__gt=5"), (ACCOUNTS, "user__first_name=Jane"),
        ("/admin/credit/applicationhistory/", "reason__startswith=x"), ("/admin/credit/offer/", "nonsense=1"),
    ]:  # fmt: skip
        response = supports_client.get(f"{address}?{query}")
        assert response.status_code == 400, (address, query)
        assert "does not have this filter" in response.content.decode(), (address, query)
        look = DataAccess.objects.latest("id")
        assert (look.action, look.viewer.username, look.details["query"]) == ("refused", "sam", query), (address, query)
        assert f"/admin/{look.kind.replace('.', '/')}/" == address, (address, query)


def test_disallowed_filter_lookup_is_rejected_in_exports_and_next_case_links(reviewers_client):
    first, last = make(notes="confidential"), make(notes="confidential")
    exported = reviewers_client.post(f"{LIST}export/csv/?notes__startswith=confid")
    assert exported.status_code == 400
    assert DataAccess.objects.get().action == "refused"
    page = reviewers_client.get(page_of(first) + "?_changelist_filters=notes__startswith%3Dconfid")
    assert page.status_code == 200
    assert reverse("admin:credit_application_change", args=[last.pk]) not in page.content.decode()
    assert DataAccess.objects.filter(action="refused").count() == 2


def test_access_to_a_list_without_results_is_logged(supports_client):
    make()
    digest = f"q=digest%3A{blind_digests('rosa quillfeather')[0]}"
    for address, query, logged in (
        (LIST, "q=Rosa+Quillfeather", digest), (USERS, "q=ROSA+Quillfeather&o=1", f"{digest}&o=1"),
        (LIST, "queue=documents", "queue=documents"), (LIST, "q=user%3A999999", "q=user%3A999999"),
    ):  # fmt: skip
        assert supports_client.get(f"{address}?{query}").context["cl"].result_list == []
        look = DataAccess.objects.order_by("id").last()
        assert (look.action, look.details) == ("list", {"query": logged, "rows": 0})


def test_account_search_finds_only_complete_email_addresses(supports_client):
    person = UserFactory(username="jdoe", email="jane@example.test")
    assert supports_client.get(f"{USERS}?q=Jane@example.test").context["cl"].result_list == [person]
    assert supports_client.get(f"{USERS}?q=jan").context["cl"].result_list == []


def test_every_searchable_list_accepts_any_query(rf, superuser):
    searched = [entry for entry in ADMINS.values() if entry.search_fields]
    assert len(searched) > 15
    for item, term in product(searched, ("1", "ada", "a b", str(uuid4()), str(2**63))):
        request = rf.get("/", {"q": term})
        request.user = superuser
        assert list(item.get_changelist_instance(request).result_list) is not None


ROOTS = {"config", "identity", "credit", "claims", "payments", "staging", "ledger"}
APPS = [app for app in apps.get_app_configs() if app.name.partition(".")[0] in ROOTS]
NAMES_OURS = [model for app in APPS for model in app.get_models()]
SHOWN = sorted(admin.site._registry, key=str)
# These words are uncountable, or already plural.
UNCOUNTED = {"history", "mail", "terms", "facts"}
ACRONYMS = {"API", "European", "OAuth"}
# The plural was wrongly formed by adding an "s".
WRONG_PLURAL = re.compile(r"(ss|xs|chs|shs|[^aeiou]ys)$")


def test_back_office_model_names_are_unique_readable_words():
    for model in {*NAMES_OURS, *SHOWN}:
        check_names(model)
    names = [(model._meta.app_label, str(model._meta.verbose_name_plural)) for model in SHOWN]
    assert len(names) == len(set(names))
    for app in APPS:
        assert re.fullmatch(r"[A-Z][a-z]+( [a-z]+)*", app.verbose_name), app.verbose_name
        assert app.verbose_name not in {"Api", "Ops", "Docs"}, app


def check_names(model):
    text, many = str(model._meta.verbose_name), str(model._meta.verbose_name_plural)
    for word in f"{text} {many}".replace("-", " ").split():
        assert word in ACRONYMS or re.fullmatch("[a-z]*[aeiouy][a-z]*", word.removesuffix("s")), word
        assert word.removesuffix("s").upper() not in {"API", "KYC", "URL", "UUID", "SQL", "JSON"} or word in ACRONYMS
    last = text.rsplit(maxsplit=1)[-1]
    if last in UNCOUNTED:
        assert many == text
    else:
        assert many != text
        assert not WRONG_PLURAL.search(many), many
        reconsideration = ("request for reconsideration", "requests for reconsideration")
        assert many.startswith(text[:-1]) or (text, many) in {("person", "people"), reconsideration}


def test_view_on_site_url_returns_404_for_any_content_type_and_key(superusers_client):
    kinds = ContentType.objects.get_for_models(User, Application).values()  # The records have integer and UUID keys.
    for key in ["1", "0", "x", "01942424-2424-7242-8242-424242424242", "9" * 30]:
        for number in [0, 10**9, *(kind.pk for kind in kinds)]:
            assert superusers_client.get(f"/admin/r/{number}/{key}/").status_code == 404, key


ODD = ["a\nb", "a/b?c#d", "evt_3Ax_5F", "a b%0A", "é\u2028ü", '"><b>', "..", "x" * 255]


def test_back_office_links_to_records_with_unusual_ids_work(superusers_client, superuser):
    now = timezone.now()
    for name in ODD:
        model = ScoringModelFactory(provider=ProviderFactory(id=name, owner=superuser))
        ProcessorEvent.objects.create(id=name, type="x", detail={}, received_at=now)
        Note.objects.create(kind="credit.provider", record_id=name, author=superuser, text="look", at=now)
        assert superusers_client.get(reverse("admin:credit_scoringmodel_change", args=[model.pk])).status_code == 200
    assert superusers_client.get(reverse("admin:credit_modelversion_changelist")).status_code == 200
    for lists, kind in (
        (("credit_scoringmodel", "credit_provider", "backoffice_note"), "credit_provider"),
        (("payments_processorevent",), "payments_processorevent"),
    ):
        addresses = {change_address(kind, name): name for name in ODD}
        for shown in lists:
            response = superusers_client.get(reverse(f"admin:{shown}_changelist"))
            assert addresses.keys() <= {link.partition("?")[0] for link in links_of(response)}, shown
        for address, name in addresses.items():
            opened = superusers_client.get(address)
            assert (opened.status_code, opened.context["original"].pk) == (200, name)


def test_pages_of_an_oauth_client_and_of_an_anchored_publication_can_be_opened(superusers_client, user):
    client, _ = create_client(
        name="Shop", redirect_uris=["https://shop.example/back"], scopes=["offers:read"], public=True
    )
    response = superusers_client.get(reverse("admin:identity_oauthclient_change", args=[client.pk]))
    assert response.status_code == 200
    assert "https://shop.example/back" in response.content.decode()
    version = make_version(make_model(user), role="champion")
    row = DecisionAnchor.objects.get()
    listed = superusers_client.get(reverse("admin:credit_decisionanchor_changelist"))
    assert (listed.status_code, "scoring_model_version" in listed.content.decode()) == (200, True)
    shown = superusers_client.get(reverse("admin:credit_decisionanchor_change", args=[row.pk]))
    assert (shown.status_code, version.definition_sha256 in shown.content.decode()) == (200, True)

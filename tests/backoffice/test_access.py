"""Test who can open the back office, and that its pages have no link to a rejected page."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.crawling import assert_no_link_fails, furnished, one_record  # noqa: F401  a fixture
from tests.backoffice.pages import links_of
from tests.factories import PASSWORD
from tests.test_examples import demo  # noqa: F401  a fixture


@pytest.mark.usefixtures("demo", "furnished")
def test_crawling_back_office_pages_finds_no_broken_link_and_changes_no_data(supports_client, superusers_client):
    """Crawls one record of each kind. `tests/system/backoffice` follows every link for every group."""
    for client in (supports_client, superusers_client):
        assert_no_link_fails(client, kind_of=one_record)


def test_anonymous_visitors_bearer_tokens_and_non_staff_accounts_cannot_open_the_back_office(db, superuser, user):
    for path in ("/admin/", "/admin/records/", "/admin/credit/application/", "/admin/identity/apikey/x/do/revoke/"):
        response = Client().get(path)
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/admin/login/")
    from tests.api import bearer_of

    response = Client().get("/admin/", headers={"Authorization": f"Bearer {bearer_of(superuser)}"})
    assert response.status_code == 302
    response = backoffice_client(user).get("/admin/credit/application/", follow=True)
    assert (response.status_code, "for staff" in response.content.decode()) == (403, True)
    anonymous = Client()
    body = {"login": user.username, "password": PASSWORD, "next": "/admin/"}
    assert anonymous.post("/account/login", body, follow=True).status_code == 403


def test_content_security_policy_of_the_back_office_forbids_other_hosts_and_inline_scripts(superusers_client):
    response = superusers_client.get("/admin/")
    policy = response.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "no-store" in response.headers["Cache-Control"]
    assert response.headers["X-Frame-Options"] == "DENY"


# Models that a superuser can edit with Django's forms; other models have only views and buttons.
EDITED = {
    "backoffice.ReplyTemplate": {"add", "change", "delete"}, "identity.Invitation": {"add"},
    "identity.User": {"add", "change"}, "credit.RetentionHold": {"add"},
}  # fmt: skip


def test_admin_pages_allow_only_the_declared_add_change_and_delete_actions(rf, superuser):
    request = rf.get("/")
    request.user = superuser
    for model, model_admin in admin.site._registry.items():
        rights = {
            verb for verb in ("add", "change", "delete") if getattr(model_admin, f"has_{verb}_permission")(request)
        }
        assert (rights, model_admin.has_view_permission(request)) == (EDITED.get(model._meta.label, set()), True), model


def test_back_office_error_pages_link_to_the_landing_page(supports_client):
    for address, status in (("/admin/identity/apikey/", 403), ("/admin/nothing/at/all/", 404)):
        response = supports_client.get(address)
        assert response.status_code == status
        assert response.headers["Content-Type"].startswith("text/html")
        assert "/admin/" in links_of(response)


# Each group can view these models.
APPLICATIONS = {
    "credit.Application", "credit.ApplicationHistory", "credit.ApplicationRevision", "credit.Clock", "credit.Notice",
    "credit.ContractWithdrawal", "credit.Correction", "credit.Offer", "credit.ReviewRequest", "claims.Claim",
    "claims.ClaimHistory", "identity.BankAccount", "identity.BankItem",
    "identity.BankTransaction", "identity.KycVerification", "payments.PaymentMethod",
    "staging.Note", "staging.StagedItem",
}  # fmt: skip
OPERATED = {
    "identity.AccountHistory", "identity.Invitation", "identity.ManagedAccount", "ops.FailedItem", "webhooks.Delivery",
    "webhooks.Endpoint", "webhooks.Event",
}  # fmt: skip
ALL_GROUPS = {
    "credit.DecisionAnchor", "credit.ModelVersion", "credit.Provider", "credit.RetentionHold", "credit.ScoringModel",
    "identity.User",
    "payments.CryptoPayment", "payments.CustodyAccount", "payments.Payment", "payments.Wallet",
}  # fmt: skip
VIEWED_BY = {
    "Support": ALL_GROUPS | APPLICATIONS | OPERATED,
    "Reviewer": ALL_GROUPS | APPLICATIONS | {
        "backoffice.Assignment", "backoffice.Note", "backoffice.ReplyTemplate", "credit.Proposal",
    },
    "Operations": ALL_GROUPS | OPERATED | {
        "admin.LogEntry", "backoffice.DataAccess", "credit.ContractWithdrawal", "identity.ApiKey",
        "identity.OAuthClient", "identity.SigningKey",
        "payments.ProcessorEvent",
    },
    "": set(),
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("group", VIEWED_BY)
def test_each_back_office_group_can_view_only_its_listed_models(rf, group):
    request = rf.get("/")
    request.user = staff_of(group)
    viewed = {model for model, shown in admin.site._registry.items() if shown.has_view_permission(request)}
    assert {model._meta.label for model in viewed} == VIEWED_BY[group]
    client = backoffice_client(request.user)
    for model in admin.site._registry.keys() - viewed:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert client.get(address).status_code == 403, address


def test_lender_account_without_a_lender_gets_instructions_for_access(client, user):
    next_step = "Ask an owner of your lender for an invitation, or ask a developer to create a lender with the API."
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    for expected in (False, True):
        response = client.get("/admin/", follow=True)
        assert response.status_code == 403
        assert (next_step in response.content.decode()) is expected
        user.groups.add(Group.objects.get(name="Lender"))

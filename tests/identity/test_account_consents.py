"""Test that /v1/account/consents stores each consent, and that ending a consent revokes the permission."""

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.digest import digest_of
from config.ops import pruning
from credit.applications.services import follow_sharing
from credit.core.figures import reference_of
from credit.models import Application
from credit.models import Consent as NoticeConsent
from credit.notices.services import consent_text
from identity.access.consents import CREDIT_REPORT, LENDER_SHARING, give_consent
from identity.bank.models import BankAccount, BankItem
from identity.models import AccountHistory, Consent, OAuthClient, TokenFamily
from identity.providers.models import SandboxItem
from tests.api import ApiClient, assert_error, client_of
from tests.factories import ApplicationFactory, ProviderFactory, UserFactory
from tests.identity.banking import events_of
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.identity.support import issue
from tests.identity.test_bankdata_exchange import exchange as link_bank

pytestmark = pytest.mark.django_db
PATH = "/account/consents"
FIELDS = {"id", "kind", "name", "application_reference", "scope", "text_sha256", "given_at", "ends_at", "ended_at"}


def newest(api):
    return api.read(PATH).json()["consents"][0]


def end_newest_consent(api):
    """End the newest consent, twice; return it."""
    consent = newest(api)
    assert (set(consent), consent["ended_at"]) == (FIELDS, None)
    for _ in range(2):
        assert api.remove(f"{PATH}/{consent['id']}").status_code == 200
    assert newest(api)["ended_at"] is not None
    assert AccountHistory.objects.filter(action="consent.ended", object_id=consent["id"]).count() == 1
    return consent


def authorize(user, name="Budget app"):
    client, secret = make_client(name=name)
    tokens = exchange(code_for(user, client), client, secret).json()
    return client, ApiClient(bearer=tokens["access_token"])


def test_ending_the_consent_to_an_app_revokes_the_apps_tokens(api, user):
    client, app = authorize(user)
    assert app.read("/auth/me").status_code == 200
    consent = end_newest_consent(api)
    assert (consent["kind"], consent["scope"]) == ("app", "Budget app: offers:read")
    assert (consent["name"], consent["application_reference"]) == ("Budget app", None)
    assert len(consent["text_sha256"]) == 64
    assert app.read("/auth/me").status_code == 401
    assert TokenFamily.objects.get(client=client).revoked_at is not None


def test_prune_ends_only_the_consents_to_apps_without_valid_tokens(user):
    on_page, deleted, _live = (authorize(user, name)[0] for name in ("a", "b", "c"))
    now = timezone.now()
    TokenFamily.objects.filter(client=on_page).revoke(now=now)
    OAuthClient.objects.filter(pk=deleted.pk).delete()
    pruning.prune(now=now)
    assert Consent.objects.active().count() == 1
    user.credentials_changed_at = now
    user.save(update_fields=["credentials_changed_at"])
    pruning.prune(now=now)
    assert not Consent.objects.active().exists()


def test_ending_the_consent_to_a_bank_link_removes_the_bank_at_the_vendor(
    api, user, django_capture_on_commit_callbacks
):
    link_bank(api, user)
    consent_id = newest(api)["id"]
    with django_capture_on_commit_callbacks(execute=True):
        end_newest_consent(api)
    assert SandboxItem.objects.get().removed_at is not None
    assert not BankItem.objects.exists()
    assert Consent.objects.get().pk.hex == consent_id.replace("-", "")


def test_ending_the_consent_to_electronic_notices_stops_electronic_notices(api, user):
    digest = digest_of(consent_text("en"))
    for _ in range(2):
        body = {"text_sha256": digest, "language": "en"}
        assert api.replace("/notice-consent", body).status_code == 200
    assert [each["ended_at"] is None for each in api.read(PATH).json()["consents"]] == [True, False]
    assert end_newest_consent(api)["text_sha256"] == digest
    assert not NoticeConsent.is_given_by(user.pk)


def test_consent_ends_when_its_bank_link_or_permission_ends(api, user):
    item_id = link_bank(api, user).json()["item_id"]
    assert api.remove(f"/bankdata/items/{item_id}").status_code == 200
    assert newest(api)["ended_at"] is not None
    api.replace("/notice-consent", {"text_sha256": digest_of(consent_text("en")), "language": "en"})
    api.remove("/notice-consent")
    assert newest(api)["ended_at"] is not None


def test_ending_a_sharing_consent_stops_future_sharing_with_the_lender(api, user):
    body = {"status": "submitted", "updated_by": str(user.pk)}
    unshared = ApplicationFactory(consumer=user, share=[])
    assert api.replace(f"/applications/{unshared.pk}/status", body).status_code == 200
    assert not Consent.objects.exists()
    application = ApplicationFactory(consumer=user, share=["bank"])
    assert api.replace(f"/applications/{application.pk}/status", body).status_code == 200
    before = api.read(f"/applications/{application.pk}").json()
    consent = end_newest_consent(api)
    assert (consent["kind"], "bank to lender" in consent["scope"]) == ("lender_sharing", True)
    after = api.read(f"/applications/{application.pk}").json()
    assert after["share"] == []
    assert after["updated_at"] > before["updated_at"]
    assert [type_ for type_, _ in events_of(user, "application.updated")] == ["application.updated"]


def page_of(user):
    browser = Client()
    browser.force_login(user)
    return browser.get("/account/privacy").content.decode()


def test_privacy_page_lists_only_stored_data_and_what_remains_after_an_erasure(user):
    assert ". Then: " not in page_of(user)
    ApplicationFactory(consumer=user, status="rejected", submitted_at=timezone.now())
    page = page_of(user)
    assert "webhooks" not in page
    assert "stablecoins" not in page
    assert "Article 6" not in page
    assert "until the account is erased. Then: applications and their records: 25 months from a notice" in page
    issue(user)
    assert "API requests with the account" not in page
    assert "API requests with the account" in page_of(user)


def test_consent_about_an_application_contains_lender_name_and_reference(api, user):
    lender = ProviderFactory(name="First & Last Bank")
    application = ApplicationFactory(
        consumer=user, provider_id=int(lender.pk), share=["bank"], status="under_review", submitted_at=timezone.now()
    )
    follow_sharing(now=timezone.now())
    scope = f"{application.pk}: credit report to lender {lender.pk}"
    give_consent(user.pk, CREDIT_REPORT, application.pk, scope=scope, now=timezone.now())
    named = {(each["name"], each["application_reference"]) for each in api.read(PATH).json()["consents"]}
    assert named == {("First & Last Bank", reference_of(application.pk))}
    page = page_of(user)
    assert page.count(f"First &amp; Last Bank (application {reference_of(application.pk)})") == 4
    assert str(application.pk) not in page


def test_consent_omits_a_lender_without_a_name_or_created_after_the_application(api, user):
    nameless = ProviderFactory(name="")
    later = ProviderFactory(name="Later Bank", created_at=timezone.now() + timedelta(days=1))
    for lender in (nameless, later):
        ApplicationFactory(
            consumer=user, provider_id=int(lender.pk), share=["bank"], status="submitted", submitted_at=timezone.now()
        )
    follow_sharing(now=timezone.now())
    assert [each["name"] for each in api.read(PATH).json()["consents"]] == [None, None]
    assert f"to lender {later.pk} (application A-" in page_of(user)


def test_bank_link_consent_contains_the_name_of_the_bank_or_account(api, user):
    item_id = link_bank(api, user).json()["item_id"]
    assert newest(api)["name"] == "Sandbox Bank"
    page = page_of(user)
    assert "Sandbox Bank" in page
    assert item_id not in page
    now = timezone.now()
    BankItem.objects.update(institution_name=None)
    other = UserFactory()
    for owner, name in ((other, "Secret Account"), (user, "Everyday Checking"), (user, "Savings")):
        BankAccount.objects.create(
            user=owner, account_id=name, item_id=item_id, name=name, type="depository", from_provider=True,
            created_at=now, updated_at=now,
        )  # fmt: skip
    assert newest(api)["name"] == "Everyday Checking"
    BankAccount.objects.all().delete()
    assert newest(api)["name"] is None


def test_consent_list_of_any_length_executes_a_fixed_number_of_sql_statements(api, user):
    def count():
        with CaptureQueriesContext(connection) as captured:
            api.read(f"{PATH}?limit=50")
        return len(captured)

    scope = "x: bank to lender 1"
    give_consent(user.pk, LENDER_SHARING, ApplicationFactory(consumer=user).pk, scope=scope, now=timezone.now())
    count()  # This call loads the data that every request needs.
    before = count()
    for _ in range(10):
        give_consent(user.pk, LENDER_SHARING, ApplicationFactory(consumer=user).pk, scope=scope, now=timezone.now())
    assert count() <= before


def test_prune_creates_missing_sharing_consents_and_ends_outdated_sharing_consents(user):
    ApplicationFactory(consumer=user, share=["bank"], status="under_review", submitted_at=timezone.now())
    for _ in range(2):
        follow_sharing(now=timezone.now())
    assert Consent.objects.active().get().kind == "lender_sharing"
    Application.objects.update(status="withdrawn")
    assert follow_sharing(now=timezone.now()) == {"sharing_ended": 1}
    assert not Consent.objects.active().exists()


def test_other_accounts_and_apps_cannot_read_or_end_consents(api, user, stranger_api):
    _client, app = authorize(user)
    consent = newest(api)
    assert stranger_api.read(PATH).json()["consents"] == []
    assert_error(stranger_api.remove(f"{PATH}/{consent['id']}"), 404, "E4001")
    for caller in (app, ApiClient(api_key=issue(user, scopes=["identity:write"]).key)):
        assert_error(caller.read(PATH), 403, "E2005")
        assert_error(caller.remove(f"{PATH}/{consent['id']}"), 403, "E2005")
    for wrong in (uuid4(), "x"):
        assert_error(api.remove(f"{PATH}/{wrong}"), 404, "E4001")
    assert newest(api)["ended_at"] is None


def test_migrations_create_consents_for_existing_permissions(api, user):
    authorize(user)
    link_bank(api, user)
    NoticeConsent.objects.create(user=user, is_given=True, text="x", text_sha256="y", at=timezone.now())
    ApplicationFactory(consumer=user, share=["bank"], status="under_review", submitted_at=timezone.now())
    Application.objects.get()
    Consent.objects.all().delete()
    for name in ("identity.migrations.0014_consents", "credit.migrations.0021_consents"):
        import_module(name).store_existing(apps, SimpleNamespace(connection=connection))
    kinds = sorted(Consent.objects.values_list("kind", flat=True))
    assert kinds == ["app", "bank_link", "electronic_notices", "lender_sharing"]
    assert client_of(user).read(PATH).json()["total"] == 4

"""Test that stored names without a definition in the code are shown unchanged and cause no errors."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from config.webhooks.models import Endpoint, Event
from credit.core.reasons import in_full, in_words
from credit.models import Application, ApplicationHistory
from identity.accounts import invitations
from identity.accounts.models import Invitation
from identity.models import ApiKey, OAuthClient
from staging.services import expire_staged
from tests.api import ApiClient, assert_error
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.factories import ApplicationFactory, StagedItemFactory
from tests.identity.oauth_support import browser_of, make_client, open_consent_page
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
OLD = "retired"


def test_staged_item_of_an_unknown_kind_is_listed_but_cannot_be_approved(api, user, stranger, stranger_api):
    old, note = StagedItemFactory(user=user, kind=OLD), StagedItemFactory(user=user)
    kinds = {item["kind"] for item in api.read("/staging/items").json()["items"]}
    assert kinds == {OLD, "note"}
    body = {"user_id": str(user.pk)}
    assert_error(api.send(f"/staging/approve/{old.pk}", body), 400, "E3004")
    assert api.send("/staging/approve-all", body).json()["item_ids"] == [str(note.pk)]
    boss = backoffice_client(staff_of(is_superuser=True))
    assert OLD in boss.get("/admin/staging/stageditem/").content.decode()
    StagedItemFactory(user=stranger, kind=OLD)
    assert stranger_api.send("/staging/reject-all", {"user_id": str(stranger.pk)}).json()["rejected"] == 1
    assert expire_staged(now=timezone.now() + timedelta(days=31)) == {"staged_items_expired": 1}


def test_event_of_an_unknown_type_is_listed_and_delivered(api, user):
    endpoint = api.send("/webhooks/endpoints", {"url": "https://receiver.example/x", "event_types": ["*"]}).json()
    Endpoint.objects.update(event_types=["retired.event"])
    Event.objects.create(account_id=user.pk, type="retired.event", object={"id": "1"}, created_at=timezone.now())
    assert [event["type"] for event in api.read("/webhooks/events").json()["events"]] == ["retired.event"]
    assert api.read("/webhooks/endpoints").json()["endpoints"][0]["event_types"] == ["retired.event"]
    path = f"/webhooks/endpoints/{endpoint['id']}"
    deliveries = api.read("/webhooks/deliveries").json()["deliveries"]
    assert [delivery["event_type"] for delivery in deliveries] == ["retired.event"]
    assert api.call("PATCH", path, {"description": "x"}).status_code == 200


def test_oauth_client_with_an_unknown_scope_can_request_its_known_scopes(api, user):
    client, _ = make_client()
    OAuthClient.objects.filter(pk=client.pk).update(scopes=["retired:read", "offers:read"], user=user)
    assert api.read("/oauth/clients").status_code == 200
    browser = browser_of(user)
    assert open_consent_page(browser, client).status_code == 200
    refused = open_consent_page(browser, client, scope="retired:read offers:read")
    assert (refused.status_code, "invalid_scope" in refused.headers["Location"]) == (302, True)


def test_api_key_with_an_unknown_scope_works_with_its_known_scopes(api, user):
    key = issue(user, scopes=["offers:read"])
    ApiKey.objects.filter(pk=key.record.pk).update(scopes=["offers:read", "retired:read"])
    own = ApiClient(api_key=key.key)
    assert own.read("/auth/me").json()["scopes"] == ["offers:read", "retired:read"]
    assert_error(own.read("/applications"), 403, "E2005")
    assert api.read("/api-keys").status_code == 200


def test_invitation_with_an_unknown_role_is_listed_but_cannot_be_accepted(api, user, mailoutbox):
    user.groups.add(Group.objects.get(name="Operations"))
    invitation = Invitation.objects.create(
        email="a@b.example", role=OLD, invited_by=user, created_at=timezone.now(),
        expires_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    assert [item["role"] for item in api.read("/invitations").json()["invitations"]] == [OLD]
    assert not invitations._still_counts(invitation)


def test_decision_reason_with_an_unknown_code_is_displayed_as_the_code():
    assert in_words([OLD, "income_insufficient"]).startswith(f"{OLD}; ")
    assert in_full([OLD]) == [{"code": OLD, "text": OLD}]


def test_history_entry_with_an_unknown_status_displays_the_status_name(user):
    application = ApplicationFactory(consumer=user, status="rejected", moves=1)
    ApplicationHistory.objects.create(
        application=application, position=1, status=OLD, previous_status="submitted", changed_by="x",
        changed_at=timezone.now(), principal=user, credential="jwt",
    )  # fmt: skip
    page = browser_of(user).get(f"/my/applications/{application.pk}")
    assert (page.status_code, OLD in page.content.decode()) == (200, True)
    assert Application(status=OLD).requestable() == []

"""Test lender members, the inbox of applications, and the owner's events at `/providers`."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.core.json_text import rfc3339
from config.webhooks.models import Event
from identity.access.keys import create_api_key
from tests.api import ApiClient, assert_error, client_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

NOW = timezone.now()


def submitted(minutes_ago=0, **members):
    at = NOW - timedelta(minutes=minutes_ago)
    return ApplicationFactory(**{"status": "submitted", "submitted_at": at, **members})


def inbox(client, query="", provider="700"):
    return client.read(f"/providers/{provider}/applications{query}")


def ids(answer):
    assert answer.status_code == 200, answer.content
    return [application["id"] for application in answer.json()["applications"]]


class TestInbox:
    def test_lender_inbox_lists_submissions_oldest_first_without_drafts(self, api, provider):
        late, early = submitted(1), submitted(5)
        page = inbox(api, "?limit=1&offset=1").json()
        assert (page["applications"][0]["id"], page["total"], page["has_more"]) == (str(late.pk), 2, False)
        assert inbox(api, "?limit=1").json()["has_more"] is True
        ApplicationFactory()
        ApplicationFactory(status="withdrawn")
        submitted(2, provider_id=701)
        page = inbox(api).json()
        assert [application["id"] for application in page["applications"]] == [str(early.pk), str(late.pk)]
        assert (page["total"], page["has_more"]) == (2, False)
        assert page["applications"][0]["accepted_at"] is None

    def test_lender_inbox_can_be_filtered_by_status_offer_and_submission(self, api, provider):
        early, late = submitted(60, offer_id=1), submitted(10, status="under_review", offer_id=2)
        between = rfc3339(NOW - timedelta(minutes=30))
        assert ids(inbox(api, "?status=under_review")) == [str(late.pk)]
        assert ids(inbox(api, "?offer_id=1")) == [str(early.pk)]
        assert ids(inbox(api, f"?submitted_from={between}")) == [str(late.pk)]
        assert ids(inbox(api, f"?submitted_to={between}")) == [str(early.pk)]
        exactly = rfc3339(early.submitted_at)
        assert ids(inbox(api, f"?submitted_from={exactly}&submitted_to={exactly}")) == [str(early.pk)]

    def test_lender_inbox_with_an_invalid_date_time_filter_returns_400(self, api, provider):
        for query in (
            "submitted_from=2026-02-31T00:00:00Z", "submitted_to=2026-01-01", "submitted_to=2026-01-01T00:00:00",
            "submitted_from=2026-01-02T00:00:00Z&submitted_to=2026-01-01T00:00:00Z",
            "submitted_to=0001-01-01T00:00:00%2B23:59", "submitted_to=2026-01-01T00:00:00+01:00",
        ):  # fmt: skip
            assert_error(inbox(api, f"?{query}"), 400, "E1001")

    def test_inbox_of_a_lender_id_that_is_not_a_canonical_integer_is_empty(self, api, user):
        submitted(provider_id=700)
        for name in ("acme", "0700", "7e2", "-0", "1" * 255, "\uff19"):
            ProviderFactory(id=name, owner=user)
            assert inbox(api, provider=name).json()["total"] == 0, name

    def test_claimed_lender_id_does_not_expose_older_applications(self, api, user):
        provider = ProviderFactory(id="700", owner=user)
        before = submitted(created_at=provider.created_at - timedelta(seconds=1))
        since = submitted(created_at=provider.created_at)
        assert ids(inbox(api)) == [str(since.pk)]
        assert api.read(f"/applications/{since.pk}").status_code == 200
        assert_error(api.read(f"/applications/{before.pk}"), 404, "E4002")
        body = {"status": "approved", "updated_by": "x"}
        assert_error(api.replace(f"/applications/{before.pk}/status", body), 404, "E4002")

    def test_api_key_with_the_scope_applications_read_can_read_the_inbox_but_not_decide(self, user, provider):
        application = submitted()
        keys = {
            scope: ApiClient(api_key=create_api_key(owner=user, name=scope, scopes=[scope], now=timezone.now()).key)
            for scope in ("applications:read", "applications:write", "offers:read")
        }
        assert ids(inbox(keys["applications:read"])) == [str(application.pk)]
        assert keys["applications:read"].read(f"/applications/{application.pk}").status_code == 200
        for other in ("applications:write", "offers:read"):
            assert_error(inbox(keys[other]), 403, "E2005")
        move = {"status": "under_review", "updated_by": "x"}
        answer = keys["applications:write"].replace(f"/applications/{application.pk}/status", move)
        assert_error(answer, 403, "E2005")

    def test_lender_inbox_page_executes_at_most_4_sql_statements(
        self, api, provider, no_rate_limits, django_assert_num_queries
    ):
        for minutes in range(5):
            submitted(minutes)
        for query, statements in (("", 4), ("?status=submitted", 4), ("?status=submitted&offer_id=1", 3)):
            inbox(api, query)
            with django_assert_num_queries(statements):
                inbox(api, query)


class TestEvents:
    def event_types(self, account):
        return list(Event.objects.filter(account_id=account.pk).order_by("id").values_list("type", flat=True))

    def test_lender_owner_gets_application_events_after_the_submission(self, provider):
        consumer = UserFactory()
        client = client_of(consumer)
        body = {"consumer_id": str(consumer.pk), "offer_id": 700_000, "provider_id": 700}
        application = client.send("/applications", body).json()
        path = f"/applications/{application['id']}"
        client.replace(path, {"updated_by": "me", "notes": "x"})
        assert self.event_types(provider.owner) == []
        for to in ("submitted", "under_review"):
            client.replace(f"{path}/status", {"status": to, "updated_by": "me"})
        client.replace(path, {"updated_by": "me", "notes": "y"})
        assert self.event_types(provider.owner) == [
            "application.submitted", "application.under_review", "application.updated",
        ]  # fmt: skip
        first, second = Event.objects.filter(type="application.submitted")
        assert first.object == second.object

    @pytest.mark.parametrize("listed", [True, False])
    def test_application_created_as_submitted_sends_the_submitted_event_to_the_lender(self, provider, listed):
        consumer = UserFactory()
        offer_id = OfferFactory(provider=provider).pk if listed else 700_000
        body = {"offer_id": offer_id, "provider_id": 700, "initial_status": "submitted"}
        for account in (consumer, provider.owner):
            answer = client_of(account).send("/applications", {**body, "consumer_id": str(account.pk)})
            assert answer.status_code == 201
        # The owner who applies to their own offer gets no second event.
        assert self.event_types(provider.owner) == ["application.submitted", "application.created"]
        assert self.event_types(consumer) == ["application.created"]

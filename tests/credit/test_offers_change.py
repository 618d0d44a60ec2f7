"""Test GET, PUT, and DELETE /v1/provider-offers/{id}, and the offer list of a lender."""

import pytest

from config.webhooks.models import Event
from credit.models import Offer, ProviderMember
from tests.api import assert_error, client_of
from tests.factories import OfferFactory, ProviderFactory, UserFactory

pytestmark = pytest.mark.django_db
PATH = "/provider-offers"


@pytest.fixture
def offer(user):
    """Return an offer of `user`."""
    return OfferFactory(provider=ProviderFactory(owner=user), apr_min_percent=3.0, description="old")


@pytest.fixture
def body(offer):
    """Return the body of an update."""
    return {"provider_id": offer.provider_id, "name": "New", "product_type": "credit_card"}


class TestReading:
    def test_every_account_can_read_an_offer(self, stranger_api, offer):
        shown = stranger_api.read(f"{PATH}/{offer.pk}").json()
        assert (shown["id"], shown["provider_id"], shown["apr_min_percent"]) == (str(offer.pk), offer.provider_id, 3.0)

    def test_inactive_offer_can_be_read(self, stranger_api, api, offer):
        api.remove(f"{PATH}/{offer.pk}")
        assert stranger_api.read(f"{PATH}/{offer.pk}").json()["is_active"] is False


class TestReplacing:
    def test_offer_update_replaces_all_fields(self, api, offer, body):
        created = api.replace(f"{PATH}/{offer.pk}", body).json()
        assert (created["name"], created["description"], created["apr_min_percent"]) == ("New", "", None)
        assert created["version"] == 2
        assert created["created_at"] < created["updated_at"]
        assert api.read(f"{PATH}/{offer.pk}").json() == created

    def test_updated_inactive_offer_stays_inactive(self, api, offer, body):
        api.remove(f"{PATH}/{offer.pk}")
        assert api.replace(f"{PATH}/{offer.pk}", body).json()["is_active"] is False

    def test_member_of_a_lender_cannot_update_another_owners_offer(self, offer, body):
        member = UserFactory()
        ProviderMember.objects.create(provider=offer.provider, user=member, role=ProviderMember.OWNER)
        assert_error(client_of(member).replace(f"{PATH}/{offer.pk}", body), 404, "E4004")

    def test_offer_cannot_move_to_another_accounts_lender(self, api, offer, body):
        taken = ProviderFactory()
        assert_error(api.replace(f"{PATH}/{offer.pk}", {**body, "provider_id": taken.pk}), 403, "E2011")
        offer.refresh_from_db()
        assert (offer.name, offer.version) == ("Everyday loan", 1)

    def test_updating_an_offer_emits_an_event(self, api, offer, body):
        api.replace(f"{PATH}/{offer.pk}", body)
        assert (Event.objects.get().type, Event.objects.get().object["version"]) == ("offer.updated", 2)


class TestDeactivating:
    def test_deactivating_an_offer_is_idempotent(self, api, offer):
        for _ in range(2):
            response = api.remove(f"{PATH}/{offer.pk}")
            assert (response.status_code, response.content) == (200, b"")
        kept, event = Offer.objects.get(), Event.objects.get()
        assert (kept.is_active, kept.version) == (False, 1)
        assert (event.type, event.object["is_active"]) == ("offer.deactivated", False)


class TestListing:
    @pytest.fixture
    def provider(self, user):
        return ProviderFactory(owner=user)

    def test_offer_list_of_a_lender_contains_active_offers_newest_first(self, stranger_api, provider):
        offers = [OfferFactory(provider=provider) for _ in range(3)]
        OfferFactory(provider=provider, is_active=False)
        OfferFactory()
        shown = stranger_api.read(f"{PATH}?provider_id={provider.pk}").json()
        assert [offer["id"] for offer in shown] == [str(offer.pk) for offer in reversed(offers)]

    def test_owner_can_list_inactive_offers_with_a_parameter(self, api, stranger_api, provider):
        OfferFactory(provider=provider, is_active=False)
        path = f"{PATH}?provider_id={provider.pk}"
        assert len(api.read(path).json()) == 0
        assert len(api.read(f"{path}&include_inactive=true").json()) == 1
        assert len(api.read(f"{path}&include_inactive=false").json()) == 0
        assert len(stranger_api.read(f"{path}&include_inactive=true").json()) == 0

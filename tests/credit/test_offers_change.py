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


def test_every_account_can_read_an_offer(stranger_api, api, offer):
    shown = stranger_api.read(f"{PATH}/{offer.pk}").json()
    assert (shown["id"], shown["provider_id"], shown["apr_min_percent"]) == (str(offer.pk), offer.provider_id, 3.0)


def test_deactivated_offer_is_readable_and_remains_inactive_after_an_update(api, stranger_api, offer, body):
    for _ in range(2):
        response = api.remove(f"{PATH}/{offer.pk}")
        assert (response.status_code, response.content) == (200, b"")
    kept, event = Offer.objects.get(), Event.objects.get()
    assert (kept.is_active, kept.version) == (False, 1)
    assert (event.type, event.object["is_active"]) == ("offer.deactivated", False)
    assert stranger_api.read(f"{PATH}/{offer.pk}").json()["is_active"] is False
    assert api.replace(f"{PATH}/{offer.pk}", body).json()["is_active"] is False


def test_offer_update_replaces_all_fields_and_emits_an_event(api, offer, body):
    created = api.replace(f"{PATH}/{offer.pk}", body).json()
    assert (created["name"], created["description"], created["apr_min_percent"]) == ("New", "", None)
    assert created["version"] == 2
    assert created["created_at"] < created["updated_at"]
    assert api.read(f"{PATH}/{offer.pk}").json() == created
    assert (Event.objects.get().type, Event.objects.get().object["version"]) == ("offer.updated", 2)


def test_only_the_owner_can_update_an_offer_and_cannot_move_the_offer_to_a_foreign_lender(api, offer, body):
    member = UserFactory()
    ProviderMember.objects.create(provider=offer.provider, user=member, role=ProviderMember.OWNER)
    assert_error(client_of(member).replace(f"{PATH}/{offer.pk}", body), 404, "E4004")
    assert_error(api.replace(f"{PATH}/{offer.pk}", {**body, "provider_id": ProviderFactory().pk}), 403, "E2011")
    offer.refresh_from_db()
    assert (offer.name, offer.version) == ("Everyday loan", 1)


def test_offer_list_of_a_lender_includes_inactive_offers_only_for_the_owner(api, user, stranger_api):
    provider = ProviderFactory(owner=user)
    active = [str(OfferFactory(provider=provider).pk) for _ in range(3)][::-1]
    inactive = str(OfferFactory(provider=provider, is_active=False).pk)
    OfferFactory()
    for client, query, expected in (
        (stranger_api, "", active), (api, "", active), (api, "&include_inactive=false", active),
        (api, "&include_inactive=true", [inactive, *active]), (stranger_api, "&include_inactive=true", active),
    ):  # fmt: skip
        shown = client.read(f"{PATH}?provider_id={provider.pk}{query}").json()
        assert [offer["id"] for offer in shown] == expected, query

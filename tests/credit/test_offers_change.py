"""GET, PUT and DELETE /v1/provider-offers/{id}, and the list of a provider's offers."""

import pytest

from config.webhooks.models import Event
from credit.models import Offer, ProviderMember
from tests.api import ApiClient, assert_error, client_of
from tests.factories import OfferFactory, ProviderFactory, UserFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
PATH = "/provider-offers"


@pytest.fixture
def offer(user):
    """An offer of `user`."""
    return OfferFactory(provider=ProviderFactory(owner=user), apr_min_percent=3.0, description="old")


@pytest.fixture
def body(offer):
    """A replacement."""
    return {"provider_id": offer.provider_id, "name": "New", "product_type": "credit_card"}


def test_nobody_does_anything(anonymous, offer, body):
    for response in (
        anonymous.read(f"{PATH}/{offer.pk}"), anonymous.replace(f"{PATH}/{offer.pk}", body),
        anonymous.remove(f"{PATH}/{offer.pk}"), anonymous.read(f"{PATH}?provider_id=1"),
    ):  # fmt: skip
        assert_error(response, 401, "E2001")


@pytest.mark.parametrize(
    "identifier",
    [
        "abc",
        "0",
        "-1",
        "1.0",
        str(2**63),
        "01",
        "+1",
        "1e1",
        "%00",
        "%20{}",
        "{}%0a",
        "9" * 4000,
        "\u0661",
        "{}x",
        "%2e%2e",
    ],
)
def test_what_is_no_id_is_not_found(api, offer, body, identifier):
    path = f"{PATH}/{identifier.format(offer.pk)}"
    for response in (api.read(path), api.replace(path, body), api.remove(path)):
        assert_error(response, 404, "E4004")
    offer.refresh_from_db()
    assert (offer.is_active, offer.version) == (True, 1)


@pytest.mark.parametrize("identifier", ["999999", str(2**63 - 1)])
def test_an_unknown_id_is_not_found(api, body, identifier):
    path = f"{PATH}/{identifier}"
    for response in (api.read(path), api.replace(path, body), api.remove(path)):
        assert_error(response, 404, "E4004")


class TestReading:
    def test_anybody_with_a_credential_reads_it(self, stranger_api, offer):
        shown = stranger_api.read(f"{PATH}/{offer.pk}").json()
        assert (shown["id"], shown["provider_id"], shown["apr_min_percent"]) == (str(offer.pk), offer.provider_id, 3.0)

    def test_an_inactive_offer_is_still_readable(self, stranger_api, api, offer):
        api.remove(f"{PATH}/{offer.pk}")
        assert stranger_api.read(f"{PATH}/{offer.pk}").json()["is_active"] is False


class TestReplacing:
    def test_it_replaces_the_whole_shape(self, api, offer, body):
        made = api.replace(f"{PATH}/{offer.pk}", body).json()
        assert (made["name"], made["description"], made["apr_min_percent"]) == ("New", "", None)
        assert made["version"] == 2
        assert made["created_at"] < made["updated_at"]
        assert api.read(f"{PATH}/{offer.pk}").json() == made

    def test_each_time_is_a_version(self, api, offer, body):
        versions = [api.replace(f"{PATH}/{offer.pk}", body).json()["version"] for _ in range(3)]
        assert versions == [2, 3, 4]

    def test_server_owned_members_are_ignored(self, api, offer, body):
        sent = {**body, "version": 99, "is_active": False, "id": "1", "owner": 1, "created_at": "2000-01-01T00:00:00Z"}
        made = api.replace(f"{PATH}/{offer.pk}", sent).json()
        assert (made["version"], made["is_active"], made["id"]) == (2, True, str(offer.pk))

    def test_an_inactive_offer_stays_inactive(self, api, offer, body):
        api.remove(f"{PATH}/{offer.pk}")
        assert api.replace(f"{PATH}/{offer.pk}", body).json()["is_active"] is False

    def test_anothers_offer_is_not_found(self, stranger_api, offer, body):
        assert_error(stranger_api.replace(f"{PATH}/{offer.pk}", body), 404, "E4004")

    def test_a_member_of_the_provider_does_not_change_anothers_offer(self, offer, body):
        member = UserFactory()
        ProviderMember.objects.create(provider=offer.provider, user=member)
        assert_error(client_of(member).replace(f"{PATH}/{offer.pk}", body), 404, "E4004")

    def test_it_cannot_move_to_a_provider_that_is_taken(self, api, offer, body):
        taken = ProviderFactory()
        assert_error(api.replace(f"{PATH}/{offer.pk}", {**body, "provider_id": taken.pk}), 403, "E2011")
        offer.refresh_from_db()
        assert (offer.name, offer.version) == ("Everyday loan", 1)

    @pytest.mark.parametrize("members", [{"name": 5}, {"apr_min_percent": -1}, {"provider_id": None}])
    def test_a_body_of_another_shape_is_refused(self, api, offer, body, members):
        assert_error(api.replace(f"{PATH}/{offer.pk}", {**body, **members}), 400, "E1001")

    def test_it_is_an_event(self, api, offer, body):
        api.replace(f"{PATH}/{offer.pk}", body)
        assert (Event.objects.get().type, Event.objects.get().object["version"]) == ("offer.updated", 2)

    def test_a_replay_is_one_version(self, api, offer, body, key):
        first, second = (api.replace(f"{PATH}/{offer.pk}", body, key=key) for _ in range(2))
        assert first.content == second.content
        offer.refresh_from_db()
        assert offer.version == 2


class TestDeactivating:
    def test_it_is_an_empty_success_and_again(self, api, offer):
        for _ in range(2):
            response = api.remove(f"{PATH}/{offer.pk}")
            assert (response.status_code, response.content) == (200, b"")
        offer.refresh_from_db()
        assert offer.is_active is False
        assert Offer.objects.count() == 1

    def test_it_is_one_event_however_often(self, api, offer):
        for _ in range(3):
            api.remove(f"{PATH}/{offer.pk}")
        event = Event.objects.get()
        assert (event.type, event.object["is_active"]) == ("offer.deactivated", False)

    def test_it_makes_no_version(self, api, offer):
        api.remove(f"{PATH}/{offer.pk}")
        offer.refresh_from_db()
        assert offer.version == 1

    def test_anothers_offer_is_not_found(self, stranger_api, offer):
        assert_error(stranger_api.remove(f"{PATH}/{offer.pk}"), 404, "E4004")
        offer.refresh_from_db()
        assert offer.is_active

    def test_the_scope_is_asked_for(self, user, offer):
        reading = ApiClient(api_key=issue(user, scopes=["offers:read"]).key)
        assert_error(reading.remove(f"{PATH}/{offer.pk}"), 403, "E2005")

    def test_a_replay_is_empty_too(self, api, offer, key):
        first, second = (api.remove(f"{PATH}/{offer.pk}", key=key) for _ in range(2))
        assert (first.content, second.content) == (b"", b"")
        assert second.status_code == 200
        assert second.headers["Idempotent-Replayed"] == "true"

    def test_a_replayed_404_stays_one(self, api, stranger_api, key):
        response = stranger_api.remove(f"{PATH}/123456", key=key)
        assert_error(response, 404, "E4004")
        again = stranger_api.remove(f"{PATH}/123456", key=key)
        assert again.content == response.content
        assert again.headers["Idempotent-Replayed"] == "true"


class TestListing:
    @pytest.fixture
    def provider(self, user):
        return ProviderFactory(owner=user)

    def test_it_shows_a_providers_active_offers_newest_first(self, stranger_api, provider):
        offers = [OfferFactory(provider=provider) for _ in range(3)]
        OfferFactory(provider=provider, is_active=False)
        OfferFactory()
        shown = stranger_api.read(f"{PATH}?provider_id={provider.pk}").json()
        assert [offer["id"] for offer in shown] == [str(offer.pk) for offer in reversed(offers)]

    @pytest.mark.parametrize("path", [PATH, f"{PATH}?", f"{PATH}?provider=1"])
    def test_the_provider_must_be_named(self, api, path):
        assert_error(api.read(path), 400, "E1005")

    @pytest.mark.parametrize("value", ["", "%00", "x" * 256])
    def test_a_provider_id_that_cannot_be_one_is_refused(self, api, value):
        assert_error(api.read(f"{PATH}?provider_id={value}"), 400, "E1001")

    def test_a_provider_given_twice_is_refused(self, api):
        assert_error(api.read(f"{PATH}?provider_id=1&provider_id=2"), 400, "E1001")

    def test_an_unknown_provider_has_no_offers(self, api):
        response = api.read(f"{PATH}?provider_id=unknown")
        assert (response.status_code, response.json()) == (200, [])

    def test_inactive_offers_are_shown_to_their_owner_when_asked_for(self, api, stranger_api, provider):
        OfferFactory(provider=provider, is_active=False)
        path = f"{PATH}?provider_id={provider.pk}"
        assert len(api.read(path).json()) == 0
        assert len(api.read(f"{path}&include_inactive=true").json()) == 1
        assert len(api.read(f"{path}&include_inactive=false").json()) == 0
        assert len(stranger_api.read(f"{path}&include_inactive=true").json()) == 0

    @pytest.mark.parametrize("value", ["1", "yes", "True", "", "null"])
    def test_a_flag_is_true_or_false(self, api, value):
        assert_error(api.read(f"{PATH}?provider_id=1&include_inactive={value}"), 400, "E1001")

    def test_it_costs_one_query(self, api, provider, settings, django_assert_num_queries):
        settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
        OfferFactory(provider=provider)
        path = f"{PATH}?provider_id={provider.pk}"
        api.read(path)
        with django_assert_num_queries(1):
            api.read(path)

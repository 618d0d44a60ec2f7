"""Test that the server assigns a lender's ID with `PROVIDERS=granted`, and that others can't claim it."""

import os

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from credit.core.eu_credit import LENDER_FIELDS
from credit.models import Application, Offer, Provider, ScoringModel
from credit.offers import providers
from identity.access.authentication import forget_credentials
from tests.api import assert_error
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory
from tests.properties import quick_or_full
from tests.second_factors import authenticator_of

PATH = "/providers"
TERMS = {"name": "Loan", "product_type": "personal_loan"}
IDS = int(
    os.environ.get("PROVIDER_IDS", quick_or_full(10, 60))
)  # The number of lender IDs that an unrelated account tries.


@pytest.fixture
def granted(settings):
    settings.PROVIDERS = "granted"


@pytest.fixture
def lender(user):
    """Return an account with permission to create a provider."""
    user.groups.add(Group.objects.get(name="Lender"))
    forget_credentials()
    return user


def application(user, provider_id, offer_id=700_000):
    return {"consumer_id": str(user.pk), "offer_id": offer_id, "provider_id": provider_id}


class TestCreatedLenders:
    @pytest.mark.parametrize("mode", ["open", "granted"])
    def test_server_assigns_the_id_of_a_lender(self, api, lender, settings, mode, key):
        settings.PROVIDERS = mode
        response = api.send(PATH, {"name": "Harbour Bank", "id": "7", "owner_id": "1"}, key=key)
        assert response.status_code == 201
        body = response.json()
        assert set(body) == {
            "id", "name", "address", "agency", *LENDER_FIELDS, "logo_url", "owner_id", "created_at",
        }  # fmt: skip
        assert (body["name"], body["owner_id"]) == ("Harbour Bank", str(lender.pk))
        assert body["id"] == str(int(body["id"]))
        assert 10**11 <= int(body["id"]) < 10**12, "no JavaScript rounds it"
        assert api.send(PATH, {"name": "Harbour Bank", "id": "7", "owner_id": "1"}, key=key).content == response.content
        [mine] = api.read(PATH).json()["providers"]
        assert (mine["provider_id"], mine["name"], mine["membership"]) == (body["id"], "Harbour Bank", "member")
        assert api.send("/provider-offers", {"provider_id": body["id"], **TERMS}).status_code == 201
        assert api.send("/applications", application(lender, int(body["id"]))).status_code == 201

    def test_creating_a_lender_requires_the_permission_and_the_accounts_second_factor(self, api, user):
        refused = assert_error(api.send(PATH, {"name": "Harbour Bank"}), 403, "E2005")
        assert refused["details"] == {"required": "credit.add_provider"}
        user.groups.add(Group.objects.get(name="Lender"))
        forget_credentials()
        authenticator_of(user)
        assert_error(api.send(PATH, {"name": "x"}), 403, "E2012")
        assert not Provider.objects.exists()

    def test_lender_id_in_use_by_a_lender_or_application_is_not_assigned(self, api, lender, monkeypatch):
        ProviderFactory(id=str(10**11))
        for number, status in ((1, "submitted"), (2, "withdrawn")):
            ApplicationFactory(provider_id=10**11 + number, status=status, submitted_at=timezone.now())
        draws = iter([0, 1, 2, 3])
        monkeypatch.setattr(providers.secrets, "randbelow", lambda _end: next(draws))
        assert api.send(PATH, {"name": "x"}).json()["id"] == str(10**11 + 3)

    def test_new_lender_cannot_read_drafts_created_earlier_for_the_same_lender_id(
        self, api, lender, stranger_api, monkeypatch
    ):
        draft = ApplicationFactory(provider_id=10**11)
        monkeypatch.setattr(providers.secrets, "randbelow", lambda _end: 0)
        provider = api.send(PATH, {"name": "x"}).json()
        Application.objects.filter(pk=draft.pk).update(status="submitted", submitted_at=timezone.now())
        assert_error(api.read(f"/applications/{draft.pk}"), 404, "E4002")
        assert api.read(f"{PATH}/{provider['id']}/applications").json()["total"] == 0


@pytest.mark.usefixtures("granted")
class TestGrantedMode:
    @pytest.mark.timeout(600 + IDS // 10)
    def test_account_cannot_claim_a_lender_id_in_granted_lender_mode(self, api, user, no_rate_limits):
        ProviderFactory(id="500")
        for number in [*range(495, 495 + IDS), "acme", "-1", "0", str(2**63 - 1)]:
            terms = {"provider_id": str(number), **TERMS}
            assert_error(api.send("/provider-offers", terms), 403, "E2011")
            model = {"provider_id": str(number), "name": "Card"}
            assert_error(api.send("/scoring/models", model), 403, "E2011")
        assert Provider.objects.count() == 1
        assert not Offer.objects.exists()
        assert not ScoringModel.objects.exists()

    def test_offer_cannot_move_to_an_unknown_lender(self, api, user):
        offer = OfferFactory(provider=ProviderFactory(owner=user))
        moved = api.replace(f"/provider-offers/{offer.pk}", {"provider_id": "unknown", **TERMS})
        assert_error(moved, 403, "E2011")

    @pytest.mark.parametrize("policy", ["open", "reviewed"])
    def test_application_requires_a_known_lender(self, api, user, settings, policy):
        settings.REVIEW_POLICY = policy
        offer = OfferFactory(provider=ProviderFactory(id="800"))
        for offer_id in (700_000, offer.pk):
            assert_error(api.send("/applications", application(user, 801, offer_id)), 400, "E1011")
            assert api.send("/applications", application(user, 800, offer_id)).status_code == 201
        assert Application.objects.count() == 2

    def test_requests_in_granted_lender_mode_execute_no_additional_sql_statement(
        self, api, user, settings, no_rate_limits
    ):
        offer = OfferFactory(provider=ProviderFactory(id="800"))
        body = application(user, 800, offer.pk)
        api.send("/applications", body)
        counts = []
        for mode in ("open", "granted"):
            settings.PROVIDERS = mode
            with CaptureQueriesContext(connection) as captured:
                assert api.send("/applications", body).status_code == 201
            counts.append(len(captured))
        assert counts[0] == counts[1]


def test_only_the_owner_can_change_the_name_and_address_of_a_lender(api, user, stranger_api, stranger):
    provider, body = ProviderFactory(owner=user), {"name": "Harbour Bank", "address": "1 Quay\nPortland, OR 97201"}
    assert_error(stranger_api.replace(f"{PATH}/{provider.pk}", body), 404, "E4012")
    provider.members.add(stranger)
    assert_error(stranger_api.replace(f"{PATH}/{provider.pk}", body), 403, "E2011")
    answer = api.replace(f"{PATH}/{provider.pk}", body)
    assert (answer.status_code, answer.json()["address"]) == (200, body["address"])

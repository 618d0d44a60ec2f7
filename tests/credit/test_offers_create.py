"""Test POST /v1/provider-offers."""

import pytest

from config.webhooks.models import Event
from credit.models import Offer, Provider, ProviderMember
from tests.api import assert_error
from tests.factories import ProviderFactory

pytestmark = pytest.mark.django_db
PATH = "/provider-offers"
REQUIRED = {
    "id", "provider_id", "name", "description", "product_type", "is_active", "version", "created_at", "updated_at",
}  # fmt: skip
TERMS = {
    "description": "For everybody", "apr_min_percent": 3.5, "apr_max_percent": 9.99, "loan_amount_min_cents": 100_000,
    "loan_amount_max_cents": 5_000_000, "term_options_months": [12, 24, 36], "nationwide": False,
    "included_states": ["CA", "NY"], "excluded_states": ["TX"], "customer_segment": "prime", "blockscore_model_id": 12,
    "ab_test_variant": "b", "ab_test_allocation": 50,
}  # fmt: skip


@pytest.fixture
def body():
    """Return the minimal valid body."""
    return {"provider_id": "acme", "name": "Everyday loan", "product_type": "personal_loan"}


def bad_bodies():
    """Yield (name of the field, fields) that are valid by the OpenAPI document but rejected."""
    for apr in (-0.01, 1000.01, 1e308, "NaN"):
        yield "apr_min_percent", {"apr_min_percent": apr}
    yield "apr_min_percent", {"apr_min_percent": 20, "apr_max_percent": 10}
    yield "loan_amount_min_cents", {"loan_amount_min_cents": 2, "loan_amount_max_cents": 1}
    for cents in (1.0, True):
        yield "loan_amount_max_cents", {"loan_amount_max_cents": cents}
    for terms in ([0], [601], [2**31], ["12"], [1.0], [None], [[12]], [True]):
        yield "term_options_months", {"term_options_months": terms}
    for unprintable in ("a\nb", "\t", "a\x7fb", "a\u2028b", "a\u200bb", "\ue000"):
        yield "provider_id", {"provider_id": unprintable}
    for states in (["ZZ"], ["ca"], ["California"], [""], [5], [None]):
        yield "included_states", {"included_states": states}
        yield "excluded_states", {"excluded_states": states}
    yield "excluded_states", {"included_states": ["CA", "NY"], "excluded_states": ["NY"]}
    for states in ({"included_states": ["CA"]}, {"excluded_states": ["CA"]}):
        yield "nationwide", {"nationwide": True, **states}
    for states in ({}, {"included_states": []}, {"included_states": [], "excluded_states": []}):
        yield "nationwide", {"nationwide": False, **states}


@pytest.mark.parametrize("nulls", [{}, dict.fromkeys(TERMS)])
def test_offer_can_be_created_from_required_fields_only(api, user, body, nulls):
    response = api.send(PATH, {**body, **nulls})
    assert response.status_code == 201
    created = response.json()
    assert set(created) >= REQUIRED
    assert isinstance(created["id"], str)
    assert created["id"].isdigit()
    assert (created["version"], created["is_active"], created["description"]) == (1, True, "")
    assert all(created[name] is None for name in TERMS if name != "description")
    offer, event = Offer.objects.get(), Event.objects.get()
    assert (offer.owner, str(offer.pk)) == (user, created["id"])
    assert api.read(f"{PATH}/{created['id']}").content == response.content
    assert (event.type, event.account) == ("offer.created", user)
    assert event.object == {"offer_id": created["id"], "provider_id": "acme", "version": 1, "is_active": True}


def test_every_term_of_an_offer_is_stored(api, body):
    created = api.send(PATH, {**body, **TERMS}).json()
    assert {name: created[name] for name in TERMS} == TERMS


def test_boundary_values_of_offer_terms_are_accepted(api, body):
    for number, members in enumerate((
        {"apr_min_percent": 0, "apr_max_percent": 1000}, {"apr_min_percent": 5, "apr_max_percent": 5},
        {"loan_amount_min_cents": 0, "loan_amount_max_cents": 2**63 - 1}, {"term_options_months": [1, 600]},
        {"term_options_months": []}, {"ab_test_allocation": 0}, {"ab_test_allocation": 100},
        {"included_states": ["CA"], "excluded_states": []},
    )):  # fmt: skip
        assert api.send(PATH, {**body, **members, "name": f"Loan {number}"}).status_code == 201


def test_contradictory_or_invalid_offer_terms_are_rejected(api, body):
    for field, members in bad_bodies():
        answer = assert_error(api.send(PATH, {**body, **members}), 400, "E1001")
        assert answer["details"][0]["field"].partition(".")[0] == field, members
    assert Offer.objects.count() == Provider.objects.count() == 0


class TestProviders:
    def test_first_offer_claims_the_lender_id_for_its_author(self, api, user, stranger_api, body):
        assert api.read("/providers").json() == {"providers": [], "total": 0, "has_more": False}
        assert api.send(PATH, body).status_code == 201
        [mine] = api.read("/providers").json()["providers"]
        assert (mine["provider_id"], mine["owner_id"], mine["membership"]) == ("acme", str(user.pk), "member")
        members = api.read("/providers/acme/members").json()["members"]
        owner = {"user_id": str(user.pk), "username": user.username, "role": "owner", "is_owner": True}
        assert members == [owner]
        assert Provider.objects.get().owner == user
        assert api.send(PATH, {**body, "name": "Another"}).status_code == 201
        assert_error(stranger_api.send(PATH, body), 403, "E2011")
        assert Offer.objects.count() == 2

    def test_only_owners_of_the_lender_can_create_offers(self, stranger, stranger_api, body, key):
        provider = ProviderFactory(id="acme")
        assert_error(stranger_api.send(PATH, body, key=key), 403, "E2011")
        for role, status in (("reader", 403), ("reviewer", 403), ("owner", 201)):
            ProviderMember.objects.update_or_create(provider=provider, user=stranger, defaults={"role": role})
            assert stranger_api.send(PATH, body, key=key).status_code == status  # A rejection does not use the key.

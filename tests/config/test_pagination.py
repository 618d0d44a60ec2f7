"""Test that a list response is limited to 8 MiB, and that a truncated page is marked."""

import gc

import pytest
from django.utils import timezone
from rest_framework.response import Response

from claims.models import Claim
from credit.models import Application, ApplicationHistory, Offer
from staging.models import StagedItem
from tests.api import assert_error, client_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db
MOST = 8 * 1_048_576
DATA = {"text": "x" * 262_000}


def applications_of(user, number, **members):
    members = {"consumer": user, "data_changed_by": user, "application_data": DATA, **members}
    Application.objects.bulk_create(ApplicationFactory.build(**members) for _ in range(number))


def pages_of(api, path, rows_in, cut):
    """Read a list to its end, 100 rows at a time; check the size and truncation mark of each page; return the ids."""
    ids, sizes = [], []
    while True:
        response = api.read(f"{path}limit=100&offset={len(ids)}")
        assert response.status_code == 200
        rows = rows_in(response.json())
        ids += [row["id"] for row in rows]
        sizes.append(len(response.content))
        if not cut(response):
            break
        assert rows
    assert max(sizes) <= MOST
    assert max(sizes) > MOST // 2, "a page is as full as may be"
    return ids


def by_header(response):
    return response.headers.get("X-Truncated") == "true"


def test_a_list_of_applications_is_truncated_at_8_mib(api, user):
    applications_of(user, 50)
    ids = pages_of(api, "/applications?", lambda body: body, by_header)
    assert len(set(ids)) == len(ids) == 50
    assert ids == sorted(ids, reverse=True)


def test_truncated_lender_inbox_sets_has_more(api, user):
    provider = ProviderFactory(owner=user)
    applications_of(
        UserFactory(), 50, provider_id=int(provider.pk), status="submitted", submitted_at=timezone.now(),
        created_at=timezone.now(),
    )  # fmt: skip
    path = f"/providers/{provider.pk}/applications?"
    ids = pages_of(api, path, lambda body: body["applications"], lambda response: response.json()["has_more"])
    assert len(set(ids)) == len(ids) == 50


def test_a_list_of_claims_is_truncated_at_8_mib(api, user):
    members = {"publication_id": "10.1000/1", "claim_type": "author", "evidence": ["ü" * 2_048] * 50}
    Claim.objects.bulk_create(Claim.draft(user_id=user.pk, members=members, now=timezone.now()) for _ in range(60))
    assert len(set(pages_of(api, "/claims?", lambda body: body, by_header))) == 60


def large_items_of(user):
    """Stage ten notes of a megabyte each."""
    payload, now = {"text": "x" * 1_000_000}, timezone.now()
    return StagedItem.objects.bulk_create(
        StagedItem.of(user_id=user.pk, kind="note", payload=payload, source=None, now=now) for _ in range(10)
    )


def test_truncated_list_of_staged_items_sets_has_more(api, user):
    items = large_items_of(user)
    ids = pages_of(api, "/staging/items?", lambda body: body["items"], lambda response: response.json()["has_more"])
    assert ids == sorted((str(item.pk) for item in items), reverse=True)
    assert api.read("/staging/items").json()["total"] == 10


def test_approve_all_approves_items_beyond_8_mib(api, user):
    items = large_items_of(user)
    answer = api.send("/staging/approve-all", {"user_id": str(user.pk)})
    assert answer.json() == {"approved": 10, "item_ids": [str(item.pk) for item in items]}


def test_list_truncation_counts_the_bytes_of_the_serialized_json(api, user):
    # Each character takes six bytes in JSON.
    applications_of(user, 100, application_data=None, notes="\x01" * 10_000)
    applications_of(user, 100, application_data=None, notes="\x01" * 10_000)
    ids = pages_of(api, "/applications?", lambda body: body, lambda response: len(response.json()) > 0)
    assert len(set(ids)) == 200


def test_a_complete_list_has_no_truncation_header(api, user):
    applications_of(user, 3)
    response = api.read("/applications?limit=100")
    assert len(response.json()) == 3
    assert "X-Truncated" not in response.headers


def test_lender_can_have_at_most_1000_active_offers(api, user):
    provider = ProviderFactory(owner=user)
    Offer.objects.bulk_create(OfferFactory.build(provider=provider, owner=user) for _ in range(999))
    body = {"provider_id": provider.pk, "name": "One more", "product_type": "personal_loan"}
    thousandth = api.send("/provider-offers", body)
    assert thousandth.status_code == 201
    assert assert_error(api.send("/provider-offers", body), 400, "E1001")["details"][0]["field"] == "provider_id"
    assert len(api.read(f"/provider-offers?provider_id={provider.pk}").json()) == 1_000
    elsewhere = api.send("/provider-offers", {**body, "provider_id": "another"}).json()["id"]
    assert_error(api.replace(f"/provider-offers/{elsewhere}", body), 400, "E1001")
    assert api.replace(f"/provider-offers/{thousandth.json()['id']}", body).status_code == 200
    assert api.remove(f"/provider-offers/{thousandth.json()['id']}").status_code == 200
    assert api.send("/provider-offers", body).status_code == 201


def test_concurrent_requests_do_not_exceed_1000_active_offers(committed, needs_postgresql, user):
    provider = ProviderFactory(owner=user)
    Offer.objects.bulk_create(OfferFactory.build(provider=provider, owner=user) for _ in range(997))
    body = {"provider_id": provider.pk, "product_type": "personal_loan"}
    bodies = [{**body, "name": f"One more {number}"} for number in range(8)]
    statuses = run_concurrently(
        *[lambda b=body: client_of(user).send("/provider-offers", b).status_code for body in bodies]
    )
    assert sorted(statuses) == [201] * 3 + [400] * 5
    assert Offer.objects.filter(provider=provider, is_active=True).count() == 1_000


def test_a_list_with_inactive_offers_is_truncated_at_8_mib(api, user):
    provider = ProviderFactory(owner=user)
    members = {"provider": provider, "owner": user, "description": "ü" * 2_000, "is_active": False}
    Offer.objects.bulk_create(OfferFactory.build(**members) for _ in range(2_200))
    path, ids, is_cut = f"/provider-offers?provider_id={provider.pk}&include_inactive=true", [], True
    while is_cut:
        response = api.read(f"{path}&offset={len(ids)}")
        assert len(response.content) <= MOST
        is_cut = by_header(response)
        assert not is_cut or len(response.content) > MOST // 2
        ids += [row["id"] for row in response.json()]
    assert len({*ids}) == len(ids) == Offer.objects.filter(provider=provider).count()
    assert_error(api.read(f"{path}&offset=-1"), 400, "E1006")


@pytest.mark.parametrize(("length", "status"), [(262_144, 200), (262_145, 413)])
def test_application_data_above_256_kib_is_rejected(api, user, length, status):
    frame = len('{"text":""}')
    data = {"text": "x" * (length - frame)}
    body = {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 1, "application_data": {}}
    application_id = api.send("/applications", body).json()["id"]
    created = api.send("/applications", {**body, "application_data": data})
    changed = api.replace(f"/applications/{application_id}", {"updated_by": "me", "application_data": data})
    assert (created.status_code, changed.status_code) == ((201, 200) if status == 200 else (413, 413))
    if status == 413:
        assert_error(created, 413, "E1007")
        assert api.read(f"/applications/{application_id}").json()["application_data"] == {}


def test_application_history_is_truncated_at_8_mib(api, user):
    application = ApplicationFactory(consumer=user)
    ApplicationHistory.objects.bulk_create(
        ApplicationHistory(
            application=application, position=position, status="submitted", previous_status="draft", changed_by="me",
            changed_at=timezone.now(), reason="ü" * 10_000, principal=user, credential="",
        )
        for position in range(1, 502)
    )  # fmt: skip
    response = api.read(f"/applications/{application.pk}/history")
    assert MOST // 2 < len(response.content) <= MOST
    assert by_header(response)


def test_http_response_is_freed_without_the_garbage_collector(api, user):
    applications_of(user, 1)
    gc.collect()
    gc.disable()
    try:
        api.read("/applications")
        assert not [item for item in gc.get_objects() if isinstance(item, Response) and item.renderer_context]
    finally:
        gc.enable()

"""Wallets and crypto payments at the back office: found, read, and never changed."""

import pytest

from payments.crypto.models import CryptoPayment
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.payments.crypto_support import confirm, initiate, stored
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS, connected, custodial

MODELS = ("wallet", "custodyaccount", "cryptopayment")


@pytest.fixture
def furnished(api, user):
    """A person with wallets of both kinds and payments in several states; returns the submitted payment."""
    gone = connected(user, OTHER_ADDRESS)
    api.remove(f"/wallet/disconnect/{gone.pk}")
    wallet = connected(user, ADDRESS, label="Jane's phone")
    custodial(user)
    initiate(api, user, wallet, description="rent for May")
    payment_id = initiate(api, user, wallet).json()["payment_id"]
    confirm(api, payment_id, "0x12")
    return stored(payment_id)


def page(client, model, pk=None):
    """The list of a model, or a record's page."""
    address = f"/admin/payments/{model}/" + (f"{pk}/change/" if pk else "")
    return client.get(address)


@pytest.mark.parametrize("group", ["Support", "Operations"])
def test_support_and_operations_read_everything(furnished, group):
    client = backoffice_client(staff_of(group))
    for model in MODELS:
        assert page(client, model).status_code == 200
    content = page(client, "cryptopayment", furnished.pk).content.decode()
    assert furnished.tx_hash in content
    assert "broadcasting" in content
    assert "1.500000 USDC" in content


def test_reviewers_see_wallets(furnished):
    assert page(backoffice_client(staff_of("Reviewer")), "wallet").status_code == 200


def test_a_payment_is_found_by_its_id_its_hash_and_its_person(furnished, user):
    client = backoffice_client(staff_of("Support"))
    terms = (furnished.pk, furnished.tx_hash, user.username, user.pk, "0x" + "00" * 32)
    pages = [client.get("/admin/payments/cryptopayment/", {"q": str(term)}).content.decode() for term in terms]
    assert [str(furnished.pk)[-12:] in page for page in pages] == [True] * 4 + [False]


def test_labels_are_masked_for_support(furnished, user):
    client = backoffice_client(staff_of("Operations"))
    described = CryptoPayment.objects.get(user=user, description__isnull=False)
    content = page(client, "cryptopayment", described.pk).content.decode()
    assert "rent for May" not in content
    assert "Personal data is masked" in content
    assert "Jane's phone" not in page(client, "wallet", described.wallet_id).content.decode()

"""POST /v1/payments/crypto/confirm while no chain is configured; the chain's part stands in test_crypto_on_chain.py."""

from datetime import timedelta

import pytest
from django.utils import timezone

from payments.chain.addresses import parse_transaction_hash
from payments.crypto.models import CryptoPayment
from tests.api import assert_error
from tests.payments.crypto_support import confirm, initiate, statuses, stored
from tests.payments.wallet_support import connected, events


@pytest.fixture
def payment_id(api, user):
    """A simulated payment that waits for its signature."""
    return initiate(api, user, connected(user)).json()["payment_id"]


def overdue(payment_id):
    """Let the time to sign be over."""
    CryptoPayment.objects.filter(pk=payment_id).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_the_submission_is_marked_as_simulated(api, user, payment_id):
    response = confirm(api, payment_id, "0xabcdef")
    assert response.status_code == 200
    body = response.json()
    assert set(body) == {"payment_id", "tx_hash", "status", "simulated"}
    assert (body["payment_id"], body["status"], body["simulated"]) == (payment_id, "submitted", True)
    assert parse_transaction_hash(body["tx_hash"]) == body["tx_hash"]
    assert statuses(payment_id) == ["broadcasting", "submitted"]
    (event,) = events(user, "payment.crypto.submitted")
    assert (event["payment_id"], event["tx_hash"], event["status"]) == (payment_id, body["tx_hash"], "submitted")


def test_the_same_payment_again_has_the_same_answer(api, user, payment_id):
    first = confirm(api, payment_id, "0xabcdef").json()
    assert confirm(api, payment_id, "0xabcdef").json() == first
    assert len(statuses(payment_id)) == 2
    assert len(events(user, "payment.crypto.submitted")) == 1


def test_two_payments_have_two_hashes(api, user, payment_id):
    other = initiate(api, user, connected(user)).json()["payment_id"]
    assert confirm(api, payment_id, "0x1").json()["tx_hash"] != confirm(api, other, "0x1").json()["tx_hash"]


def test_after_its_time_it_is_expired(api, user, payment_id):
    overdue(payment_id)
    for _ in range(2):
        assert_error(confirm(api, payment_id, "0xabcdef"), 400, "E3008")
    assert stored(payment_id).status == "expired"
    (event,) = events(user, "payment.crypto.expired")
    assert event["payment_id"] == payment_id


def test_a_payment_submitted_in_time_stays_submitted(api, payment_id):
    first = confirm(api, payment_id, "0xabcdef").json()
    overdue(payment_id)
    assert confirm(api, payment_id, "0xabcdef").json() == first


def test_the_network_is_the_one_that_was_initiated(api, payment_id):
    body = assert_error(confirm(api, payment_id, "0xabcdef", network="ethereum"), 400, "E3007")
    assert body["details"][0]["field"] == "network"
    assert_error(confirm(api, payment_id, "0xabcdef", network="nowhere"), 400, "E1001")
    assert stored(payment_id).status == "awaiting_signature"
    assert confirm(api, payment_id, "0xabcdef", network="base").status_code == 200


def test_another_accounts_payment_is_404(api, stranger_api, payment_id):
    assert_error(confirm(stranger_api, payment_id, "0xabcdef"), 404, "E4010")
    for unknown in ("x", "01890000-0000-7000-8000-000000000000", "1" * 255, payment_id.upper()):
        assert_error(confirm(api, unknown, "0xabcdef"), 404, "E4010")
    assert stored(payment_id).status == "awaiting_signature"

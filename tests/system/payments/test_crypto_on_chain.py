"""Payments on a real chain: accepted transactions are sent, and rejected transactions are not sent."""

import rlp
from django.utils import timezone

from payments.chain.transactions import transfer_call_data
from payments.crypto.models import CryptoPayment, CryptoTransaction
from tests.api import assert_error, client_of
from tests.factories import UserFactory
from tests.payments.crypto_support import AMOUNT, confirm, initiate, statuses, stored
from tests.payments.wallet_support import connected, events


def test_confirmed_crypto_payment_transfers_the_token(payer, node):
    before = payer.balances()
    payment = payer.initiate(description="rent")
    assert node.broadcasts == 0
    response = payer.confirm(payment, payer.sign(payment["transaction"]))
    assert response.status_code == 200
    body = response.json()
    assert body == {
        "payment_id": payment["payment_id"], "tx_hash": body["tx_hash"], "status": "submitted", "simulated": False,
    }  # fmt: skip
    payer.chain.mined(body["tx_hash"])
    assert payer.balances() == (before[0] - AMOUNT, before[1] + AMOUNT)
    assert node.broadcasts == 1
    assert payer.api.read(f"/payments/crypto/receipt/{body['tx_hash']}").json()["verified"] is True
    assert payer.api.read(f"/payments/crypto/status/{body['tx_hash']}").json()["status"] == "confirmed"
    assert statuses(payment["payment_id"]) == ["broadcasting", "submitted"]
    assert [event["tx_hash"] for event in events(payer.user, "payment.crypto.submitted")] == [body["tx_hash"]]
    for row in stored(payment["payment_id"]).history.all():
        assert (row.principal, row.changed_by) == (payer.user, str(payer.user.pk))
        assert row.credential.startswith("jwt:")
        assert row.metadata == {"tx_hash": body["tx_hash"]}


def test_every_transaction_type_of_wallets_is_accepted_with_fees_and_gas_changed_by_the_wallet(payer):
    one_price = {"maxFeePerGas": None, "maxPriorityFeePerGas": None, "gasPrice": 10**10}
    kinds = {
        "legacy": {"type": None, **one_price},
        "access list": {"type": 1, **one_price, "accessList": [{"address": payer.chain.token, "storageKeys": []}]},
        "dynamic fees": {"gas": 90_000, "maxFeePerGas": 3 * 10**10, "maxPriorityFeePerGas": 2 * 10**9},
    }
    for number, (kind, changes) in enumerate(kinds.items(), 1):
        payment = payer.initiate()
        response = payer.confirm(payment, payer.sign(payment["transaction"], **changes))
        assert response.status_code == 200, (kind, response.content)
        payer.chain.mined(response.json()["tx_hash"])
        assert payer.balances()[1] == number * AMOUNT, kind


def test_crypto_payment_of_zero_is_accepted_and_verified(payer):
    paid = payer.pay(amount_usdc=0)
    payer.chain.mined(paid["tx_hash"])
    assert payer.api.read(f"/payments/crypto/receipt/{paid['tx_hash']}").json()["verified"] is True


# --- Rejections of changed transactions ------------------------------------------------------------------------------


def tampered(payer, stranger_account):
    """Return the tampered variants of a transaction by name.

    Each variant consists of the changes, and the fields that the error response must list.
    """
    elsewhere = stranger_account.address
    data = transfer_call_data(payer.recipient, AMOUNT)
    approve = "0x095ea7b3" + data[10:]
    from_call = "0x23b872dd" + "00" * 12 + payer.account.address[2:].lower() + data[10:]
    return {
        "recipient": ({"data": transfer_call_data(elsewhere, AMOUNT)}, {"recipient"}),
        "more": ({"data": transfer_call_data(payer.recipient, AMOUNT + 1)}, {"amount"}),
        "less": ({"data": transfer_call_data(payer.recipient, AMOUNT - 1)}, {"amount"}),
        "recipient and amount": ({"data": transfer_call_data(elsewhere, 0)}, {"recipient", "amount"}),
        "asset": ({"to": elsewhere}, {"asset"}),
        "chain": ({"chainId": 1}, {"chain"}),
        "sender": ({"by": stranger_account}, {"sender"}),
        "value": ({"value": 1}, {"value"}),
        "approve instead of transfer": ({"data": approve}, {"data"}),
        "transferFrom instead of transfer": ({"data": from_call}, {"data"}),
        "no call": ({"data": "0x"}, {"data"}),
        "data after the call": ({"data": data + "00"}, {"data"}),
        "nonzero padding of the address": ({"data": data[:10] + "01" + data[12:]}, {"data"}),
        "everything": (
            {"data": "0x", "to": elsewhere, "chainId": 5, "value": 2, "by": stranger_account},
            {"data", "asset", "chain", "value", "sender"},
        ),
    }


def test_a_changed_transaction_is_rejected_and_not_sent(payer, node):
    before, payment = payer.balances(), payer.initiate()
    for difference, (changes, fields) in tampered(payer, payer.chain.new_payer(AMOUNT)).items():
        body = assert_error(payer.confirm(payment, payer.sign(payment["transaction"], **changes)), 400, "E3007")
        assert {entry["field"] for entry in body["details"]} == fields, difference
        assert node.broadcasts == 0, difference
    assert payer.balances() == before
    assert not CryptoTransaction.objects.exists()
    # The payment stays open, so that the payer can still sign the original transaction.
    assert payer.confirm(payment, payer.sign(payment["transaction"])).status_code == 200


def test_a_transaction_without_a_chain_id_is_rejected_and_not_sent(payer, node):
    payment = payer.initiate()
    unprotected = {"type": None, "chainId": None, "maxFeePerGas": None, "maxPriorityFeePerGas": None}
    signed = payer.sign(payment["transaction"], gasPrice=10**10, **unprotected)
    assert_error(payer.confirm(payment, signed), 400, "E3007")
    assert node.broadcasts == 0


def test_an_invalid_signature_is_rejected_and_not_sent(payer, node):
    payment = payer.initiate()
    raw = bytes.fromhex(payer.sign(payment["transaction"])[2:])
    fields = rlp.decode(raw[1:])
    fields[-1] = bytes(31) + b"\1"
    for encoded in (rlp.encode([*fields[:-1], b"\1"]), rlp.encode([*fields[:-2], b"", b""])):
        assert_error(payer.confirm(payment, "0x" + (raw[:1] + encoded).hex()), 400, "E3007")
    assert node.broadcasts == 0


def test_a_confirmation_for_another_network_or_after_the_deadline_is_rejected_and_not_sent(payer, node):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    assert_error(payer.confirm(payment, signed, network="base"), 400, "E3007")
    CryptoPayment.objects.filter(pk=payment["payment_id"]).update(expires_at=timezone.now())
    assert_error(payer.confirm(payment, signed), 400, "E3008")
    assert stored(payment["payment_id"]).status == "expired"
    assert node.broadcasts == 0


# --- Repetitions ------------------------------------------------------------------------------------------------------


def test_submitted_crypto_payment_accepts_only_its_own_transaction_and_sends_the_transaction_once(payer, node):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    first = payer.confirm(payment, signed)
    second = payer.confirm(payment, signed.upper().replace("0X", "0x"), network="eip155:31337")
    assert second.status_code == 200
    assert second.json() == first.json()
    other = payer.sign(payment["transaction"], nonce=payment["transaction"]["nonce"] + 1)
    assert_error(payer.confirm(payment, other), 400, "E3007")
    assert node.broadcasts == 1


def test_a_transaction_of_another_payment_is_rejected_and_not_sent(payer, node):
    first, second = payer.initiate(), payer.initiate()
    signed = payer.sign(first["transaction"])
    assert payer.confirm(first, signed).status_code == 200
    assert_error(payer.confirm(second, signed), 400, "E3007")
    assert node.broadcasts == 1
    assert stored(second["payment_id"]).status == "awaiting_signature"


def test_a_transaction_mined_before_the_payment_is_rejected_and_not_sent(payer, node):
    """The transfer has the same recipient and amount, and was mined before the payment was created."""
    data = transfer_call_data(payer.recipient, AMOUNT)
    earlier = payer.chain.sign(payer.account, to=payer.chain.token, data=data)
    payer.chain.mined(payer.chain.rpc("eth_sendRawTransaction", earlier))
    payment = payer.initiate()
    assert_error(payer.confirm(payment, earlier), 400, "E3009")
    assert node.broadcasts == 0


def test_a_transaction_of_another_payer_is_rejected(payer, evm, node):
    """Another user can connect the same wallet address, but can't use its transactions."""
    other_user = UserFactory()
    other = client_of(other_user)
    copy = connected(other_user, payer.account.address, network="eip155:31337")
    theirs = initiate(other, other_user, copy, to_address=payer.recipient).json()
    paid = payer.initiate()
    signed = payer.sign(paid["transaction"])
    payer.confirm(paid, signed)
    assert_error(confirm(other, theirs["payment_id"], signed), 400, "E3007")
    assert stored(theirs["payment_id"]).status == "awaiting_signature"


# --- Rejections by the node -------------------------------------------------------------------------------------------


def rejection_message(response):
    """Check that the node rejected the transaction; return the error message."""
    return assert_error(response, 400, "E3009")["message"]


def test_transaction_with_a_used_nonce_is_rejected_and_the_payment_remains_open(payer, node):
    payment = payer.initiate()
    payer.chain.mined(payer.chain.send(payer.account, to=payer.recipient, data="0x"))
    assert "nonce too low" in rejection_message(payer.confirm(payment, payer.sign(payment["transaction"])))
    assert statuses(payment["payment_id"]) == ["broadcasting", "awaiting_signature"]
    assert stored(payment["payment_id"]).history.last().reason == "nonce too low"
    response = payer.confirm(payment, payer.sign(payment["transaction"], nonce=1))
    assert response.status_code == 200
    payer.chain.mined(response.json()["tx_hash"])
    assert payer.balances()[1] == AMOUNT


def test_a_transaction_without_funds_for_fees_is_accepted_after_funding(payer):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    payer.chain.rpc("anvil_setBalance", payer.account.address, "0x0")
    assert "funds" in rejection_message(payer.confirm(payment, signed)).lower()
    payer.chain.rpc("anvil_setBalance", payer.account.address, hex(10**18))
    assert payer.confirm(payment, signed).status_code == 200


def test_transaction_with_low_fees_can_be_replaced_only_with_the_same_nonce_and_higher_fees(payer, node):
    payment = payer.initiate()
    cheap = payer.sign(payment["transaction"], maxFeePerGas=1, maxPriorityFeePerGas=1)
    rejection_message(payer.confirm(payment, cheap))
    sent = node.broadcasts
    body = assert_error(payer.confirm(payment, payer.sign(payment["transaction"], nonce=1)), 400, "E3007")
    assert body["details"] == [{"field": "nonce", "message": "Must be 0."}]
    assert node.broadcasts == sent
    assert payer.confirm(payment, payer.sign(payment["transaction"])).status_code == 200


def test_crypto_payment_whose_rejected_transaction_is_mined_is_not_paid_twice(payer, node):
    """A transaction that the node rejected can still be sent and mined elsewhere."""
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    node.faults["eth_sendRawTransaction"] = {"error": {"code": -32000, "message": "not today"}}
    assert "not today" in rejection_message(payer.confirm(payment, signed))
    node.faults.clear()
    payer.chain.mined(payer.chain.rpc("eth_sendRawTransaction", signed))
    sent = node.broadcasts
    assert_error(payer.confirm(payment, payer.sign(payment["transaction"], nonce=1)), 400, "E3007")
    assert node.broadcasts == sent
    assert payer.confirm(payment, signed).status_code == 200
    assert payer.balances()[1] == AMOUNT


def test_error_message_of_an_ethereum_node_is_returned_without_invalid_characters(payer, node):
    payment = payer.initiate()
    words = "no\0 \ud800way" + "!" * 1000
    node.faults["eth_sendRawTransaction"] = {"error": {"code": -32000, "message": words}}
    message = rejection_message(payer.confirm(payment, payer.sign(payment["transaction"])))
    assert "no ?way!" in message
    assert len(message) < 300

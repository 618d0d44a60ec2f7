"""Create and inspect crypto payments."""

from payments.crypto.models import CryptoPayment
from tests.payments.wallet_support import OTHER_ADDRESS, connected

CHAIN_ID = 31337
NETWORK = f"eip155:{CHAIN_ID}"
AMOUNT = 1_500_000
INITIATED_MEMBERS = {
    "payment_id", "status", "network", "wallet_id", "to_address", "amount_usdc", "transaction", "expires_at",
    "simulated",
}  # fmt: skip
TRANSACTION_MEMBERS = {
    "to", "data", "value", "chain_id", "nonce", "gas", "max_fee_per_gas", "max_priority_fee_per_gas",
}  # fmt: skip


def initiate(api, user, wallet, **changes):
    body = {"user_id": str(user.pk), "wallet_id": str(wallet.pk), "to_address": OTHER_ADDRESS, "amount_usdc": AMOUNT}
    return api.send("/payments/crypto/initiate", {**body, **changes})


def confirm(api, payment_id, signed, **changes):
    body = {"payment_id": str(payment_id), "signed_transaction": signed}
    return api.send("/payments/crypto/confirm", {**body, **changes})


def stored(payment_id):
    return CryptoPayment.objects.get(pk=payment_id)


def statuses(payment_id):
    """Return every status that the payment has entered, in order."""
    return list(stored(payment_id).history.values_list("status", flat=True))


class Payer:
    """A user who owns the token on the chain and signs the initiated transactions."""

    def __init__(self, chain, api, user, *, units=10 * AMOUNT):
        self.chain, self.api, self.user = chain, api, user
        self.account = chain.new_payer(units)
        self.recipient = chain.new_account(ether=0).address
        self.wallet = connected(user, self.account.address, network=NETWORK)

    def initiate(self, **changes):
        response = initiate(self.api, self.user, self.wallet, **{"to_address": self.recipient, **changes})
        assert response.status_code == 200, response.content
        return response.json()

    def sign(self, transaction, *, by=None, **changes):
        """Sign the transaction that `initiate` returned, with `changes` applied; return hex."""
        content = {
            "type": 2, "to": transaction["to"], "data": transaction["data"], "value": transaction["value"],
            "chainId": transaction["chain_id"], "nonce": transaction["nonce"], "gas": transaction["gas"],
            "maxFeePerGas": transaction["max_fee_per_gas"],
            "maxPriorityFeePerGas": transaction["max_priority_fee_per_gas"], **changes,
        }  # fmt: skip
        signed = (by or self.account).sign_transaction(
            {name: value for name, value in content.items() if value is not None}
        )
        return "0x" + bytes(signed.raw_transaction).hex()

    def confirm(self, payment, signed, **changes):
        return confirm(self.api, payment["payment_id"], signed, **changes)

    def pay(self, **changes):
        payment = self.initiate(**changes)
        response = self.confirm(payment, self.sign(payment["transaction"]))
        assert response.status_code == 200, response.content
        return {**payment, **response.json()}

    def balances(self):
        return self.chain.balance(self.account.address), self.chain.balance(self.recipient)

"""Serve a double of a chain node without a chain. tests/system/payments/evm.py has a real node."""

from tests.payments.http_double import HttpDouble, Reply

METHOD_MISSING = {"error": {"code": -32601, "message": "the method does not exist"}}
REVERTED = {"error": {"code": 3, "message": "execution reverted: ERC20: transfer amount exceeds balance"}}
GWEI = 10**9


class NodeDouble(HttpDouble):
    """Respond to each method with `answers[method]`: a result, an object with `error`, or a whole Reply."""

    def __init__(self, chain_id):
        super().__init__()
        self.answers = {
            "eth_chainId": hex(chain_id), "eth_getTransactionCount": "0x7", "eth_estimateGas": hex(50_000),
            "eth_call": "0x" + "0" * 63 + "1", "eth_getBlockByNumber": {"baseFeePerGas": hex(10 * GWEI)},
            "eth_maxPriorityFeePerGas": hex(GWEI), "eth_gasPrice": hex(12 * GWEI),
            "eth_feeHistory": {"reward": [[hex(3 * GWEI)], [hex(2 * GWEI)], [hex(9 * GWEI)]]},
        }  # fmt: skip

    @property
    def called_methods(self):
        return [request.body["method"] for request in self.received]

    def answer(self, request):
        known = self.answers.get(request.body["method"], METHOD_MISSING)
        if isinstance(known, Reply):
            return known
        content = known if isinstance(known, dict) and "error" in known else {"result": known}
        return Reply(content={"jsonrpc": "2.0", "id": request.body["id"], **content})

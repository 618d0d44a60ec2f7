"""Fixtures with a real EVM chain, a node double, and a payer."""

import pytest

from tests.payments.conftest import double, impatient, scoped_api, stripe_settings  # noqa: F401  fixtures


@pytest.fixture(scope="session")
def evm():
    """A real chain that all tests of a process share. Each test creates new accounts."""
    from tests.system.payments import evm as evm_module

    lacking = evm_module.missing()
    if lacking:
        pytest.skip(lacking)
    chain = evm_module.Chain()
    yield chain
    chain.stop()


@pytest.fixture
def node(evm, settings, impatient):
    """A node double in front of the chain. The platform uses it, and settles payments after one block."""
    from tests.payments.crypto_support import NETWORK
    from tests.system.payments.evm import NodeDouble

    with NodeDouble(evm) as double:
        settings.SETTLEMENT_RPC_URL = double.url
        settings.SETTLEMENT_NETWORK = NETWORK
        settings.SETTLEMENT_TOKEN_ADDRESS = evm.token
        settings.SETTLEMENT_CONFIRMATIONS = 1
        yield double
    evm.mine_by_hand(on=False)


@pytest.fixture
def payer(evm, node, api, user):
    """A user with a funded wallet on the chain."""
    from tests.payments.crypto_support import Payer

    return Payer(evm, api, user)

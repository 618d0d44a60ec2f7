"""What the environment may say about custody and the settlement chain, and what stops the process."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env as environment
from payments.chain.addresses import NETWORK_ALIASES, parse_network
from payments.chain.environment import contract_address
from tests.payments.wallet_support import ADDRESS, MISTYPED_ADDRESS


@pytest.fixture
def variable(monkeypatch):
    """Set the variable that a test is about."""
    return lambda value: monkeypatch.setenv("SUBJECT", value)


@pytest.mark.parametrize("value", ["", ADDRESS, ADDRESS.lower()])
def test_a_contract_is_named_by_its_address(variable, value):
    variable(value)
    assert contract_address("SUBJECT") == value


@pytest.mark.parametrize("value", [MISTYPED_ADDRESS, "0x12", ADDRESS[2:], ADDRESS + "00", "usdc"])
def test_an_address_that_is_mistyped_stops_the_process(variable, value):
    variable(value)
    with pytest.raises(ImproperlyConfigured, match="SUBJECT"):
        contract_address("SUBJECT")


@pytest.mark.parametrize("value", ["", "http://127.0.0.1:8545", "https://node.example/v3/access-key"])
def test_a_node_has_an_address_of_http(variable, value):
    variable(value)
    assert environment.secret_address("SUBJECT", "https://node.example/key", ("http", "https")) == value


@pytest.mark.parametrize("value", ["ws://node.example/access-key", "node.example/access-key", "https:///access-key"])
def test_another_address_of_a_node_stops_the_process_without_repeating_its_key(variable, value):
    variable(value)
    with pytest.raises(ImproperlyConfigured, match="SUBJECT") as stopped:
        environment.secret_address("SUBJECT", "https://node.example/key", ("http", "https"))
    assert "access-key" not in str(stopped.value)


def test_every_alias_names_a_network():
    assert all(parse_network(alias) == network for alias, network in NETWORK_ALIASES.items())

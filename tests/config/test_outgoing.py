"""Test that every request to an external server ends within its deadline."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from config.clients import provider
from config.clients.provider import ProviderError, call
from config.core.errors import Unavailable
from config.core.outgoing import NoAnswer, exchange
from identity.providers import base, plaid
from ledger import following, service_a
from ledger.management.commands import verify
from payments.cards.models import Payment
from payments.cards.processors import stripe
from payments.chain import rpc
from payments.wallets.custody.circle import CircleCustody
from tests.dripping import IN_THE_BODY, IN_THE_HEAD, dripping
from tests.ledger.witnesses import LOG
from tests.payments.http_double import HttpDouble, Reply, unused_address

SECONDS = 0.2


class Answers(HttpDouble):
    def __init__(self, reply):
        super().__init__()
        self.reply = reply

    def answer(self, request):
        return self.reply


def fetch(url, **options):
    return exchange("GET", url, **{"seconds": 5, "max_bytes": 1_000, **options})


@pytest.fixture
def slow():
    with dripping() as address:
        yield address


@pytest.mark.parametrize(("method", "begin"), [("GET", IN_THE_HEAD), ("POST", IN_THE_BODY)])
def test_slow_outgoing_response_is_aborted_at_the_deadline(method, begin):
    with dripping(begin) as address, pytest.raises(NoAnswer, match="timeout") as caught:
        exchange(method, address, seconds=SECONDS, max_bytes=1_000)
    assert caught.value.was_sent


def ask_plaid(settings, address):
    settings.PLAID_BASE_URL = address
    with pytest.raises(base.BankingUnavailable, match="timeout"):
        plaid.Plaid().create_link_token(user_id="42")


def ask_stripe(settings, address):
    settings.STRIPE_BASE_URL = address
    now = timezone.now()
    payment = Payment(pk=1, amount_cents=100, currency="usd", created_at=now - timedelta(hours=1), processor_key="k")
    charged = stripe.StripeProcessor().charge(payment, method_token="pm_card_visa")
    assert (charged.outcome, charged.answered, charged.detail) == (stripe.UNKNOWN, False, {"error": "timeout"})
    assert stripe.StripeProcessor().find(payment, now=now).detail == {"error": "timeout"}


def ask_circle(settings, address):
    settings.CIRCLE_BASE_URL = address
    with pytest.raises(ProviderError, match="timeout"):
        CircleCustody().balance("an-account")


def ask_the_chain(settings, address):
    settings.SETTLEMENT_RPC_URL = address
    with pytest.raises(ProviderError, match="timeout"):
        rpc.Node()


def ask_service_a(settings, address):
    settings.BASE_URL = f"{address}/v1"
    with pytest.raises(Unavailable):
        service_a.Introspection().check("a.b.c", "42")
    with pytest.raises(Unavailable):
        service_a.PublishedKeys().find("kid")


def ask_a_foreign_log(settings, address):
    follower = following.Follower(address, LOG.verifier, settings.VAR_DIR / "head")
    with pytest.raises(following.FollowError, match="timeout"):
        follower.follow()


def ask_the_ledger_for_its_key(settings, address):
    settings.CHAIN_URL = address
    with pytest.raises(verify.CommandError, match="returns none"):
        verify._fetch()


@pytest.mark.parametrize(
    "ask",
    [ask_plaid, ask_stripe, ask_circle, ask_the_chain, ask_service_a, ask_a_foreign_log, ask_the_ledger_for_its_key],
)
def test_every_outgoing_client_stops_waiting_at_its_deadline(slow, settings, monkeypatch, ask):
    for module, name in (
        (provider, "READ_TIMEOUT_SECONDS"), (plaid, "READ_TIMEOUT_SECONDS"), (stripe, "READ_TIMEOUT_SECONDS"),
        (rpc, "READ_TIMEOUT_SECONDS"), (service_a, "_SECONDS"), (following, "FETCH_SECONDS"),
        (verify, "KEY_SECONDS"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, SECONDS)
    ask(settings, slow)


def test_waiting_outgoing_request_can_be_stopped(slow):
    stopped = threading.Event()
    threading.Timer(0.1, stopped.set).start()
    with pytest.raises(NoAnswer, match="stopped"):
        fetch(slow, is_stopped=stopped.is_set)


def test_error_of_an_outgoing_request_records_whether_the_request_was_sent():
    with pytest.raises(NoAnswer, match="connect") as caught:
        fetch(unused_address())
    assert not caught.value.was_sent
    with Answers(Reply(hang_up=True)) as double, pytest.raises(NoAnswer, match="reset") as caught:
        fetch(double.url)
    assert caught.value.was_sent


def test_outgoing_request_with_a_scheme_that_is_not_http_is_rejected():
    for url in ["file:///etc/hostname", "dict://127.0.0.1:1/d:word", "gopher://127.0.0.1:1/_x", "x"]:
        with pytest.raises(NoAnswer) as caught:
            fetch(url)
        assert not caught.value.was_sent, url
        assert caught.value.word == "unreadable", url


def test_outgoing_response_above_the_size_limit_raises_an_error():
    with Answers(Reply(raw=b"x" * 1_001)) as double, pytest.raises(NoAnswer, match="too_large"):
        fetch(double.url)
    with Answers(Reply(raw=b"x" * 1_000, headers={"X-One": "1"})) as double:
        answer = fetch(double.url)
    assert (answer.status, len(answer.body), answer.headers["x-one"]) == (200, 1_000, "1")


def test_outgoing_header_with_a_line_break_is_not_sent():
    with Answers(Reply()) as double, pytest.raises(NoAnswer) as caught:
        fetch(double.url, headers={"X-Name": "a\r\nX-Other: b"})
    assert not caught.value.was_sent
    assert double.received == []


def test_outgoing_post_is_not_retried_after_a_lost_connection():
    with Answers(Reply()) as double:
        call("GET", double.url)
        double.reply = Reply(hang_up=True)
        with pytest.raises(ProviderError, match="reset"):
            call("POST", double.url, json={})
    assert [request.method for request in double.received] == ["GET", "POST"]


def test_outgoing_requests_ignore_the_http_proxy_variable(monkeypatch):
    monkeypatch.setenv("http_proxy", unused_address())
    with Answers(Reply(content={})) as double:
        assert call("GET", double.url, params={"q": "a b&c"}).json() == {}
    assert double.received[0].query == {"q": "a b&c"}

"""Test that parsers of untrusted input accept or reject every value, and raise no other error."""

import base64
import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.core.validators import validate_ipv46_address
from django.test import RequestFactory

from claims import doi
from config.api import middleware, rate_limits, renderers
from config.clients import addresses, provider
from config.core import ids, json_bodies, json_text, retries, tokens
from config.core.errors import ApiError
from config.mail import addresses as mail_addresses
from credit.api.commerce import agent, catalog
from credit.core import consumer_reports as reports
from credit.scoring import optbinning
from identity.accounts.adapter import AccountAdapter
from identity.oauth import clients
from identity.providers import plaid_events
from ledger import checkpoint, policy, proof_file, tiles
from payments.cards.processors import stripe
from payments.chain import rpc, transactions

NOW = datetime(2026, 1, 31, tzinfo=UTC)
DIGITS = "9" * 5_000  # a number with more digits than Python converts to an integer
VALUES = [
    "", " ", "\0", "\ud800", "a\ud800b", "é", "²", "\u0661", DIGITS, f"-{DIGITS}", f"1e{DIGITS}",
    "1e99999999999999999999", "1e-99999999999999999999", "1e999", "NaN", "sNaN", "Infinity", "-0", "+5", "1_0", "0x",
    f"0x{'f' * 5_000}", "[" * 100_000, '{"a":' * 100_000, f"{'[' * 100}{']' * 100}", "null", "1", "[]", '"\\ud800"',
    '{"\\udc00": "\\u0000"}', f"[{DIGITS}]", "[1e99999999999999999999]", "[1e-99999999999999999999]", "[NaN]", "[::1",
    "http://[::1", "http://[x]", "http://[::1%eth0]/", "fe80::1%eth0", "https://a:99999999999/", f"https://a:{DIGITS}",
    "https://\u2100.example/", "http://a@b", "//", "https://xn--a", "https://xn--zzzzzz99999999.example",
    "a@\ud800.example", "a\ud800@b.example", "a@xn--", f"a@{'a' * 70}.example", f"a@{'.'.join('a' * 3_000)}", "a@..",
    "a@\u2100.example", "a@\u0300.example", "a@ab--c.example", "a@-a.example", "a@\u200d.example",
    "a@\u05d0a.example", "@", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "2026-02-30", "2026-W01-1",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:60Z", "0000-01-01T00:00:00Z",
    f"2026-01-01T00:00:00.{DIGITS}Z", "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
    "Wed, 21 Oct 0001 07:28:00 +2359", "Wed, 31 Dec 9999 23:59:59 -2359", "Wed, 21 Oct 2015 99:28:00 GMT",
    "Wed, 21 Oct 2015 07:28:00 +99999999", f"Wed, 21 Oct 2015 07:28:00 -{DIGITS}", "=", "a=", "====", "YQ", "YQ==\n",
    "%", "%zz", "%ff", "%ed%a0%80", f"a/b;q={DIGITS}", "*/*;q=1.1.1", "*/*;q=.", "*/*;q=\u0661", f"t={DIGITS},v1=x",
    "t=²,v1=x", "t=1,t=2", "a.b.c", "...", "a" * 100_000, "\r\n", 'profile="', f"0/{'x000/' * 2_000}000",
    f"0/000.p/{DIGITS}",
]  # fmt: skip


def _encoded(text):
    return text.encode("utf-8", "surrogatepass")


def _segment(text):
    return base64.urlsafe_b64encode(_encoded(text)).rstrip(b"=").decode()


VALUES += [
    f"{_segment(header)}.{_segment(claims)}.x"
    for header, claims in [
        ('{"alg":"RS256","kid":"\\ud800"}', "{}"), ('{"alg":"ES256","kid":"\\u0000"}', "{}"), ("[" * 2_000, "{}"),
        (f'{{"alg":"RS256","kid":{DIGITS[:2_900]}}}', "{}"), ("[]", "1"), ("1", "[]"), ('{"alg":[],"kid":{}}', "{}"),
        ('{"alg":"RS256","kid":"k"}', "[" * 2_000), ('{"alg":"RS256","kid":"k","crit":["x"]}', "{}"), ("\ud800", "{}"),
    ]
]  # fmt: skip


def _answer(text, **options):
    document = provider.ProviderAnswer(200, {}, _encoded(text)).json(**options)
    # The value must be encodable as UTF-8, because a column or a response can contain it.
    json.dumps(document, ensure_ascii=False, default=str).encode()


def _transport(text):
    middleware.check_transport(RequestFactory().get("/", CONTENT_LENGTH=text))


def _target(text):
    middleware.check_transport(RequestFactory().get("/", RAW_URI=text))


def _address_of_log_in(text):
    validate_ipv46_address(AccountAdapter().get_client_ip(RequestFactory().get("/", REMOTE_ADDR=text)))


def _cancellation(text):
    processor = stripe.StripeProcessor()
    processor._call = lambda *_request, **_options: provider.ProviderAnswer(200, {}, _encoded(text))
    processor._cancel("pi_1", {})


# Each parser has the errors that it may raise.
PARSERS = {
    "JSON body": (lambda text: json_bodies.parse_json(_encoded(text)), ApiError),
    "announced length": (_transport, ApiError),
    "request target": (_target, ApiError),
    "vendor JSON": (_answer, provider.ProviderError),
    "vendor JSON with decimals": (lambda text: _answer(text, parse_float=Decimal), provider.ProviderError),
    "moment": (json_text.parse_rfc3339, ()),
    "day": (json_text.day_of, ()),
    "day of a report": (lambda text: reports._day({"date": text}, "consumer_report"), ApiError),
    "UUID": (ids.parse_uuid, ()),
    "positive number": (ids.parse_positive_int64, ()),
    "Retry-After": (lambda text: retries.read_retry_after(text, now=NOW), ()),
    "Accept": (lambda text: renderers.quality_of("application/json", text), ()),
    "address of a caller": (rate_limits.network_of, ()),
    "address of a log-in": (_address_of_log_in, ()),
    "webhook URL": (addresses.read_url, addresses.AddressRefused),
    "redirect URI": (clients.check_redirect, ValidationError),
    "email address": (mail_addresses.normalize, ValidationError),
    "stored email address": (mail_addresses.mailable, ()),
    "access token": (
        lambda text: tokens.verify_access_token(text, issuer="x", find_key=lambda _kid: None), ApiError
    ),
    "Plaid event": (
        lambda text: plaid_events.verify_event(text, b"", now=NOW, fetch_key=lambda _kid: None), ApiError
    ),
    "Stripe signature": (lambda text: stripe.is_signature_valid(b"", text, secret="s"), ()),
    "Stripe cancellation": (_cancellation, provider.ProviderError),
    "signed transaction": (transactions.decode_signed, transactions.UnreadableTransaction),
    "ERC-20 call": (transactions.read_transfer, ()),
    "JSON-RPC quantity": (rpc._quantity, provider.ProviderError),
    "publication": (doi.publication_key, ()),
    "fault of a publication": (doi.fault_of, ()),
    "catalog cursor": (catalog.Position.read, ApiError),
    "inner text of a catalog cursor": (lambda text: catalog.Position.read(_segment(text) + "=="), ApiError),
    "UCP-Agent": (agent._read_members, ()),
    "profile of an agent": (agent._is_address, ()),
    "binning points": (lambda text: optbinning._rounded(text, "1", "ROUND_HALF_UP"), ApiError),
    "binning bound": (lambda text: optbinning._number(text, "1"), ApiError),
    "binning values": (lambda text: optbinning._texts(f"['{text}']", "1"), ApiError),
    "binning length": (lambda text: optbinning._texts(f"['a'] Length: {text}", "1"), ApiError),
    "verifier key": (checkpoint.Verifier.from_vkey, checkpoint.NoteError),
    "signed note": (checkpoint.parse_note, checkpoint.NoteError),
    "checkpoint": (checkpoint.Checkpoint.from_text, checkpoint.NoteError),
    "proof file": (proof_file.ProofFile.from_text, checkpoint.NoteError),
    "report hash": (proof_file.parse_report_hash, ()),
    "witness policy": (lambda text: policy.Policy.from_bytes(_encoded(text) + b"\n"), policy.PolicyError),
    "tile path": (tiles.parse_tile_path, ValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_strings_raise_only_the_declared_errors_of_each_parser(name):
    parse, refusals = PARSERS[name]
    faults = []
    for text in VALUES:
        try:
            parse(text)
        except refusals:
            continue
        except Exception as error:  # noqa: BLE001  each fault is listed
            faults.append(f"{text[:40]!a}: {error!r}"[:200])
    assert faults == []

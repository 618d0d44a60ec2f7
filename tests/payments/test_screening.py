"""Test that card numbers under /payments and /wallet are rejected, not stored, and not repeated."""

import json
import logging
import time
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from payments.cards.models import Payment
from payments.screening import contains_card_number
from payments.wallets.models import Wallet
from tests.api import assert_error
from tests.payments.card_support import order
from tests.properties import examples

WIDE = "\uff14\uff12" * 8
NUMBERS = [
    "4242424242424242", "4242 4242 4242 4242", "5555-5555-5555-4444", "378282246310005", "6011111111111117",
    " 4242424242424242 ", "4222222222222", "6304000000000000000", "4242.4242.4242.4242",
    "4242\u00a04242\u20034242\u202f4242",
    "4242\t4242\r\n4242\u20284242", WIDE, "4242\u20114242\u20134242\u22124242", "4242\u200b4242424242\u00ad42",
    "my card is 4242 4242 4242 4242, please", "card4242424242424242x", "pm_4242424242424242",
    "\U0001d7d2\U0001d7d0" * 8,
    "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2", "2026-11-22 4242424242424242", "paid 4242 4242 4242 4242 12/27 123",
    "on 22.11.2026 3782 822463 10005", "4242....4242    4242----4242", "4242•4242·4242\uff0e4242", "\u0664\u0662" * 8,
    *(mark.join(["4242"] * 4) for mark in "_/,+:*'\u2019|"), "_".join("42" * 8), "42424242_42424242",
    "4242_4242, 4242 / 4242", "on 2026/11/22, 4242/4242/4242/4242", "&#52;&#50;" * 8, "&#x34;&#x0032;" * 8,
    "4242&nbsp;4242&nbsp;4242&#160;4242",
    "4\u03012\u0301" * 8, "4\ufe0f\u20e32\ufe0f\u20e3" * 8, "4\U000e01002" * 8,
    "4242\ud83d\ude00 4242424242424242".encode("utf-16", "surrogatepass").decode("utf-16"),
]  # fmt: skip
# Payment processors publish these test numbers, one per network.
NUMBERS += [
    "4000056655665556", "4012888888881881", "5105105105105100", "2223003122003222", "371449635398431",
    "6011000990139424",
    "3056930009020004", "36227206271667", "30569309025904", "3566002020360505", "6200000000000005",
    "6205500000000000004",
    "6759649826438453", "501800000009", "5018 0000 0009", "6304 0000 0000 0000", "2201382000000013", "5066991111111118",
    "6062828888666688", "9792000000000003", "9704 0000 0000 0000 008", "8600-0000-0000-0007",
    "4242~4242~4242~4242", "4242;4242;4242;4242", "(4242)(4242)(4242)(4242)",
    "+4242424242424242", "+49 4242424242424242",
    "DE88 4242 4242 4242 4242", "to DE89 3704 0044 0532 0130 00 and 4242 4242 4242 4242",
]  # fmt: skip
HARMLESS = [
    # These are telephone numbers, order numbers, fractions, and account numbers.
    "IR23 4242 4242 4242 4242 0170 00", "MA62424242424242424201150000", "CI93 CI00 8011 1301 1342 9120 0589",
    "9400 1000 0000 0000 0000 00", "IMEI 490154203237518", "1732909200000000", "RF18 5390 0754 7034",
    "+5511921813110", "+55 11 92181-3110", "+55 (11) 92181-3110", "+49 30 901820", "+442083661177", "+1-202-555-0143",
    "+919876543210", "+8613800138000", "Order 20260911011712", "20260911011712", "202609110117123",
    "0.4242424242424242", "12.4242424242424242", "3,4242424242424242",
    "DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "de89 3704 0044 0532 0130 00",
    "GB29 NWBK 6016 1331 9268 19",
    "FR14 2004 1010 0505 0001 3M02 606", "NO93 8601 1117 947", "BE68 5390 0754 7034", "BE68-5390-0754-7034",
    "AE07 0331 2345 6789 0123 456", "SA03 8000 0000 6080 1016 7519", "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
    "ES91 2100 0418 4502 0005 1332", "PL61 1090 1014 0000 0712 1981 2874", "CH93 0076 2011 6238 5295 7",
    "IT60 X054 2811 1010 0000 0123 456", "SE45 5000 0000 0583 9825 7466", "TR33 0006 1005 1978 6457 8413 26",
    "BR18 0036 0305 0000 1000 9795 493C 1", "HU42 1177 3016 1111 1018 0000 0000", "6141414141414142",
    "6900000000000001", "to DE89 3704 0044 0532 0130 00 by 2026-11-22 07:31",
    "4242424242424243", "1234567812345670", "42424242", "0" * 16, "9" * 16, "4242424242424242424242",
    "2026-11-23 07:31:22", "2026/11/23, 07:31:26", "4,242,424,242,424,242", "12/27/2024+12/28/2024", "424242424242",
    "&#" + "9" * 5_000 + ";", "&#1114112;" * 9, "&amp;" * 40, "01942424-2424-7242-8242-424242424242",
    "0x" + "4242424242424242".zfill(40), "0x" + "a4242424242424242b" + "0" * 46, "a4242424242424242b" + "0" * 46,
]  # fmt: skip


@pytest.fixture
def logged(caplog):
    """All log records, at every level."""
    caplog.set_level(logging.DEBUG)
    return caplog


def assert_rejected(response, logged, *numbers):
    """Assert that a request was rejected and that its number is not repeated in any spelling."""
    assert_error(response, 400, "E1012")
    # Times, thread ids and process ids can contain any digits.
    numbered = {"created", "msecs", "relativeCreated", "thread", "threadName", "process", "processName", "asctime"}
    records = [
        {name: value for name, value in vars(record).items() if name not in numbered} for record in logged.records
    ]
    output = response.text + "".join(record.getMessage() for record in logged.records) + repr(records)
    # The random IDs of the request and its token can contain any digits, too.
    callers = {record.caller for record in logged.records if hasattr(record, "caller")}
    for random_id in (response.json()["request_id"], *callers):
        output = output.replace(random_id, "")
    for number in numbers:
        assert number not in output
        assert "4242" not in output.replace(number, "")


def test_card_number_in_any_format_is_rejected_without_repeating_the_number(api, user, logged, no_rate_limits):
    for number in NUMBERS:
        logged.clear()
        assert_rejected(api.send("/payments/process", order(user, description=number)), logged, number)
    assert not Payment.objects.exists()


def test_card_number_in_any_request_field_is_rejected(api, user, logged):
    for member in ("payment_method_id", "currency", "amount_cents", "unknown"):
        for number in ("4242424242424242", 4242424242424242, 4242424242424242.0, -4242424242424242):
            assert_rejected(api.send("/payments/process", order(user, **{member: number})), logged, "4242424242424242")


def test_every_endpoint_rejects_card_numbers_at_any_depth(api):
    for path in (
        "/payments/add", "/payments/crypto/initiate", "/payments/crypto/confirm", "/payments/methods/m/default",
        "/payments/methods/m/toggle", "/wallet/connect/circle", "/wallet/connect/walletconnect",
        "/wallet/default/01942424-2424-7242-8242-424242424242",
    ):  # fmt: skip
        nested = {"a": [{"b": {"c": ["x", "4242424242424242"]}}]}
        assert_error(api.send(path, nested), 400, "E1012")
        assert_error(api.send(path, {"4242424242424242": 1}), 400, "E1012")
        assert_error(api.send(path, {"a": [4242424242424242]}), 400, "E1012")
    path = "/wallet/disconnect/01942424-2424-7242-8242-424242424242"
    assert_error(api.call("DELETE", path, {"why": "4242424242424242"}), 400, "E1012")
    assert_error(api.call("DELETE", path, raw=b" " * ((1 << 20) + 1)), 413, "E1007")
    assert not Wallet.objects.exists()


def test_a_card_number_in_a_path_is_rejected(api, settings, logged):
    for method, path in (
        ("GET", "/payments/{}"), ("POST", "/payments/methods/{}/default"), ("POST", "/payments/methods/{}/toggle"),
        ("GET", "/payments/crypto/status/{}"), ("GET", "/payments/crypto/receipt/{}"),
        ("GET", "/payments/crypto/receipt/{}/details"), ("GET", "/wallet/list/{}"), ("GET", "/wallet/status/{}"),
        ("GET", "/wallet/balance/{}"), ("POST", "/wallet/default/{}"), ("DELETE", "/wallet/disconnect/{}"),
        ("DELETE", "/payments/{}"),
    ):  # fmt: skip
        for number in ("4242424242424242", "4242 4242 4242 4242", WIDE):
            assert_rejected(api.call(method, path.format(quote(number))), logged, number, quote(number))


def test_card_number_split_over_a_list_is_detected(api, user, logged):
    for parts in (
        ["4242"] * 4, [4242, "4242", 4242, "4242"], list("4242424242424242"), ["42424242", "42424242"],
        ["visa", "4242 4242", "4242 4242", "12/27"],
    ):  # fmt: skip
        assert_error(api.send("/payments/process", order(user, unknown={"parts": parts})), 400, "E1012")
        assert contains_card_number({"a": [parts]})


def test_strings_of_digits_that_are_not_card_numbers_pass_the_screening():
    for text in HARMLESS:
        assert not contains_card_number([text, {text: text}]), text
    for number in (True, None, 42, 1.5, 1e300, 1e-7, 4242424242424243, 9223372036854775807):
        assert not contains_card_number({"a": [number]}), number


# Each network has a prefix and a number length.
ISSUED = [
    ("4", 13), ("4", 16), ("4", 19), ("51", 16), ("55", 16), ("2221", 16), ("2720", 16), ("34", 15), ("37", 15),
    ("300", 14), ("36", 14), ("3528", 16), ("3589", 19), ("2131", 15), ("2200", 16), ("6011", 16), ("649", 19),
    ("65", 16), ("62", 16), ("62", 19), ("5018", 12), ("6759", 19), ("56", 13), ("6304", 18),
    ("1800", 15), ("2205", 16), ("6104", 16), ("8172", 16), ("9704", 19), ("9860", 16),
]  # fmt: skip


@given(
    st.sampled_from(ISSUED), st.integers(min_value=0, max_value=10**19),
    st.sampled_from(["", " ", "-", " - ", ".", "\u2003"]),
)  # fmt: skip
def test_card_number_of_each_network_is_detected(issued, rest, separator):
    beginning, length = issued
    digits = beginning + str(rest).zfill(20)[: length - 1 - len(beginning)]
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if place % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    number = digits + str(-total % 10)
    shown = separator.join(number[start : start + 4] for start in range(0, len(number), 4))
    assert contains_card_number({"x": [f"a{shown}b"]})
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert not contains_card_number(wrong)


_units = st.text(st.sampled_from("0123456789 .-x\u0301\u0323\u2003\uff15é😀"), min_size=1, max_size=8)


@given(_units, _units)
@example("", "5 ")
@example("", "5555 ")
@example("", "5")
@example("", "5x")
@example("", "0x")
@example("e", "\u0301\u0323")
@example("", "01942424-2424-7242-8242-42424242424")
@example("1", " " * 50)
@example("", "".join(map(chr, range(0xE000, 0xF8FF))))
@examples(20)
def test_long_string_is_screened_for_card_numbers_in_linear_time(before, repeated):
    text = before + repeated * (300_000 // len(repeated.encode())) + " x 4111 1111 1111 1111"
    began = time.process_time()
    assert contains_card_number(text)
    assert time.process_time() - began < 20, "with quadratic cost this size takes more than a minute"


def test_document_of_many_strings_is_screened_in_linear_time():
    document = json.loads("[" + ",".join(['"5555 5555 5555 5555"'] * 9_000) + "]")
    assert not contains_card_number(document)

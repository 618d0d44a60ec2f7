"""Card numbers in any body under /payments: refused, and never repeated."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.screening import holds_card_number, is_card_number
from tests.api import assert_error
from tests.payments.card_support import order

NUMBERS = ["4242424242424242", "4242 4242 4242 4242", "5555-5555-5555-4444", "378282246310005", "6011111111111117",
           " 4242424242424242 ", "4222222222222", "6304000000000000000"]  # fmt: skip
HARMLESS = ["4242424242424243", "1234567812345670", "42424242", "0" * 16, "pm_4242424242424242", "9" * 16,
            "4242424242424242424242", "4242.4242.4242.4242"]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("member", ["description", "payment_method_id", "unknown"])
def test_a_card_number_in_any_member_is_refused(api, user, number, member, caplog):
    caplog.set_level(logging.DEBUG)
    response = api.send("/payments/process", order(user, **{member: number}))
    assert_error(response, 400, "E1012")
    assert number.encode() not in response.content
    assert number not in caplog.text


@pytest.mark.parametrize(
    "path", ["/payments/add", "/payments/crypto/initiate", "/payments/crypto/confirm", "/payments/methods/m/default",
             "/payments/methods/m/toggle"],
)  # fmt: skip
def test_every_endpoint_under_payments_looks(api, path):
    nested = {"a": [{"b": {"c": ["x", "4242424242424242"]}}]}
    assert_error(api.send(path, nested), 400, "E1012")
    assert_error(api.send(path, {"4242424242424242": 1}), 400, "E1012")


@pytest.mark.parametrize("text", HARMLESS)
def test_other_digits_are_no_card_number(text):
    assert not is_card_number(text)


@given(st.integers(min_value=2 * 10**11, max_value=7 * 10**17 - 1), st.sampled_from(["", " ", "-", " - "]))
def test_a_number_with_its_check_digit_is_always_found(body, separator):
    digits = str(body)
    if not 12 <= len(digits) <= 18 or digits[0] not in "23456":
        return
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if place % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    number = digits + str(-total % 10)
    shown = separator.join(number[start : start + 4] for start in range(0, len(number), 4))
    assert holds_card_number({"x": [shown]})
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert not holds_card_number(wrong)

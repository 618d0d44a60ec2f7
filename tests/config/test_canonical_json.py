"""Test canonical JSON with the vectors of RFC 8785, a third-party library, and the verifier's separate code."""

import json
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from config.core.json_text import SAFE_INTEGER_MAX, canonical_json
from credit.anchoring.verify_decision import jcs, parse
from tests.properties import examples

# RFC 8785, appendix B, lists the bits of a double and its serialization.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
# The documents are examples of sections 3.2.2 and 3.2.3, and similar documents.
DOCUMENTS = {
    (
        r'{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], '
        r'"string": "\u20ac$\u000F\u000aA\u0027\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}'
    ): (
        r'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + r"'B\"\\\\\"/" + r'"}'
    ),
    (
        r'{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One", '
        r'"\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}'
    ): (
        '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",'
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'
    ),
    '{"1": {"f": {"f": "hi", "F": 5}, "\\n": 56.0}, "10": {}, "": "empty", "a": {}}': (
        '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"a":{}}'
    ),
    '{"Å": 1, "A\u030a": 2}': '{"A\u030a":2,"Å":1}',  # Canonical JSON does not normalize strings.
    "[56.0, -0.0, 1e2, 100000000000000000000.0, 12e-8]": "[56,0,100,100000000000000000000,1.2e-7]",
}  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-SAFE_INTEGER_MAX, SAFE_INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
DOCUMENT = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=5)
)


def test_numbers_are_serialized_as_in_appendix_b_of_rfc_8785():
    for bits, text in NUMBERS.items():
        (number,) = struct.unpack(">d", bytes.fromhex(bits))
        assert canonical_json(number).decode() == text, (bits, text)
        assert jcs(parse(repr(number))) == text, (bits, text)


def test_rfc_8785_example_documents_are_serialized_as_in_the_rfc():
    for written, wanted in DOCUMENTS.items():
        document = json.loads(written)
        assert canonical_json(document).decode() == wanted == rfc8785.dumps(document).decode(), written
        assert jcs(parse(written)) == wanted, written


@given(DOCUMENT)
@examples(300)
def test_canonical_json_equals_the_result_of_a_third_party_library(document):
    written = canonical_json(document)
    assert written == rfc8785.dumps(document)
    assert jcs(parse(written.decode())) == written.decode()


@given(st.integers(-(2**64), 2**64))
def test_an_integer_beyond_the_safe_range_is_serialized_as_its_double(number):
    as_read_elsewhere = number if abs(number) <= SAFE_INTEGER_MAX else float(number)
    assert canonical_json([number]) == rfc8785.dumps([as_read_elsewhere])


def test_every_character_category_is_serialized_as_in_rfc_8785():
    text = "".join(chr(point) for point in range(0x3100) if not 0xD800 <= point <= 0xDFFF) + "\U0001f600"
    assert canonical_json({"a": text}) == rfc8785.dumps({"a": text})


def test_canonical_json_rejects_nan_and_infinity():
    for number in [float("nan"), float("inf"), float("-inf")]:
        with pytest.raises(ValueError, match="no JSON form"):
            canonical_json([number])

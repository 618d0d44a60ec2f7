"""Compare the JSON reader with Python's reader and a third-party reader on thousands of malformed documents."""

import json
from itertools import accumulate

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claims.models import Claim
from config.api.models import IdempotencyRecord
from config.core.errors import MalformedJSON
from config.core.ids import INT64_MAX, INT64_MIN
from config.core.json_bodies import DEPTH_MAX, MEMBERS_MAX, parse_json
from credit.models import Application
from tests.api import assert_error
from tests.config import json_corpus
from tests.properties import examples

MALFORMED = list(dict.fromkeys(json_corpus.malformed()))
MUTANTS = list(dict.fromkeys(json_corpus.mutants()))


class Refused(Exception):
    """Raised by the reference reader for a rejected document."""


def _unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Refused("key twice")
    return members


def _never(text):
    raise Refused(text)


def by_the_rule(body):
    """Read a document by the rules of decision 12, slowly, with Python's reader; raises Refused."""
    if max(accumulate((byte in b"[{") - (byte in b"]}") for byte in body), default=0) > 900:
        # Python's reader would crash the process if a library raised the recursion limit.
        raise Refused("depth")
    try:
        document = json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_never)
    except (ValueError, RecursionError) as error:
        raise Refused from error
    count = _look_at(document, 0)
    if count > MEMBERS_MAX:
        raise Refused("members")
    return document


def _look_at(value, depth):
    """Return the number of items and fields below a value; raises Refused for invalid content."""
    if isinstance(value, int) and not isinstance(value, bool) and not INT64_MIN <= value <= INT64_MAX:
        raise Refused("integer")
    if isinstance(value, float) and value in {float("inf"), float("-inf")}:
        raise Refused("number")
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= character <= "\udfff" for character in value)):
        raise Refused("text")
    if not isinstance(value, dict | list):
        return 0
    if depth == DEPTH_MAX:
        raise Refused("depth")
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    return len(value) + sum(_look_at(member, depth + 1) for member in inner)


def outcome(reader, body, refusal):
    """Return the document in a form that distinguishes 1, 1.0 and True, or None if it is rejected."""
    try:
        return repr(reader(body))
    except refusal:
        return None


def test_json_corpus_is_large_and_every_seed_is_valid_json():
    assert len(MALFORMED) > 2_500
    assert len(MUTANTS) > 8_000
    assert [json.loads(seed) for seed in json_corpus.SEEDS] == [parse_json(seed) for seed in json_corpus.SEEDS]


def test_reference_json_reader_rejects_every_malformed_document():
    assert [body for body in MALFORMED if outcome(by_the_rule, body, Refused) is not None] == []


def test_json_parser_rejects_every_malformed_document_with_a_one_sentence_error():
    for body in MALFORMED:
        with pytest.raises(MalformedJSON) as refusal:
            parse_json(body)
        said = str(refusal.value)
        assert said.endswith(".")
        assert len(said) < 200
        said.encode()


def test_json_parser_reads_a_damaged_document_like_the_reference_reader():
    for body in MUTANTS:
        assert outcome(parse_json, body, MalformedJSON) == outcome(by_the_rule, body, Refused), body


def test_json_parser_accepts_and_reads_the_same_documents_as_a_third_party_parser():
    accepted = [body for body in MUTANTS if outcome(parse_json, body, MalformedJSON) is not None]
    assert len(accepted) > 1_000
    for body in accepted:
        assert repr(parse_json(body)) == repr(orjson.loads(body)), body
    for body in MUTANTS:
        try:
            orjson.loads(body)
        except orjson.JSONDecodeError:
            assert outcome(parse_json, body, MalformedJSON) is None, body


_PIECES = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"d83d", b"\\ude00", b"0", b"1", b"-", b".", b"e", b"+",
    b"null", b"true", b"NaN", b'"a"', b'"b":', b" ", b"\n", b"\x00", b"\xc3\xa9", b"\xff", b"9" * 19, b"1e308",
]  # fmt: skip
_pieces = st.sampled_from(_PIECES)


@given(st.lists(_pieces, max_size=24).map(b"".join))
@examples(500)
def test_json_parser_reads_any_token_sequence_like_the_reference_reader(body):
    assert outcome(parse_json, body, MalformedJSON) == outcome(by_the_rule, body, Refused)


@pytest.mark.django_db
def test_malformed_json_request_returns_400_and_stores_nothing(api, no_rate_limits):
    for path in ["/applications", "/auth/token"]:
        for body in MALFORMED[::61]:
            answer = api.send(path, raw=body, key=True)
            assert_error(answer, 400, "E1002")
            answer.content.decode()
        assert not Application.objects.exists(), path
        assert not Claim.objects.exists(), path
        assert not IdempotencyRecord.objects.exists(), path

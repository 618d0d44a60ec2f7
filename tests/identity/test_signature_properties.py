"""Test that a signature covers every part of the request, and that each signed text has only one reading."""

import time
from types import SimpleNamespace

import hypothesis.strategies as st
from django.test import RequestFactory
from hypothesis import assume, given

from config.core.errors import ApiError
from identity.access import signatures
from tests.properties import examples

SECRET = "cs_" + "k" * 43
METHODS = st.sampled_from(["GET", "HEAD"])
SEGMENTS = st.lists(st.text("abcXYZ019-_.~", min_size=1, max_size=8), min_size=1, max_size=5)
PATHS = SEGMENTS.map(lambda parts: "/v1/" + "/".join(parts))
QUERIES = st.just("") | st.text("abc019=&%25+-", min_size=1, max_size=20).map("?{}".format)
BODIES = st.just(b"") | st.binary(max_size=60).map(lambda inner: b"{" + inner + b"}")
TIMES = st.integers(1_000_000_000, 9_999_999_999)


def verified(method, target, body, timestamp, signature, *, now, secret=SECRET):
    """Return whether the signature of a request is accepted at a time."""
    request = RequestFactory().generic(method, target, body, content_type="application/json")
    request.META |= {
        "RAW_URI": target, "HTTP_X_SERVICE_TIMESTAMP": str(timestamp), "HTTP_X_SERVICE_SIGNATURE": signature,
    }  # fmt: skip
    real, signatures.time = signatures.time, SimpleNamespace(time=lambda: now)
    try:
        signatures.verify_request(request, secret)
    except ApiError:
        return False
    finally:
        signatures.time = real
    return True


def signed(method, target, body, timestamp, secret=SECRET):
    return signatures.sign(secret, timestamp=str(timestamp), method=method, path=target, body=body)


@given(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]), PATHS, QUERIES, BODIES, TIMES, st.integers(-300, 300)
)
@examples(70)
def test_a_signed_request_is_accepted_within_300_seconds(method, path, query, body, at, late):
    signature = signed(method, path + query, body, at)
    assert verified(method, path + query, body, at, signature, now=at + late)
    beyond = late + (301 if late >= 0 else -301)
    assert not verified(method, path + query, body, at, signature, now=at + beyond)


@given(st.data())
@examples(130)
def test_any_change_of_a_signed_request_invalidates_the_signature(data):
    draw = data.draw
    methods = st.sampled_from(["POST", "PUT", "DELETE", "PATCH"])
    method, path, query, body, at = draw(methods), draw(PATHS), draw(QUERIES), draw(BODIES), draw(TIMES)
    target, signature = path + query, signed(method, path + query, body, at)
    what = draw(st.sampled_from(["method", "path", "query", "body", "time", "signature", "secret"]))
    changed = {"method": method, "target": target, "body": body, "timestamp": at, "signature": signature}
    if what == "method":
        changed["method"] = draw(methods.filter(lambda other: other != method))
    elif what == "path":
        changed["target"] = draw(PATHS.filter(lambda other: other != path)) + query
    elif what == "query":
        changed["target"] = path + draw(QUERIES.filter(lambda other: other != query))
    elif what == "body":
        changed["body"] = draw(BODIES.filter(lambda other: other != body))
    elif what == "time":
        changed["timestamp"] = at + draw(st.integers(-300, 300).filter(bool))
        assume(10**9 <= changed["timestamp"] < 10**10)
    elif what == "signature":
        place = draw(st.integers(0, 63))
        digit = draw(st.sampled_from("0123456789abcdefABCDEFg ").filter(lambda other: other != signature[place]))
        changed["signature"] = signature[:place] + digit + signature[place + 1 :]
    secret = SECRET[:-1] + "x" if what == "secret" else SECRET
    assert not verified(**changed, now=at, secret=secret)


@given(METHODS, PATHS, QUERIES, TIMES)
@examples(30)
def test_signature_of_a_get_request_covers_the_complete_query_or_no_query(method, path, query, at):
    whole, bare = signed(method, path + query, b"", at), signed(method, path, b"", at)
    assert verified(method, path + query, b"", at, whole, now=at)
    assert verified(method, path + query, b"", at, bare, now=at)
    assert not query or not verified(method, path, b"", at, whole, now=at)
    assert not query or not verified(method, f"{path}{query}x", b"", at, whole, now=at)


@given(st.data())
@examples(130)
def test_different_requests_have_different_signed_strings(data):
    """The text has no separators: every other way to split it gives an invalid request."""
    draw = data.draw
    method, path, body, at = (
        draw(st.sampled_from(["GET", "POST", "PUT", "DELETE"])), draw(PATHS), draw(BODIES), draw(TIMES),
    )  # fmt: skip
    text = f"{at}{method}{path}".encode() + body
    signature = signed(method, path, body, at)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=3, max_size=3)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    try:
        timestamp, other_method, target = (piece.decode("ascii") for piece in pieces[:3])
    except UnicodeDecodeError:
        return
    # A server passes on no method with other characters, and an empty method would be GET.
    if not other_method.isalpha() or (timestamp, other_method, target, pieces[3]) == (str(at), method, path, body):
        return
    assert not verified(other_method, target, pieces[3], timestamp, signature, now=at)


def test_signature_module_uses_the_real_clock_after_the_property_tests():
    assert signatures.time is time

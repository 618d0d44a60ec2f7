"""Test that the verifier accepts any content without an exception, and its JSON and Ed25519 code."""

import json
from hashlib import sha256

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from config.core.json_text import canonical_json
from credit.anchoring import verify_decision
from credit.anchoring.verify_decision import FAIL, ed25519, jcs, parse
from tests.credit.scoring.bundles import NONCE, SIGNER, bundle, text
from tests.credit.scoring.cards import definition
from tests.credit.scoring.test_verify_decision import steps_of

GARBAGE = [
    b"", b"\x00", b"\xff\xfe", b"[]", b"null", b"1", b'"x"', b"[" * 100_000, b'{"record":' * 50_000, b"NaN",
    b'{"record":"","proof_file":null,"definition":null,"facts":null,"nonce":null}',
    json.dumps({**dict.fromkeys(("proof_file", "definition", "facts", "nonce")), "record": "[" * 90_000}).encode(),
    json.dumps({**dict.fromkeys(("proof_file", "definition", "facts", "nonce")), "record": '"\ud800"'}).encode(),
    json.dumps({**bundle(), "proof_file": "\n\n\n\n\u2014 a b\n"}).encode(),
    b" " * (verify_decision.FILE_MAX_BYTES + 1),
]  # fmt: skip


@pytest.mark.parametrize("content", GARBAGE, ids=range(len(GARBAGE)))
def test_verification_of_an_invalid_decision_bundle_fails_without_an_exception(content):
    assert steps_of(content)[-1].state == FAIL


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(card=_JSON, facts=_JSON, path=st.lists(st.sampled_from([*definition(), "bins", 0, 1, "input"]), max_size=3))
def test_decision_bundle_with_an_invalid_scorecard_or_facts_fails_verification(card, facts, path):
    broken = definition()
    place = broken
    for name in path:
        try:
            place[name], place = card, place[name]
        except (KeyError, IndexError, TypeError):
            break
    valid_bundle = bundle()
    for item in (card, broken):
        document = json.loads(valid_bundle["record"])
        shown = {"definition": json.dumps(item), "facts": json.dumps(facts)}
        document["definition_sha256"] = sha256(shown["definition"].encode()).hexdigest()
        document["facts_sha256"] = sha256(NONCE + shown["facts"].encode()).hexdigest()
        steps_of({**valid_bundle, **shown, "record": text(document)})  # The verification must not raise an error.


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
))  # fmt: skip
def test_decision_verifier_serializes_json_like_the_platform(document):
    written = canonical_json(document).decode()
    assert jcs(parse(written)) == written


@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=80), bit=st.integers(0, 511))
def test_ed25519_implementation_of_the_verifier_equals_the_cryptography_library(seed, message, bit):
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw(), key.sign(message)
    assert ed25519(public, message, signature)
    assert not ed25519(public, message + b"x", signature)
    changed = bytearray(signature)
    changed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(public).verify(bytes(changed), message)
    assert not ed25519(public, message, bytes(changed))


def test_ed25519_implementation_of_the_verifier_passes_the_test_vectors_of_rfc_8032():
    # RFC 8032, section 7.1, tests 1 to 3.
    for public, message, signature in (
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            ("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b"),
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            ("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00"),
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            ("6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
            "4a7c15e9716ed28dc027beceea1ec40a"),
        ),
    ):  # fmt: skip
        assert ed25519(bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature))


def test_ed25519_implementation_of_the_verifier_rejects_a_scalar_beyond_the_group_order():
    # The same signature with the group order added: malleability (RFC 8032, section 5.1.7).
    signature = SIGNER.private_key.sign(b"message")
    factor = int.from_bytes(signature[32:], "little") + verify_decision.ORDER
    assert ed25519(SIGNER.verifier.public_key, b"message", signature)
    assert not ed25519(SIGNER.verifier.public_key, b"message", signature[:32] + factor.to_bytes(32, "little"))

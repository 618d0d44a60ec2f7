"""Test that platform and third-party code reject a tree proof with any changed bit or shape."""

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from ledger import merkle
from tests.ledger import foreign
from tests.ledger.test_merkle import LEAVES, ROOTS, SIZES, consistency_of, path_of
from tests.properties import PROFILE, examples

PLACES = st.integers(1, SIZES).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size)))
# `make test` flips one bit of every third byte of a hash, at a different position in each byte.
BITS = range(0, 256, 3) if PROFILE != "quick" else range(0, 256, 23)
PAIRS = st.integers(2, SIZES).flatmap(lambda new: st.tuples(st.integers(1, new - 1), st.just(new)))


def accepted_by(verify, *proof):
    """Return whether the platform's code accepts a proof."""
    try:
        verify(*proof)
    except merkle.InvalidProofError:
        return False
    return True


def includes(leaf, index, size, path, root):
    """Return whether an audit path is accepted; check that the third-party code agrees."""
    accepted = accepted_by(merkle.verify_inclusion, leaf, index, size, path, root)
    assert foreign.accepts_inclusion(index, size, leaf, path, root) == accepted
    return accepted


def extends(old, new, proof, old_root, new_root):
    """Return whether a consistency proof is accepted; check that the third-party code agrees."""
    accepted = accepted_by(merkle.verify_consistency, old, new, proof, old_root, new_root)
    assert foreign.accepts_consistency(old, new, proof, old_root, new_root) == accepted
    return accepted


def flipped(digest, bit):
    return (int.from_bytes(digest, "big") ^ 1 << bit).to_bytes(len(digest), "big")


def test_inclusion_proof_with_a_flipped_bit_is_rejected():
    for size in (1, 2, 3, 5, 7, 8, 11):
        for index in range(size):
            leaf, path, root = LEAVES[index], path_of(index, size), ROOTS[size]
            for bit in BITS:
                assert not includes(flipped(leaf, bit), index, size, path, root)
                assert not includes(leaf, index, size, path, flipped(root, bit))
                for at, digest in enumerate(path):
                    changed = [*path[:at], flipped(digest, bit), *path[at + 1 :]]
                    assert not includes(leaf, index, size, changed, root)


def test_consistency_proof_with_a_flipped_bit_is_rejected():
    for new in (2, 3, 6, 7, 8, 11):
        for old in range(1, new):
            proof = consistency_of(old, new)
            for bit in BITS:
                assert not extends(old, new, proof, flipped(ROOTS[old], bit), ROOTS[new])
                assert not extends(old, new, proof, ROOTS[old], flipped(ROOTS[new], bit))
                for at, digest in enumerate(proof):
                    changed = [*proof[:at], flipped(digest, bit), *proof[at + 1 :]]
                    assert not extends(old, new, changed, ROOTS[old], ROOTS[new])


@given(PLACES, st.integers(-2, SIZES + 2), st.integers(-2, SIZES + 2))
@examples(170)
def test_inclusion_proof_is_accepted_only_for_its_index_and_tree(place, other_index, other_size):
    index, size = place
    path = path_of(index, size)
    assert includes(LEAVES[index], index, size, path, ROOTS[size])
    assume(other_size >= 0 and other_index >= 0)
    if (other_index, other_size) != (index, size) and other_size <= SIZES:
        # Another size has another root; in a tree of the same size, another index has another path.
        assert not includes(LEAVES[index], other_index, other_size, path, ROOTS[other_size])


@given(PLACES, st.data())
@examples(170)
def test_audit_path_of_another_length_is_rejected(place, data):
    index, size = place
    path = path_of(index, size)
    spare = data.draw(st.sampled_from(LEAVES[:8]))
    at = data.draw(st.integers(0, len(path)))
    assert not includes(LEAVES[index], index, size, [*path[:at], spare, *path[at:]], ROOTS[size])
    if path:
        at %= len(path)
        assert not includes(LEAVES[index], index, size, path[:at] + path[at + 1 :], ROOTS[size])
        assert not includes(LEAVES[index], index, size, [*path[:at], path[at] * 2, *path[at + 1 :]], ROOTS[size])
    if len(path) > 1 and path[0] != path[1]:
        assert not includes(LEAVES[index], index, size, [path[1], path[0], *path[2:]], ROOTS[size])


@given(PAIRS, st.data())
@examples(170)
def test_consistency_proof_of_another_length_is_rejected(pair, data):
    old, new = pair
    proof = consistency_of(old, new)
    assert extends(old, new, proof, ROOTS[old], ROOTS[new])
    spare = data.draw(st.sampled_from(LEAVES[:8]))
    at = data.draw(st.integers(0, len(proof)))
    assert not extends(old, new, [*proof[:at], spare, *proof[at:]], ROOTS[old], ROOTS[new])
    at %= len(proof)
    assert not extends(old, new, proof[:at] + proof[at + 1 :], ROOTS[old], ROOTS[new])
    other = data.draw(st.integers(1, SIZES))
    if other != old:
        assert not extends(other, new, proof, ROOTS[other], ROOTS[new]) or consistency_of(other, new) == proof
    if other != new:
        assert not extends(old, other, proof, ROOTS[old], ROOTS[other])


@given(PAIRS, st.integers(1, 31))
@examples(70)
def test_consistency_proof_with_hashes_of_wrong_length_is_rejected(pair, moved):
    """Two concatenated hashes are split at another byte, so that neither part has 32 bytes."""
    old, new = pair
    proof = consistency_of(old, new)
    assume(len(proof) > 1)
    both = proof[1] + proof[0]
    cut = [both[32 + moved :], both[: 32 + moved], *proof[2:]]
    with pytest.raises(merkle.InvalidProofError):
        merkle.verify_consistency(old, new, cut, ROOTS[old], ROOTS[new])

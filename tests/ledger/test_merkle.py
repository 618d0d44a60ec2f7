"""Compare the tree of every size from 0 to 256 with the definition of RFC 6962 and with third-party code."""

from functools import cache
from hashlib import sha256

import pytest

from ledger import merkle
from tests.ledger import foreign
from tests.ledger.trees import tree_root
from tests.properties import PROFILE

SIZES = 256
# All proofs of these tree sizes are checked. `make test` uses small sizes and sizes around powers of two.
PROVEN = range(1, SIZES + 1) if PROFILE != "quick" else (*range(1, 41), 63, 64, 65, 127, 128, 129, 255, 256)
ENTRIES = [bytes([number % 256]) * (number % 7) for number in range(SIZES)]
LEAVES = [merkle.leaf_hash(entry) for entry in ENTRIES]


@cache
def reference_root(start: int, end: int) -> bytes:
    """Compute MTH literally as RFC 6962 section 2.1 defines it."""
    if start == end:
        return sha256(b"").digest()
    if end - start == 1:
        return sha256(b"\x00" + ENTRIES[start]).digest()
    k = 1
    while k * 2 < end - start:
        k *= 2
    return sha256(b"\x01" + reference_root(start, start + k) + reference_root(start + k, end)).digest()


def range_hash(start: int, end: int) -> bytes:
    """Compute the root of a range like the platform: complete nodes, then the fold."""
    nodes = merkle.complete_nodes(start, end)
    return merkle.fold([reference_root(index << level, (index + 1) << level) for level, index in nodes])


ROOTS = [reference_root(0, size) for size in range(SIZES + 1)]


def path_of(index: int, size: int) -> list[bytes]:
    return [range_hash(*inclusion_range) for inclusion_range in merkle.inclusion_ranges(index, size)]


def consistency_of(old: int, new: int) -> list[bytes]:
    return [range_hash(*consistency_range) for consistency_range in merkle.consistency_ranges(old, new)]


def test_merkle_frontier_computes_the_root_of_every_size():
    frontier = merkle.Frontier()
    assert frontier.root() == merkle.EMPTY_ROOT
    for size, leaf in enumerate(LEAVES, start=1):
        frontier.push(leaf)
        assert frontier.root() == ROOTS[size]
        again = merkle.Frontier(size, frontier.packed())
        assert again.root() == ROOTS[size]
        assert again.nodes() == frontier.nodes()
    for size, packed in [(1, b""), (3, bytes(32)), (0, bytes(32)), (1, bytes(31)), (-1, bytes(32))]:
        with pytest.raises(ValueError, match="does not fit"):
            merkle.Frontier(size, packed)


def test_platform_and_third_party_code_accept_every_inclusion_proof():
    for size in PROVEN:
        for index in range(size):
            path = path_of(index, size)
            merkle.verify_inclusion(LEAVES[index], index, size, path, ROOTS[size])
            assert foreign.accepts_inclusion(index, size, LEAVES[index], path, ROOTS[size])


def test_platform_and_third_party_code_accept_every_consistency_proof():
    for new in PROVEN:
        for old in range(1, new + 1):
            proof = consistency_of(old, new)
            merkle.verify_consistency(old, new, proof, ROOTS[old], ROOTS[new])
            assert foreign.accepts_consistency(old, new, proof, ROOTS[old], ROOTS[new])


def test_merkle_roots_and_audit_paths_equal_the_pymerkle_results():
    tree = foreign.pymerkle_tree(ENTRIES)
    assert all(tree.get_root(size) == ROOTS[size] for size in range(1, SIZES + 1))
    for size in (1, 2, 3, 7, 8, 100, 255, 256):
        for index in range(size):
            proof = tree.prove_inclusion(index + 1, size)
            # pymerkle counts entries from 1 and lists the leaf itself first.
            assert list(proof.path)[1:] == path_of(index, size)


def test_inclusion_proof_is_rejected_for_another_index_leaf_size_or_root():
    for size in (1, 2, 3, 5, 64, 100, 129):
        for index in range(size):
            path = path_of(index, size)
            wrong = [
                (LEAVES[index], (index + 1) % size if size > 1 else 1, size, path, ROOTS[size]),
                (LEAVES[(index + 1) % SIZES], index, size, path, ROOTS[size]),
                (LEAVES[index], index, size, path, ROOTS[size - 1]),
                (LEAVES[index], index, size, [*path, LEAVES[0]], ROOTS[size]),
                (LEAVES[index], -1, size, path, ROOTS[size]),
                (LEAVES[index], size, size, path, ROOTS[size]),
            ]
            if path:
                wrong.append((LEAVES[index], index, size, path[:-1], ROOTS[size]))
                wrong.append((LEAVES[index], index, size, [*path[:-1], LEAVES[255]], ROOTS[size]))
            for attempt in wrong:
                with pytest.raises(merkle.InvalidProofError):
                    merkle.verify_inclusion(*attempt)


def test_changed_consistency_proof_is_rejected():
    for new in range(2, 70):
        for old in range(1, new):
            proof = consistency_of(old, new)
            wrong = [
                (old, new, proof, ROOTS[old + 1], ROOTS[new]), (old, new, proof, ROOTS[old], ROOTS[new - 1]),
                (old, new, [*proof, LEAVES[0]], ROOTS[old], ROOTS[new]), (old, new, proof[:-1], ROOTS[old], ROOTS[new]),
                (old, new, [LEAVES[255], *proof[1:]], ROOTS[old], ROOTS[new]),
                (new, old, proof, ROOTS[new], ROOTS[old]),
            ]  # fmt: skip
            for attempt in wrong:
                with pytest.raises(merkle.InvalidProofError):
                    merkle.verify_consistency(*attempt)


def test_consistency_proof_for_the_empty_tree_or_between_identical_trees_must_be_empty():
    assert merkle.consistency_ranges(0, 9) == []
    assert merkle.consistency_ranges(9, 9) == []
    merkle.verify_consistency(0, 9, [], merkle.EMPTY_ROOT, ROOTS[9])
    merkle.verify_consistency(9, 9, [], ROOTS[9], ROOTS[9])
    for attempt in [
        (0, 9, [], ROOTS[1], ROOTS[9]), (0, 9, [ROOTS[1]], merkle.EMPTY_ROOT, ROOTS[9]), (9, 9, [], ROOTS[8], ROOTS[9]),
        (9, 9, [ROOTS[1]], ROOTS[9], ROOTS[9]),
    ]:  # fmt: skip
        with pytest.raises(merkle.InvalidProofError):
            merkle.verify_consistency(*attempt)


def test_merkle_proof_ranges_outside_the_tree_are_rejected():
    for index, size in [(0, 0), (-1, 3), (3, 3)]:
        with pytest.raises(ValueError, match="no entry"):
            merkle.inclusion_ranges(index, size)
    with pytest.raises(ValueError, match="cannot be a prefix"):
        merkle.consistency_ranges(4, 3)
    with pytest.raises(ValueError, match="cannot be a prefix"):
        merkle.consistency_ranges(-1, 3)


def test_merkle_leaf_with_the_content_of_an_inner_node_has_another_hash():
    disguised = b"\x01" + LEAVES[0] + LEAVES[1]
    assert merkle.leaf_hash(disguised) != merkle.node_hash(LEAVES[0], LEAVES[1])
    assert merkle.leaf_hash(disguised[1:]) != merkle.node_hash(LEAVES[0], LEAVES[1])


def test_merkle_roots_equal_the_certificate_transparency_test_vectors():
    # These are reference entries and roots of Certificate Transparency logs since RFC 6962.
    entries = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657"]
    entries.append("606162636465666768696a6b6c6d6e6f")
    roots = {
        0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    }
    leaves = [merkle.leaf_hash(bytes.fromhex(entry)) for entry in entries]
    for size, root in roots.items():
        assert tree_root(leaves[:size]).hex() == root

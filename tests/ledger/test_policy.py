"""Test strict parsing and quorums of policy files (C2SP tlog-policy)."""

from functools import cache
from itertools import combinations

import pytest

from ledger.merkle import inclusion_ranges, leaf_hash
from ledger.policy import MAX_OF_A_KIND, MAX_POLICY_BYTES, Policy, PolicyError
from ledger.proof_file import ProofFile, check_proof, report_digest
from tests.ledger.trees import tree_root
from tests.ledger.witnesses import LOG, Witness, cosigner, leaves_of, note_of, policy_of

KEYS = [cosigner(number).verifier.vkey for number in range(1, 7)]
TWO_LEVELS = f"""\
# the example of the format
log {LOG.verifier.vkey}\thttps://ledger.example

witness X1 {KEYS[0]}
 witness X2 {KEYS[1]}
witness\tX3  {KEYS[2]} https://x3.example/submit
group X-witnesses 2 X1 X2 X3
witness Y1 {KEYS[3]}
witness Y2 {KEYS[4]}
witness Y3 {KEYS[5]}
group Y-witnesses any Y1 Y2 Y3
group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
"""


def read(text):
    return Policy.from_bytes(text.encode())


def test_example_witness_policy_of_the_policy_format_is_parsed_and_written_unchanged():
    policy = read(TWO_LEVELS)
    assert [log.verifier for log in policy.logs] == [LOG.verifier]
    assert [witness.name for witness in policy.witnesses] == ["X1", "X2", "X3", "Y1", "Y2", "Y3"]
    assert policy.witnesses[2].url == "https://x3.example/submit"
    assert policy.groups["X-and-Y"].threshold == 2
    again = Policy.from_bytes(policy.text().encode())
    assert (again.groups, again.quorum) == (policy.groups, policy.quorum)
    assert [witness.verifier for witness in again.witnesses] == [witness.verifier for witness in policy.witnesses]


def test_witness_quorum_is_met_only_if_the_listed_witness_or_enough_groups_cosigned():
    policy = read(TWO_LEVELS)
    names = [witness.name for witness in policy.witnesses]
    for count in range(7):
        for cosigned in combinations(names, count):
            enough = sum(name[0] == "X" for name in cosigned) >= 2 and any(name[0] == "Y" for name in cosigned)
            assert policy.is_met_by(set(cosigned)) is enough, cosigned
    policy = read(f"witness w {KEYS[0]}\nwitness v {KEYS[1]}\nquorum w\n")
    assert (policy.is_met_by({"w"}), policy.is_met_by({"v"})) == (True, False)
    assert read("quorum none\n").is_met_by(set())


WITNESS = f"witness w {KEYS[0]}\n"


def test_invalid_witness_policy_is_rejected_with_the_reason():
    for text, reason in (
        ("", "no quorum"), ("quorum none", "newline"), (WITNESS, "no quorum"),
        ("quorum none\nquorum none\n", "line 2: there is a quorum line already"),
        ("quorum w\n" + WITNESS, "line 1: the quorum 'w' is not defined above"),
        ("Quorum none\n", "line 1: 'Quorum' must be log"), ("quorum\n", "line 1: a quorum line has"),
        ("quorum none none\n", "line 1: a quorum line has"), ("quorum none\r\n", "control character"),
        ("quorum\x00none\n", "control character"), ("quorum none\x7f\n", "control character"),
        ("quorum\x0bnone\n", "control character"), ("quorum none # so be it\n", "line 1: a quorum line has"),
        (f"witness none {KEYS[0]}\nquorum none\n", "taken by the format"),
        (WITNESS + WITNESS.replace(KEYS[0], KEYS[1]) + "quorum w\n", "line 2: the name 'w' is defined already"),
        (WITNESS + f"witness v {KEYS[0]}\nquorum w\n", "line 2: the key of this witness is already"),
        (f"log {LOG.verifier.vkey}\nlog {LOG.verifier.vkey}\nquorum none\n", "line 2: the key of this log is already"),
        (f"log {KEYS[0]}\nquorum none\n", "line 1: the verifier key is not an Ed25519 key of signature type 0x01"),
        (f"witness w {LOG.verifier.vkey}\nquorum w\n", "line 1: the verifier key is not an Ed25519 key of .* 0x04"),
        (f"witness w {KEYS[0][:-1]}\nquorum w\n", "line 1: not base64"),
        (f"witness w {KEYS[0].replace('w1', 'w7')}\nquorum w\n", "line 1: the id of the verifier key"),
        (f"witness w {KEYS[0]} https://a b\nquorum w\n", "line 1: a witness line has"),
        (WITNESS + "group g 2 w\nquorum g\n", "line 2: 2 of 1 members can never cosign"),
        (WITNESS + "group g 0 w\nquorum g\n", "line 2: '0' is neither"),
        (WITNESS + "group g 01 w\nquorum g\n", "line 2: '01' is neither"),
        (WITNESS + "group g -1 w\nquorum g\n", "line 2: '-1' is neither"),
        (WITNESS + "group g \u0661 w\nquorum g\n", "line 2: '\u0661' is neither"),
        (WITNESS + "group g 1\nquorum g\n", "line 2: a group line has"),
        (WITNESS + "group g any w w\nquorum g\n", "line 2: 'w' is a member already"),
        (WITNESS + "group g any w\ngroup h any w\nquorum g\n", "line 3: 'w' is a member already"),
        (WITNESS + "group g any g\nquorum g\n", "line 2: the member 'g' is not defined above"),
        (WITNESS + "group g any none\nquorum g\n", "line 2: the member 'none' is not defined above"),
        (WITNESS + "group w any w\nquorum w\n", "line 2: the name 'w' is defined already"),
        ("#" * (MAX_POLICY_BYTES + 1), "more than"),
    ):  # fmt: skip
        with pytest.raises(PolicyError, match=reason):
            read(text)


def test_witness_policy_allows_at_most_32_witnesses_and_groups():
    lines = [f"witness w{n} {cosigner(n).verifier.vkey}\n" for n in range(MAX_OF_A_KIND + 1)]
    names = " ".join(f"w{n}" for n in range(MAX_OF_A_KIND))
    assert len(read("".join(lines[:-1]) + f"group g all {names}\nquorum g\n").witnesses) == MAX_OF_A_KIND
    with pytest.raises(PolicyError, match="more than 32 witness lines"):
        read("".join(lines) + "quorum none\n")
    members = "".join(f"group g{n} any w{n}\n" for n in range(MAX_OF_A_KIND))
    with pytest.raises(PolicyError, match="more than 32 groups"):
        read("".join(lines[:-1]) + members + "group more any g1\nquorum none\n")


def test_witness_names_are_compared_as_bytes():
    raw = f"witness \xff {KEYS[0]}\n".encode("latin-1") + b"quorum \xff\n"
    policy = Policy.from_bytes(raw)
    assert policy.is_met_by({witness.name for witness in policy.witnesses})
    kelvin = f"witness K {KEYS[0]}\nquorum \u212a\n"
    with pytest.raises(PolicyError, match="not defined above"):
        read(kelvin)
    with pytest.raises(PolicyError, match="line 1: the name of a key is not UTF-8"):
        Policy.from_bytes(b"witness w \xff" + KEYS[0].encode() + b"\nquorum w\n")


def test_witness_quorum_counts_only_valid_cosignatures_of_listed_witnesses():
    policy = read(f"witness w {KEYS[0]}\nwitness v {KEYS[1]}\nquorum w\n")
    note = note_of(leaves_of(5))
    text = note.partition("\n\n")[0] + "\n"
    mine, strangers = cosigner(1).cosign(text, 1_700_000_000), cosigner(6).cosign(text, 1)
    assert policy.cosigned(note + strangers.line()) == {}
    assert policy.cosigned(note + strangers.line() + mine.line()) == {"w": 1_700_000_000}
    later = cosigner(1).cosign(text, 1_700_000_001)
    assert policy.cosigned(note + later.line() + mine.line()) == {"w": 1_700_000_001}
    of_another_tree = cosigner(1).cosign(note_of(leaves_of(5, "x")).partition("\n\n")[0] + "\n", 1_700_000_000)
    with pytest.raises(ValueError, match="w1 does not verify"):
        policy.cosigned(note + mine.line() + of_another_tree.line())


def test_witness_policy_description_shows_every_valid_cosignature_time():
    policy = read(f"witness w {KEYS[0]}\nquorum w\n")
    note = note_of(leaves_of(5))

    def cosigned(seconds):
        return note + cosigner(1).cosign(note.partition("\n\n")[0] + "\n", seconds).line()

    for seconds in (0, 1_700_000_000, 253_402_300_799, 253_402_300_800, (1 << 63) - 1):
        assert "1 of 1 witnesses cosigned: w at " in policy.describe(policy.cosigned(cosigned(seconds)))
    with pytest.raises(ValueError, match="does not verify"):
        policy.cosigned(cosigned(1 << 63))


REPORTS = {side: [f"{side} {number}" for number in range(50)] for side in ("honest", "forked")}
COMMITMENT = b"\x22" * 32


@pytest.mark.parametrize("show_the_fork_first", [set(), {1}, {1, 2}, {1, 2, 3}])
def test_verifiers_with_a_witness_quorum_accept_only_one_side_of_a_log_fork(tmp_path, show_the_fork_first):
    """The operator signs two trees of one size, shows both to each witness, and each tree to 50 verifiers.

    In any order of the requests, one tree gets two of three witnesses, and the other tree never does.
    """
    trees = {side: [leaf_hash(report_digest(item) + COMMITMENT) for item in items] for side, items in REPORTS.items()}
    bare = {side: note_of(leaves) for side, leaves in trees.items()}
    notes = dict(bare)
    for number in (1, 2, 3):
        witness = Witness(number)
        for side in ("forked", "honest") if number in show_the_fork_first else ("honest", "forked"):
            status, text, _ = witness.add_checkpoint(f"old 0\n\n{bare[side]}".encode())
            if status == "200 OK":
                notes[side] += text
            else:
                assert (status, text) == ("409 Conflict", "50\n")
                assert witness.add_checkpoint(f"old 50\n\n{bare[side]}".encode())[0] == "409 Conflict"
    two_of_three = Policy.from_bytes(policy_of(["http://w"] * 3, "2").encode())
    no_witnesses = Policy.from_bytes(f"log {LOG.verifier.vkey}\nquorum none\n".encode())
    paths = {side: all_paths(leaves) for side, leaves in trees.items()}

    def accepting(side, policy):
        files = [ProofFile(index, path, notes[side], COMMITMENT).text() for index, path in enumerate(paths[side])]
        return sum(
            check_proof(file, report_digest(report), LOG.verifier, policy)[-1].ok
            for file, report in zip(files, REPORTS[side], strict=True)
        )

    winner, loser = ("forked", "honest") if len(show_the_fork_first) >= 2 else ("honest", "forked")
    assert (accepting(winner, two_of_three), accepting(loser, two_of_three)) == (50, 0)
    assert (accepting(winner, no_witnesses), accepting(loser, no_witnesses)) == (50, 50)


def all_paths(leaves):
    """Return the audit path of every leaf, hashing each subtree once."""
    root_of = cache(lambda a, b: tree_root(leaves[a:b]))
    return [tuple(root_of(a, b) for a, b in inclusion_ranges(index, len(leaves))) for index in range(len(leaves))]

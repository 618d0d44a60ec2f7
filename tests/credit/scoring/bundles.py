"""Create decision bundles for tests with the evaluator, and anchor them in a tree with the ledger's code."""

import json
from base64 import b64encode
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from config.core.json_text import canonical_json
from credit.anchoring.fact_hashes import close
from credit.anchoring.record_keys import message_of
from credit.core.card import Card
from credit.scoring.evaluator import evaluate
from ledger import merkle
from ledger.checkpoint import Checkpoint, Signer
from ledger.entries import commitment_of
from ledger.proof_file import ProofFile
from tests.credit.scoring.cards import POOR, definition

SIGNER = Signer("ledger.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = Signer("ledger.example/log", Ed25519PrivateKey.from_private_bytes(bytes(32)))
KEY = SIGNER.verifier.vkey
FACTS = {**POOR, "scored_on": "2026-01-31"}
NONCE, LEAF_NONCE = bytes(range(200, 232)), bytes(range(16))
# The list has the platform's keys in order of their periods, and a stranger's key.
FIRST, SECOND, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes(range(n, n + 32))) for n in (40, 80, 120))
CHANGED_AT = "2026-06-01T00:00:00.000000Z"
ANCHORED_AT = "2026-01-31T12:00:01.000000Z"
DECISIONS = {"approve": "approved", "decline": "rejected", "refer": "approved"}


def text(value):
    return canonical_json(value).decode()


def public_of(key):
    return b64encode(key.public_key().public_bytes_raw()).decode()


def id_of(key):
    return sha256(key.public_key().public_bytes_raw()).hexdigest()[:16]


def record_keys(first=FIRST, second=SECOND, begins="2025-12-01T00:00:00.000000Z"):
    """Return the content of /.well-known/record-keys.json with two keys."""
    times = ((first, begins, CHANGED_AT), (second, CHANGED_AT, None))
    keys = [
        {"id": id_of(key), "public_key": public_of(key), "valid_from": since, "valid_until": until, "announcement": {}}
        for key, since, until in times
    ]
    return text({"keys": keys})


RECORD_KEYS = record_keys()


def signed(record, *, key=FIRST, report_type="application_decision"):
    return {"key": id_of(key), "value": b64encode(key.sign(message_of(report_type, record))).decode()}


def opening_of(record, **changes):
    fields = {"user_id": json.loads(record).get("consumer_id", "7"), "report_type": "application_decision"}
    return {"nonce": LEAF_NONCE.hex(), "timestamp": ANCHORED_AT, **fields, **changes}


def commitment(record, opening):
    openings_by_name = {name: opening[name] for name in ("report_type", "timestamp", "user_id")}
    return commitment_of(
        bytes.fromhex(opening["nonce"]), report_hash=sha256(record.encode()).digest(), **openings_by_name
    )


def proof_of(record, *, index=5, size=11, signer=SIGNER, opening=None):
    """Return the proof file of a record that is entry `index` of a tree of `size`."""
    committed = commitment(record, opening or opening_of(record))
    entries = [b"other %d" % number for number in range(size)]
    entries[index] = sha256(record.encode()).digest() + committed
    leaves = [merkle.leaf_hash(entry) for entry in entries]
    path = [root_of(leaves[begin:end]) for begin, end in merkle.inclusion_ranges(index, size)]
    note = signer.sign(Checkpoint(signer.name, size, root_of(leaves)).text())
    return ProofFile(index, tuple(path), note, committed).text()


def root_of(leaves):
    """Return the root over leaf hashes, by RFC 6962's definition."""
    if len(leaves) == 1:
        return leaves[0]
    middle = 1 << ((len(leaves) - 1).bit_length() - 1)
    return merkle.node_hash(root_of(leaves[:middle]), root_of(leaves[middle:]))


CLOSED = ("application_data_sha256", "changed_by", "consumer_id", "counteroffer", "reason", "reasons")
RESULT = ("total", "outcome", "score_reasons")


def written(told):
    """Return a record in the form of its version: its text, and from version 4 on the openings of its hashes."""
    if told.get("record_version", 1) < 4:
        return {"record": text(told)}
    hidden = {name: told.get(name) for name in CLOSED}
    if told["model_id"] is not None:
        hidden["score"] = {name: told[name] for name in RESULT}
    hashes, opened = close(hidden)
    clear = {name: value for name, value in told.items() if name not in (*CLOSED, *RESULT)}
    return {"record": text({**clear, "hashes": hashes}), "openings": text(opened)}


def members_of(given):
    """Return the fields of a bundle's record, including those that it has only as hashes."""
    document = json.loads(given["record"])
    for name, opening in json.loads(given.get("openings") or "{}").items():
        document |= opening["value"] if name.endswith("score") else {name: opening["value"]}
    return {name: value for name, value in document.items() if name != "hashes"}


def fields_of_anchor(anchor):
    """Return the fields of a stored record, including those that it has only as hashes."""
    return members_of({"record": anchor.record, "openings": anchor.openings})


def record_of(card, facts, nonce=NONCE, **changes):
    """Return the clear fields of the record of a decision that follows the score without a reviewer."""
    evaluation = evaluate(Card.of(card), facts)
    decision = DECISIONS[evaluation.outcome]
    return {
        "application_id": "0193a8f0-0000-7000-8000-000000000001", "consumer_id": "7", "offer_id": 1,
        "offer_version": 1, "offer_terms_sha256": "0" * 64, "provider_id": 101, "request_id": None,
        "record_version": 2, "model_id": 7, "model_version": 2,
        "definition_sha256": sha256(text(card).encode()).hexdigest(),
        "facts_sha256": sha256(nonce + text(facts).encode()).hexdigest(),
        "total": evaluation.total, "outcome": evaluation.outcome, "score_reasons": list(evaluation.reasons),
        "application_data_sha256": "1" * 64, "decision": decision, "previous_status": "under_review", "position": 3,
        "changed_by": "model:7@2", "reason": None, "automated": evaluation.outcome != "refer",
        "reasons": list(evaluation.reasons) if evaluation.outcome == "decline" else [],
        "decided_at": "2026-01-31T12:00:00.000000Z", **changes,
    }  # fmt: skip


def bundle(card=None, facts=None, *, proven=True, **changes):
    """Return a valid bundle; `changes` are fields of the record."""
    card, facts = definition() if card is None else card, FACTS if facts is None else facts
    created = written(record_of(card, facts, **changes))
    record = created["record"]
    return {
        **created, "signature": signed(record), "proof_file": proof_of(record) if proven else None,
        "opening": opening_of(record) if proven else None, "definition": text(card), "facts": text(facts),
        "nonce": b64encode(NONCE).decode(),
    }  # fmt: skip


def recorded(given, **changes):
    """Return a bundle with a changed record that the platform signed and anchored."""
    created = written({**members_of(given), **changes})
    return {**given, **created, "signature": signed(created["record"]), **anchored(created["record"])}


def anchored(record, **changes):
    """Return the fields of a bundle that prove a record; `changes` are values that its leaf commits to."""
    opening = opening_of(record, **changes)
    return {"proof_file": proof_of(record, opening=opening), "opening": opening}

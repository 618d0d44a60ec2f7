"""Records that the platform did not create: the verifier rejects each at the step that checks the fault.

The forger has a ledger that accepts any text, an account, genuine bundles, and own keys.
"""

import json
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from django.test import override_settings

from credit.anchoring.record_keys import message_of
from credit.anchoring.verify_decision import FAIL, ORDER, UNSIGNED, outcome_of, verify
from ledger.keys import signer
from tests.api import bearer_of
from tests.credit.scoring.bundles import (
    CHANGED_AT,
    FIRST,
    KEY,
    OTHER,
    RECORD_KEYS,
    SECOND,
    SIGNER,
    STRANGER,
    anchored,
    bundle,
    id_of,
    opening_of,
    proof_of,
    public_of,
    record_keys,
    recorded,
    signed,
    text,
)
from tests.credit.scoring.cards import POOR
from tests.ledger.conftest import SIGNING_KEY, LedgerClient

GIFT = {"decision": "approved", "changed_by": "Dr. R", "automated": False, "reasons": [], "reason": "at 0 %"}


def check(given, keys=(RECORD_KEYS,), ledger_key=KEY):
    content = given if isinstance(given, bytes) else json.dumps(given).encode()
    return verify(content, ledger_key, keys)


@pytest.mark.django_db(databases="__all__")
def test_applicant_cannot_forge_an_approval_through_the_ledger(settings, user, tmp_path):
    """The attack: anchor a text under the platform's report type with the applicant's log-in, and use its proof."""
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "ledger.example/log", SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    me = {**json.loads(bundle(**GIFT)["record"]), "consumer_id": str(user.pk)}
    item = {"user_id": str(user.pk), "report_type": "application_decision", "report_data": text(me)}
    with override_settings(ROOT_URLCONF="ledger.urls"):
        consumer, own = LedgerClient(), {"authorization": f"Bearer {bearer_of(user)}"}
        refused = consumer.post_json("/anchor", item, **own)
        assert (refused.status_code, refused.json()["code"]) == (403, "E2005")
        # Under another report type the ledger accepts and proves it.
        taken = consumer.post_json("/anchor", {**item, "report_type": "my_decision"}, **own).json()
        proof_file = consumer.get(f"/proof/{taken['hash']}.tlog-proof").content.decode()
    fields = {"definition": bundle()["definition"], "facts": bundle()["facts"], "nonce": bundle()["nonce"]}
    checks = check({"record": text(me), "proof_file": proof_file, **fields}, ledger_key=signer().verifier.vkey)
    assert (checks[-1].name, checks[-1].state) == ("platform", FAIL)


def forged(**changes):
    """Return an anchored record of the forger; `signature` in the changes is the bundle's signature."""
    signature = changes.pop("signature", None)
    return {**recorded(bundle(), **changes), "signature": signature}


def signed_with(key, report_type="application_decision", **changes):
    changed_bundle = recorded(bundle(), **changes)
    return {**changed_bundle, "signature": signed(changed_bundle["record"], key=key, report_type=report_type)}


def with_signature(value, key=FIRST, **changes):
    changed_bundle = recorded(bundle(), **changes)
    content = value(changed_bundle["record"]) if callable(value) else value
    return {**changed_bundle, "signature": {"key": id_of(key), "value": content}}


def of_record(change, **changes):
    """Return a genuine bundle with a changed record and the old signature."""
    fields = {**json.loads(bundle()["record"]), **changes}
    change(fields)
    return {**bundle(), "record": text(fields), **anchored(text(fields))}


def without_score(told):
    for name in (
        "record_version", "model_id", "model_version", "definition_sha256", "facts_sha256", "total", "outcome",
        "score_reasons", "reasons", "automated", "offer_terms_sha256",
    ):  # fmt: skip
        del told[name]


NO_SCORE = {"definition": None, "facts": None, "nonce": None}
GENUINE, ANOTHER = bundle(), recorded(bundle(), application_id="0193a8f0-0000-7000-8000-000000000002", position=1)
SAME_FOR_ANOTHER_PERSON = bundle(facts={**POOR, "scored_on": "2026-01-30"})


def raw(message):
    return lambda record: b64encode(FIRST.sign(message(record))).decode()


def malleated(record):
    signed_message = FIRST.sign(message_of("application_decision", record))
    factor = int.from_bytes(signed_message[32:], "little") + ORDER
    return b64encode(signed_message[:32] + factor.to_bytes(32, "little")).decode()


def flipped(record):
    changed_bytes = bytearray(b64decode(signed(record)["value"]))
    changed_bytes[40] ^= 1
    return b64encode(changed_bytes).decode()


def spelled_otherwise(record):
    return signed(record)["value"] + "\n"


def twice(member, value):
    """Return the genuine file with a duplicate field placed before the original."""
    return b"{" + f"{json.dumps(member)}:{json.dumps(value)},".encode() + json.dumps(GENUINE).encode()[1:]


def opened(**changes):
    return {**GENUINE, "opening": {**GENUINE["opening"], **changes}}


# Each named forgery has the failing step and the bundle.
FORGERIES = {
    "no signature": ("platform", forged(**GIFT)),
    "no signature, in a bundle as they once were": ("platform", {name: kept for name,
     kept in forged(**GIFT).items() if name not in {"signature", "opening"}}),
    "signed by the forger": ("platform", signed_with(STRANGER, **GIFT)),
    "signed by the forger under the platform's id": ("platform", forged(signature={**signed_with(STRANGER,
     **GIFT)["signature"], "key": id_of(FIRST)}, **GIFT)),
    "signed with the log's key": ("platform", signed_with(SIGNER.private_key, **GIFT)),
    "the signature of another record": ("platform", {**GENUINE, "signature": ANOTHER["signature"]}),
    "another record under this signature": ("platform", {**ANOTHER, "signature": GENUINE["signature"]}),
    **{
        f"signed as {kind}": ("platform", signed_with(FIRST, kind))
        for kind in ("acceptance", "scoring_model_version", "record_key", "notice", "release", "")
    },
    "signed without the domain": ("platform", with_signature(raw(lambda record: record.encode()))),
    "signed in another domain": ("platform", with_signature(
        raw(lambda record: b"credit-platform/record/v2\napplication_decision\n" + record.encode()))),
    "the hash signed in place of the record": ("platform", with_signature(raw(lambda record:
     sha256(record.encode()).digest()))),
    "a signature of the checkpoint's kind": ("platform", with_signature(raw(lambda record: record.encode() + b"\n"))),
    "a bit of the signature": ("platform", with_signature(flipped)),
    "a signature with the order of the group added": ("platform", with_signature(malleated)),
    "a signature spelled otherwise": ("platform", with_signature(spelled_otherwise)),
    "an empty signature": ("platform", with_signature("")),
    "a signature of zeros": ("platform", with_signature(b64encode(bytes(64)).decode())),
    "half a signature": ("platform", with_signature(lambda record: signed(record)["value"][:44])),
    "no name of a key": ("platform", {**GENUINE, "signature": {**GENUINE["signature"], "key": ""}}),
    "the name of the other key": ("platform", {**GENUINE, "signature": {**GENUINE["signature"], "key": id_of(SECOND)}}),
    "the key's name in capitals": ("platform", {**GENUINE, "signature": {**GENUINE["signature"], "key":
     id_of(FIRST).upper()}}),
    "a key that was not the platform's yet": ("platform", signed_with(SECOND)),
    "a moment before the first key": ("platform", signed_with(FIRST, decided_at="2025-11-30T23:59:59.999999Z")),
    "a key that was no longer the platform's": ("platform", signed_with(FIRST, decided_at=CHANGED_AT)),
    "a key that had long been replaced": ("platform", signed_with(FIRST, decided_at="2027-01-01T00:00:00.000000Z")),
    "signed at a time that never comes": ("platform", signed_with(FIRST, decided_at="9999-99-99T99:99:99.999999Z")),
    "a time with fewer digits": ("record", signed_with(FIRST, decided_at="2026-01-31T12:00:00Z")),
    "a time that sorts as any": ("record", signed_with(FIRST, decided_at="2026")),
    "the decision changed": ("platform", of_record(lambda entry: entry.update(GIFT))),
    "the terms changed": ("platform", of_record(lambda entry: entry.update(offer_terms_sha256="f" * 64))),
    "the reasons changed": ("platform", of_record(lambda entry: entry.update(reasons=["no_credit_file"]))),
    "the data's hash changed": ("platform", of_record(lambda entry: entry.update(application_data_sha256="2" * 64))),
    "the consumer changed": ("platform", of_record(lambda entry: entry.update(consumer_id="8"))),
    "the reviewer changed": ("platform", of_record(lambda entry: entry.update(changed_by="somebody else"))),
    "a member added to the record": ("platform", of_record(lambda entry: entry.update(note="approved"))),
    "a record of version 1 in its place, as if none had signed then": ("platform", {**of_record(without_score),
     **NO_SCORE, "signature": None}),
    "a record of version 1 under the old signature": ("platform", {**of_record(without_score), **NO_SCORE}),
    "a record of version 1 with a signature of the forger": ("platform", {**of_record(without_score), **NO_SCORE,
     "signature": signed_with(STRANGER, **GIFT)["signature"]}),
    "a bundle that calls itself unsigned": ("bundle", {**GENUINE, "unsigned": True}),
    "a bundle that calls itself verified": ("bundle", {**GENUINE, "verified": True, "platform": "ok"}),
    "a signature that is false": ("bundle", {**GENUINE, "signature": False}),
    "a signature without a value": ("bundle", {**GENUINE, "signature": {"key": id_of(FIRST)}}),
    "a signature that brings its own key": ("bundle", {**GENUINE, "signature": {**GENUINE["signature"], "public_key":
     public_of(STRANGER)}}),
    "two signatures": ("bundle", {**GENUINE, "signature": [GENUINE["signature"], GENUINE["signature"]]}),
    "the signature twice": ("bundle", twice("signature", None)),
    "the record twice": ("bundle", twice("record", forged(**GIFT)["record"])),
    "the record's decision twice": ("record", {**GENUINE, "record": GENUINE["record"].replace('"decision"',
     '"decision":"approved","decision"', 1)}),
    "the record spelled otherwise": ("record", {**GENUINE, "record": GENUINE["record"].replace("rejected",
     "r\\u0065jected")}),
    "a mark before the file": ("bundle", "\ufeff".encode() + json.dumps(GENUINE).encode()),
    "the facts of somebody else": ("facts", {**GENUINE, "facts": SAME_FOR_ANOTHER_PERSON["facts"]}),
    "a signed record without a proof": ("proof", {**GENUINE, "proof_file": None, "opening": None}),
    "the proof of another record": ("inclusion", {**GENUINE, **{n: ANOTHER[n] for n in ("proof_file", "opening")}}),
    "the proof of another, opened as this one": ("inclusion", {**GENUINE, "proof_file": ANOTHER["proof_file"]}),
    "the same text, anchored by somebody else": ("commitment", {**GENUINE, **anchored(GENUINE["record"], user_id="8")}),
    "the same text, anchored as another type": ("commitment", {**GENUINE, **anchored(GENUINE["record"],
     report_type="credit_report")}),
    "the same text, anchored as an acceptance": ("commitment", {**GENUINE, **anchored(GENUINE["record"],
     report_type="acceptance")}),
    "somebody else's leaf, opened as the consumer's": ("commitment", {**GENUINE, "proof_file":
     proof_of(GENUINE["record"], opening=opening_of(GENUINE["record"], user_id="8"))}),
    "another type's leaf, opened as a decision": ("commitment", {**GENUINE, "proof_file": proof_of(GENUINE["record"],
     opening=opening_of(GENUINE["record"], report_type="x"))}),
    "a leaf opened at another time": ("commitment", opened(timestamp="2025-01-31T12:00:01.000000Z")),
    "a leaf opened with another nonce": ("commitment", opened(nonce="00" * 16)),
    "a nonce that takes from what follows": ("commitment", opened(nonce=GENUINE["opening"]["nonce"][:-2])),
    "a nonce in capitals": ("commitment", opened(nonce=GENUINE["opening"]["nonce"].upper())),
    "a leaf that is not opened": ("commitment", {**GENUINE, "opening": None}),
    "an opening without a proof": ("bundle", {**GENUINE, "proof_file": None}),
    "an opening with its hash": ("bundle", opened(hash="0" * 64)),
    "a log of the forger's own": ("signature", {**GENUINE, "proof_file": proof_of(GENUINE["record"], signer=OTHER)}),
}  # fmt: skip


def test_forged_decision_bundle_fails_at_the_expected_step():
    assert outcome_of(check(GENUINE)) == outcome_of(check(ANOTHER)) == "verified"
    for name, (step, forgery) in FORGERIES.items():
        checks = check(forgery)
        assert (checks[-1].name, checks[-1].state) == (step, FAIL), (name, checks[-1])
        assert outcome_of(checks) == "failed", name


def key_file(change):
    document = json.loads(RECORD_KEYS)
    change(document["keys"])
    return text(document)


KEY_FILES = {
    "another platform's": record_keys(STRANGER, OTHER.private_key),
    "another key under the id": key_file(lambda keys: keys[0].update(public_key=public_of(STRANGER))),
    "an id of another key": key_file(lambda keys: keys[0].update(id=id_of(SECOND))),
    "without the key": key_file(lambda keys: keys.pop(0)), "without keys": key_file(lambda keys: keys.clear()),
    "a key without its time": key_file(lambda keys: keys[0].update(valid_from="")),
    "a key whose time is none": key_file(lambda keys: keys[0].update(valid_until="later")),
    "a member twice": RECORD_KEYS.replace('"keys":', '"keys":[],"keys":', 1), "the log's key": KEY,
    "half a key": public_of(FIRST)[:20], "no key": "", "a file that is not there": "record-keys.json",
    "keys of tokens": '{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"1"}]}', "no document": "{",
}  # fmt: skip


def test_decision_verification_with_a_wrong_key_file_fails_at_the_platform_step():
    for name, keys in KEY_FILES.items():
        last = check(GENUINE, [keys])[-1]
        assert (last.name, last.state) == ("platform", FAIL), name


def test_record_key_cannot_extend_its_own_validity_period():
    late = signed_with(FIRST, decided_at=CHANGED_AT)
    for keys in ([RECORD_KEYS, public_of(FIRST)], [public_of(FIRST), RECORD_KEYS]):
        assert check(late, keys)[-1].name == "platform"
    assert outcome_of(check(late, [public_of(FIRST)])) == "verified"  # A single key is trusted without a period.


def test_unsigned_record_older_than_the_record_keys_is_not_verified():
    for decided_at in ("2025-11-22T12:00:00.000000Z", "0001-01-01T00:00:00.000000Z"):
        checks = check(forged(decided_at=decided_at, **GIFT))
        assert {step.name: step.state for step in checks}["platform"] == UNSIGNED
        assert outcome_of(checks) == "unsigned"

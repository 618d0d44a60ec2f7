"""Test that the verifier accepts valid bundles and reports the failing step of invalid bundles."""

import base64
import json
from hashlib import sha256

import pytest

from credit.anchoring import verify_decision
from credit.anchoring.verify_decision import FAIL, OK, SKIPPED, UNSIGNED, outcome_of, verify
from tests.credit.scoring.bundles import (
    FACTS,
    FIRST,
    KEY,
    NONCE,
    OTHER,
    RECORD_KEYS,
    SECOND,
    SIGNER,
    anchored,
    bundle,
    proof_of,
    public_of,
    recorded,
    signed,
    text,
)

SCORED = (*verify_decision.OF_THE_SCORE, *verify_decision.RESULT)
PERSONS = text([{"legal_name": "Li Wei"}, {"legal_name": "Ó Súilleabháin, Máire"}])


def steps_of(given, key=KEY, platform=(RECORD_KEYS,)):
    content = given if isinstance(given, bytes) else json.dumps(given).encode()
    return verify(content, key, platform)


def states(given, key=KEY, platform=(RECORD_KEYS,)):
    return {step.name: step.state for step in steps_of(given, key, platform)}


NAMES = [
    "bundle", "record", "platform", "openings", "definition", "certificate", "facts", "sources", "total", "outcome",
    "reasons", "decision", "terms", "applicants", "proof", "inclusion", "commitment", "signature",
]  # fmt: skip


def named(given, persons=PERSONS, nonce=NONCE, **changes):
    """Return a bundle whose record names applicants."""
    digest = sha256(nonce + persons.encode()).hexdigest()
    shown = {"applicants": persons, "applicants_nonce": base64.b64encode(nonce).decode()}
    return {**recorded(given, record_version=3, applicants_sha256=digest), **shown, **changes}


class TestValidBundles:
    def test_valid_decision_bundle_passes_every_verification_step(self):
        against_the_score = recorded(bundle(), decision="approved", automated=False, reasons=[], changed_by="Dr. R")
        for valid_bundle in (bundle(), bundle(record_version=4), against_the_score, named(bundle())):
            assert states(valid_bundle) == dict.fromkeys(NAMES, OK)
        details = [step.detail for step in steps_of(bundle(record_version=4)) if step.name == "openings"]
        assert details == ["decided by 'model:7@2'; closed: nothing"]

    def test_inclusion_proof_verifies_for_every_entry_of_a_tree(self):
        valid_bundle = bundle()
        for size, indexes in (*((size, range(size)) for size in range(1, 9)), (17, (0, 15, 16)), (33, (0, 31, 32))):
            for index in indexes:
                anchored = {**valid_bundle, "proof_file": proof_of(valid_bundle["record"], index=index, size=size)}
                assert states(anchored)["inclusion"] == OK, (size, index)

    def test_verification_of_an_unanchored_decision_bundle_with_a_ledger_key_fails(self):
        waiting = bundle(proven=False)
        result = states(waiting, None)
        assert [name for name in NAMES if result[name] == SKIPPED] == ["proof", "inclusion", "commitment", "signature"]
        assert FAIL not in result.values()
        assert (steps_of(waiting)[-1].name, steps_of(waiting)[-1].state) == ("proof", FAIL)

    def test_verifier_skips_signature_steps_without_the_platform_or_ledger_key(self):
        assert [name for name, state in states(bundle(), KEY, ()).items() if state != OK] == ["platform"]
        step = steps_of(bundle(), None)[-1]
        assert (step.name, step.state) == ("signature", SKIPPED)
        assert "without the ledger's key" in step.detail
        assert outcome_of(steps_of(bundle(), KEY, ())) == outcome_of(steps_of(bundle(), None)) == "unknown"
        assert outcome_of(steps_of(bundle())) == "verified"

    def test_platform_key_verifies_only_records_within_its_validity_period(self):
        later = "2026-06-01T00:00:00.000000Z"
        for key, decided_at in ((FIRST, "2026-05-31T23:59:59.999999Z"), (SECOND, later), (SECOND, f"2027{later[4:]}")):
            changed_bundle = recorded(bundle(), decided_at=decided_at)
            changed_bundle["signature"] = signed(changed_bundle["record"], key=key)
            assert set(states(changed_bundle).values()) == {OK}
            assert set(states(changed_bundle, platform=(public_of(FIRST), public_of(SECOND))).values()) == {OK}

    @pytest.mark.parametrize(("change", "skipped"), [
        (lambda: {**bundle(), "facts": None, "nonce": None}, ["facts", "total", "outcome", "reasons"]),
        (lambda: named(bundle(), applicants=None, applicants_nonce=None), ["applicants"]),
        (lambda: without("applicants_nonce")(without("applicants")(named(bundle()))), ["applicants"]),
        (lambda: {**bundle(record_version=4), "openings": None, "facts": None, "nonce": None},
         ["openings", "facts", "total", "outcome", "reasons", "decision", "commitment"]),
        (lambda: unopened("reason"), []),
        (lambda: unopened("consumer_id"), ["commitment"]),
        (lambda: unopened("reasons"), ["decision"]),
        (lambda: unopened("score"), ["total", "outcome", "reasons", "decision"]),
    ])  # fmt: skip
    def test_verifier_skips_steps_that_require_an_erased_or_undisclosed_value(self, change, skipped):
        steps = steps_of(change())
        assert [step.name for step in steps if step.state != OK] == skipped
        assert all(step.state == SKIPPED for step in steps if step.name in skipped)
        assert outcome_of(steps) == "verified"

    def test_verifier_lists_the_undisclosed_values_of_a_decision_record(self):
        assert steps_of(unopened("score"))[NAMES.index("openings")].detail.endswith("closed: score")

    def test_decision_without_a_score_passes_verification(self):
        nothing = dict.fromkeys(SCORED)
        fields = {**recorded(bundle(), automated=False, **nothing), "definition": None, "facts": None, "nonce": None}
        result = states(fields)
        assert FAIL not in result.values()
        assert result["signature"] == OK

    @pytest.mark.parametrize(("version", "spelled"), [(2, "9.0"), (3, "9.0"), (4, "9")])
    def test_verifier_requires_the_number_format_of_the_record_version(self, version, spelled):
        changed_bundle = recorded(bundle(), record_version=version, zone=9)
        for number in ("9", "9.0"):
            written = changed_bundle["record"].replace('"zone":9', f'"zone":{number}')
            result = states({**changed_bundle, "record": written, "signature": signed(written), **anchored(written)})
            # Before version 4, numbers were hashed as received, for example as 9.
            assert result["record"] == (OK if version < 4 or number == spelled else FAIL)

    @pytest.mark.parametrize(("version", "first"), [(3, "\ufb33"), (4, "😀")])
    def test_verifier_requires_the_key_order_of_the_record_version(self, version, first):
        changed_bundle = recorded(bundle(), record_version=version)
        record = changed_bundle["record"][:-1]
        for item, other in (("\ufb33", "😀"), ("😀", "\ufb33")):
            written = f'{record},"{item}":1,"{other}":2}}'
            result = states({**changed_bundle, "record": written, "signature": signed(written), **anchored(written)})
            assert result["record"] == (OK if item == first else FAIL)

    @pytest.mark.parametrize("number", ["700000.0", "700000", "7e5"])
    def test_facts_stored_before_version_4_are_verified_with_a_record_of_version_4(self, number):
        valid_bundle = bundle(facts={**FACTS, "application_data.other": 700000})
        facts = valid_bundle["facts"].replace("700000", number)
        digest = sha256(NONCE + facts.encode()).hexdigest()
        result = states({**recorded(valid_bundle, record_version=4, facts_sha256=digest), "facts": facts})
        assert (result["facts"], FAIL in result.values()) == (OK, False)

    def test_decision_record_of_version_1_is_verified_byte_for_byte(self):
        # This record was anchored before records had versions.
        record = (
            '{"application_data_sha256":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",'
            '"application_id":"0193a8f0-0000-7000-8000-000000000001","changed_by":"reviewer-7","consumer_id":"7",'
            '"decided_at":"2025-11-22T12:00:00.000000Z","decision":"approved","offer_id":700000,"offer_version":null,'
            '"position":3,"previous_status":"under_review","provider_id":700,"reason":"income verified",'
            '"request_id":null}'
        )
        # A bundle of that time has no signature and no opening of the leaf.
        fields = {
            "record": record, "proof_file": proof_of(record), "definition": None, "facts": None, "nonce": None,
        }  # fmt: skip
        for platform in ((RECORD_KEYS,), (public_of(FIRST),), ()):
            result = states(fields, platform=platform)
            assert FAIL not in result.values()
            assert (result["record"], result["inclusion"], result["signature"]) == (OK, OK, OK)
            assert result["platform"] == UNSIGNED
            assert outcome_of(steps_of(fields, platform=platform)) == "unsigned"


def unopened(name):
    """Return a bundle of version 4 without the opening of a value."""
    valid_bundle = bundle(record_version=4)
    opened = {opening: item for opening, item in json.loads(valid_bundle["openings"]).items() if opening != name}
    return {**valid_bundle, "openings": text(opened)}


def swap(**members):
    """Replace fields of the bundle."""
    return lambda base: {**base, **members}


def edit(member, old, new, count=1):
    """Replace a text that must occur in a field."""

    def tamper(given):
        assert old in given[member]
        return {**given, member: given[member].replace(old, new, count)}

    return tamper


def without(member):
    return lambda base: {name: value for name, value in base.items() if name != member}


def forging(**changes):
    """Forge the record and anchor it, so that the ledger's steps pass."""
    return lambda base: recorded(base, **changes)


def with_card(change):
    """Change the scorecard, and forge its hash in the record."""

    def tamper(given):
        card = json.loads(given["definition"])
        change(card)
        forged = recorded(given, definition_sha256=sha256(text(card).encode()).hexdigest())
        return {**forged, "definition": text(card)}

    return tamper


def with_facts(**changes):
    """Change facts, and forge their hash in the record."""

    def tamper(given):
        facts = text({**json.loads(given["facts"]), **changes})
        return {**recorded(given, facts_sha256=sha256(NONCE + facts.encode()).hexdigest()), "facts": facts}

    return tamper


def in_the_clear(**changes):
    """Return a bundle whose record of version 4 has changed fields."""
    valid_bundle = bundle(record_version=4)
    record = text({**json.loads(valid_bundle["record"]), **changes})
    return {**valid_bundle, "record": record, "signature": signed(record), **anchored(record)}


def reopened(**values):
    """Return a bundle of version 4 that opens hashes with other values."""
    valid_bundle = bundle(record_version=4)
    opened = json.loads(valid_bundle["openings"])
    nonce = opened["reason"]["nonce"]
    opened |= {name: {"nonce": opened.get(name, {}).get("nonce", nonce), "value": values[name]} for name in values}
    return {**valid_bundle, "openings": text(opened)}


def _lines(change):
    """Change the lines of the proof file."""

    def tamper(given):
        lines = given["proof_file"].split("\n")
        change(lines)
        return {**given, "proof_file": "\n".join(lines)}

    return tamper


def _set(position, value):
    return _lines(lambda lines: lines.__setitem__(position, value))


def _flip(position):
    """Change one bit of a hash in the proof file."""

    def change(lines):
        raw = bytearray(base64.b64decode(lines[position]))
        raw[7] ^= 1
        lines[position] = base64.b64encode(raw).decode()

    return _lines(change)


def _flip_signature(given):
    head, _, line = given["proof_file"].rstrip("\n").rpartition(" ")
    raw = bytearray(base64.b64decode(line))
    raw[20] ^= 1
    return {**given, "proof_file": f"{head} {base64.b64encode(raw).decode()}\n"}


TAMPERINGS = {
    "a missing field": ("bundle", without("nonce")),
    "an additional field": ("bundle", swap(note="trust me")),
    "a record that is not a string": ("bundle", swap(record={"decision": "approved"})),
    "facts without their nonce": ("bundle", swap(nonce=None)),
    "a space in the record": ("record", edit("record", '":', '": ')),
    "record keys in another order": ("record", edit("record", '"model_id":7,"model_version":2',
     '"model_version":2,"model_id":7')),
    "a duplicate field of the record": ("record", edit("record", '"decision":', '"decision":"approved","decision":')),
    "an unnecessary escape in the record": ("record", edit("record", "rejected", "r\\u0065jected")),
    "a record of an unknown version": ("record", forging(record_version=5)),
    "a loan in a record of a version without loans": ("record", forging(terms={}, terms_sha256="", terms_as_of="")),
    "an incomplete loan in the record": ("record", forging(record_version=3, terms={})),
    "a rejection with a loan": ("terms", forging(record_version=3, terms={}, terms_sha256="", terms_as_of="")),
    "an automatic decline that depends on a missing fact": ("decision", lambda _: forging(record_version=4)(
     bundle(facts={"application_data.housing": "hotel"}))),
    "an incomplete score in the record": ("record", forging(total=None)),
    "a total that is not an integer": ("record", forging(total="550")),
    "another scorecard": ("definition", edit("definition", '"baseline":120', '"baseline":121')),
    "a certificate that the record doesn't name": ("certificate", swap(certificate="{}")),
    "a plaintext field that the record also hashes": ("record", lambda _: in_the_clear(reason="income verified")),
    "a record of version 4 without hashes": ("record", lambda _: in_the_clear(hashes=None)),
    "another reason than the hashed one": ("openings", lambda _: reopened(reason="Dr. R's nephew")),
    "another consumer than the hashed one": ("openings", lambda _: reopened(consumer_id="8")),
    "another result than the hashed one": ("openings", lambda _: reopened(score={"total": 900, "outcome": "approve",
     "score_reasons": []})),
    "an opening without a hash in the record": ("openings", lambda _: reopened(decision="approved")),
    "openings of a record without hashes": ("openings", swap(openings="{}")),
    "an opening of facts that the record doesn't name": ("sources", swap(facts_opening="{}")),
    "no scorecard": ("definition", swap(definition=None)),
    "a scorecard in another serialization": ("definition", edit("definition", '":', '": ')),
    "a record that omits the score": ("definition", forging(**dict.fromkeys(SCORED), automated=False)),
    "a scorecard without a missing bin": ("facts", lambda base: with_card(lambda card:
     card["characteristics"][0]["bins"].pop(0))(with_facts(**{"application_data.monthly_income_cents": None})(base))),
    "a scorecard without a last outcome, with its hash": ("facts", with_card(lambda card: card["outcomes"].pop())),
    "another fact": ("facts", edit("facts", "140000", "140001")),
    "an additional fact": ("facts", edit("facts", "{", '{"account.age_days":9,')),
    "another nonce": ("facts", swap(nonce=base64.b64encode(bytes(32)).decode())),
    "a nonce without its last byte": ("facts", swap(nonce=base64.b64encode(NONCE[:-1]).decode())),
    "a nonce in another encoding": ("facts", lambda base: {**base, "nonce": base["nonce"][:-1] + "\n="}),
    "a better total in the record": ("total", forging(total=551)),
    "changed facts with their hash": ("total", with_facts(**{"application_data.monthly_income_cents": 150_000})),
    "a changed bound of the scorecard with its hash": ("total", with_card(lambda card:
     card["characteristics"][0]["bins"][1].update(below=130_000))),
    "changed points of the scorecard with its hash": ("total", with_card(lambda card: card.update(base_points=499))),
    "another outcome in the record": ("outcome", forging(outcome="refer", automated=False)),
    "changed bounds of the outcomes": ("outcome", with_card(lambda card: card["outcomes"][1].update({"from":
     550}))),
    "the reasons in another order": ("reasons", forging(score_reasons=["obligations_excessive", "income_insufficient",
     "residence_short"])),
    "a missing reason": ("reasons", forging(score_reasons=["income_insufficient", "obligations_excessive"])),
    "a changed baseline of the scorecard with its hash": ("reasons", with_card(lambda card:
     card["characteristics"][2].update(baseline=500))),
    "a decision that contradicts the score": ("decision", forging(decision="approved", reasons=[])),
    "other reasons than those of the score": ("decision", forging(reasons=["no_credit_file"])),
    "applicants without their nonce": ("bundle", lambda base: named(base, applicants_nonce=None)),
    "another applicant": ("applicants", lambda base: edit("applicants", "Li", "Lu")(named(base))),
    "applicants whom the record does not name": ("applicants", lambda base: {**base, "applicants": PERSONS,
     "applicants_nonce": base["nonce"]}),
    "another nonce of the applicants": ("applicants", lambda base: named(base,
     applicants_nonce=base64.b64encode(bytes(32)).decode())),
    "applicants in another serialization": ("applicants", lambda base: named(base, PERSONS[:-1] + " ]")),
    "an empty list of applicants": ("applicants", lambda base: named(base, "[]")),
    "another header of the proof file": ("proof", edit("proof_file", "tlog-proof@v1", "tlog-proof@v2")),
    "a proof file without the commitment": ("proof", _lines(lambda lines: lines.pop(1))),
    "an index beyond the tree": ("proof", _set(2, "index 11")),
    "an invalid root": ("proof", _set(10, "AAAA")),
    "another commitment": ("inclusion", _set(1, f"extra {base64.b64encode(bytes(32)).decode()}")),
    "another index": ("inclusion", _set(2, "index 4")),
    "a changed bit of the path": ("inclusion", _flip(3)),
    "a shorter path": ("inclusion", _lines(lambda lines: lines.pop(3))),
    "a changed bit of the root": ("inclusion", _flip(10)),
    "a decision that the platform did not sign": ("platform", edit("record", '"decided_at":"2026-01-31',
     '"decided_at":"2026-01-30')),
    "a decision about another consumer": ("platform", edit("record", '"consumer_id":"7"', '"consumer_id":"8"')),
    "a decision that is not anchored": ("inclusion", lambda base: {**base, **{name: recorded(base,
     position=4)[name] for name in ("record", "signature")}}),
    "a leaf of another user": ("commitment", lambda base: {**base, **anchored(base["record"], user_id="8")}),
    "a changed bit of the signature": ("signature", _flip_signature),
    "a checkpoint signed with another key": ("signature", lambda base: {**base, "proof_file": proof_of(base["record"],
     signer=OTHER)}),
    "another origin": ("signature", edit("proof_file", "\n\nledger.example/log\n", "\n\nledger.example/two\n")),
}  # fmt: skip


@pytest.mark.parametrize(("step", "tamper"), TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_tampered_decision_bundle_fails_at_the_expected_step(step, tamper):
    steps = steps_of(tamper(bundle()))
    assert (steps[-1].name, steps[-1].state) == (step, FAIL), steps[-1]
    assert all(item.state != FAIL for item in steps[:-1])
    assert [item.name for item in steps] == NAMES[: len(steps)]


def test_tampering_cases_cover_every_verification_step():
    assert len(TAMPERINGS) >= 30
    assert {step for step, _ in TAMPERINGS.values()} == set(NAMES)


@pytest.mark.parametrize("key", [
    "", "x", "a+b", "a+b+c", KEY[:-4], KEY.replace("ledger", "Ledger"), KEY + "=", OTHER.verifier.vkey, "é" + KEY,
    f"{SIGNER.name}+00000000+{KEY.rpartition('+')[2]}",
])  # fmt: skip
def test_decision_verification_with_an_invalid_or_foreign_ledger_key_fails(key):
    step = steps_of(bundle(), key)[-1]
    assert (step.name, step.state) == ("signature", FAIL)

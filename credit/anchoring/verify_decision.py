"""Check a credit decision independently, from its bundle.

    python verify_decision.py bundle.json --platform-key record-keys.json --ledger-key 'NAME+ID+KEY'

The script is a single file for Python 3.9 or newer. It requires no package, no network, and no trusted party. It
intentionally shares no code with the platform, because a fault in shared code would not be detected. It checks these
steps in order:

    bundle      the file has the fields of a bundle
    record      the decision record has its canonical form: RFC 8785 from version 4 on
    platform    a key of the platform that was valid at the time of the decision signed the record (Ed25519); you supply
                the keys: the platform's `/.well-known/record-keys.json` as a file, or a public key in base64
    openings    the hash of each text, ID, and result that the bundle opens is in the record
    definition  the SHA-256 of the scorecard is in the record
    certificate the SHA-256 of the certificate is in the record, and the certificate matches the scorecard
    facts       SHA-256(nonce, facts) is in the record, and the applicant shared all facts
    sources     the hash of each opened fact is in the record, and the source of each fact matches its name
    total       the recomputed total equals the total in the record
    outcome     the recomputed outcome equals the outcome in the record
    reasons     the recomputed reasons equal the reasons in the record, in the same order
    decision    an automatic decision follows from the score, with the score's reasons and price
    terms       the recomputed payments, schedule, finance charge, and annual percentage rate equal those of the loan
    applicants  SHA-256(nonce, applicants) is in the record
    proof       the ledger's proof file (C2SP tlog-proof) is well-formed
    inclusion   the path leads from the leaf with the record's hash to the root of the checkpoint
    commitment  the leaf was anchored as a decision about the record's consumer
    signature   the ledger's key, which you supply (`vkey` at the ledger's /key), signed the checkpoint (Ed25519)

The script stops at the first step that fails. It reports erased facts, openings, and applicants, and a missing score,
but does not count them as failures.

Exit status:

    0   no step fails, and both signatures are valid
    1   a step fails
    3   unknown, because the platform's or the ledger's key is missing
    4   the record is unsigned, so nothing proves its author
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, cast

FILE_MAX_BYTES = 16 * 1024 * 1024
PERSONS = ("applicants", "applicants_nonce")
# Older bundles lack these fields.
LATER = (*PERSONS, "certificate", "facts_opening", "openings")
MEMBERS = ("record", "signature", "proof_file", "opening", "definition", "facts", "nonce", *LATER)
# These fields of the bundle must be objects. The oldest bundles lack both fields. Later bundles lack some of LATER.
OBJECTS = {"signature": {"key", "value"}, "opening": {"nonce", "user_id", "report_type", "timestamp"}}
NONCE_BYTES = 32
# A score has facts of these areas only if the record's `share` contains the area.
PRIVATE = ("bank", "identity")
# This maps a fact's name, or the first part of the name, to the fact's source. The platform is the source of all other
# facts.
SOURCES = {
    "application_data": "applicant", "confirmed": "confirmed", "bank": "bank", "report": "report",
    "bank.linked": "platform",
}  # fmt: skip
REPORT_TYPE = "application_decision"
DOMAIN = "credit-platform/record/v1"
OK, FAIL, SKIPPED, UNSIGNED = "ok", "FAIL", "skip", "none"
# STATUS maps each verdict to an exit status.
VERIFIED, FAILED, UNKNOWN = "verified", "failed", "unknown"
STATUS = {VERIFIED: 0, FAILED: 1, UNKNOWN: 3, "unsigned": 4}
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z\Z", re.ASCII)


# Python raises these errors for malformed input.
UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, StopIteration)


class Step(NamedTuple):
    """A step with its name, its state (OK, FAIL, SKIPPED, or UNSIGNED), and a description of its result."""

    name: str
    state: str
    detail: str


class CheckFailed(Exception):
    """A step failed. The message is the reason."""


def verify(content: bytes, ledger_key: str | None = None, platform_keys: Sequence[str] = ()) -> list[Step]:
    """Check a bundle, and return all steps up to the first failure. Invalid content raises no exception.

    Each of `platform_keys` is a public key in base64, or the content of a `record-keys.json` file.
    """
    check, steps = Check(content, ledger_key, platform_keys), []
    for name in (
        "bundle", "record", "platform", "openings", "definition", "certificate", "facts", "sources", "total", "outcome",
        "reasons", "decision", "terms", "applicants", "proof", "inclusion", "commitment", "signature",
    ):  # fmt: skip
        try:
            state, detail = getattr(check, name)()
        except CheckFailed as failure:
            state, detail = FAIL, str(failure)
        except UNREADABLE as error:
            state, detail = FAIL, f"the content is malformed ({type(error).__name__})"
        steps.append(Step(name, state, detail))
        if state == FAIL:
            break
    return steps


def outcome_of(steps: list[Step]) -> str:
    """Return the verdict about all steps, which is a key of STATUS."""
    if steps[-1].state == FAIL:
        return FAILED
    states = {step.name: step.state for step in steps}
    if states["platform"] == UNSIGNED:
        return "unsigned"
    return UNKNOWN if SKIPPED in (states["platform"], states["signature"]) else VERIFIED


def sentence_about(steps: list[Step]) -> str:
    skipped = ", ".join(step.name for step in steps if step.state == SKIPPED)
    return {
        VERIFIED: "The decision holds." + (f" Not checked: {skipped}." if skipped else ""),
        FAILED: f"The decision does not hold: {steps[-1].name}.",
        UNKNOWN: f"No error was found, but a key is missing, so it could be a forgery. Not checked: {skipped}.",
        "unsigned": "The record is unsigned: nothing shows that the platform wrote it.",
    }[outcome_of(steps)]


def _must(holds: object, why: str) -> None:
    if not holds:
        raise CheckFailed(why)


class Check:
    """Run the steps on a bundle. Each step returns its state and a description, or raises CheckFailed."""

    def __init__(self, content: bytes, ledger_key: str | None, platform_keys: Sequence[str]) -> None:
        self.content, self.ledger_key, self.platform_keys = content, ledger_key, platform_keys
        self.texts: dict[str, Any] = {}
        self.fields: dict[str, Any] = {}
        self.card: Any = None
        self.computed: Score | None = None

    def bundle(self) -> tuple[str, str]:
        _must(len(self.content) <= FILE_MAX_BYTES, "the file is too large for a bundle")
        fields = parse(self.content.decode("utf-8"))
        _must(isinstance(fields, dict), "the bundle must be a JSON object")
        fields = {**dict.fromkeys((*OBJECTS, *LATER)), **fields}
        _must(set(fields) == set(MEMBERS), f"the bundle's fields must be {', '.join(MEMBERS)}")
        for name, value in fields.items():
            if name in OBJECTS and value is not None:
                _must(isinstance(value, dict) and set(value) == OBJECTS[name], f"{name} must have {OBJECTS[name]}")
                _must(all(type(text) is str for text in value.values()), f"the fields of {name} must be strings")
            else:
                _must(type(value) is str or (value is None and name != "record"), f"{name} must be a string")
        for what, nonce in (("facts", "nonce"), PERSONS):
            _must(
                (fields[what] is None) == (fields[nonce] is None),
                f"{what} and {nonce} must both be present, or both be null",
            )
        _must(fields["opening"] is None or fields["proof_file"] is not None, "an opening requires a proof_file")
        self.texts = fields
        return OK, f"a bundle with {', '.join(name for name in MEMBERS if fields[name] is not None)}"

    def record(self) -> tuple[str, str]:
        self.fields = fields = parse(str(self.texts["record"]))
        _must(isinstance(fields, dict), "the record must be a JSON object")
        version = fields.get("record_version", 1)
        _must(type(version) is int and version in {1, 2, 3, 4}, "this program does not support the record's version")
        _must(self.serialize(fields) == self.texts["record"], NOT_CANONICAL)
        closed = {name for name in (*CLOSED, *RESULTS, *RESULT) if name in fields} if version >= 4 else set()
        _must(not closed, f"the record contains both the value and the hash of: {', '.join(sorted(closed))}")
        for name in ("application_id", "decision", "decided_at", *(() if version >= 4 else IDS)):
            _must(type(fields.get(name)) is str, f"the record requires {name}")
        _must(
            TIME.match(fields["decided_at"]),
            "decided_at must be UTC with six decimals, such as 2026-01-31T12:00:00.000000Z",
        )
        if version >= 2:
            self._check_kinds(OF_THE_SCORE if version >= 4 else {**OF_THE_SCORE, **RESULT})
            _must(type(fields["automated"]) is bool, "automated must be true or false")
        else:
            _must(not {*OF_THE_SCORE, *RESULT} & set(fields), "a record without a version can't contain a score")
        _must(version >= 4 or "hashes" not in fields, "a record before version 4 can't contain hashes")
        if version >= 4:
            hashes, result = set(fields["hashes"]), RESULTS & set(fields["hashes"])
            _must(hashes - RESULTS == CLOSED, f"hashes must contain {', '.join(sorted(CLOSED))}")
            _must(
                len(result) == self.is_scored, "hashes must contain one result if there is a score, and otherwise none"
            )
        applicants = fields.get("applicants_sha256")
        _must(applicants is None or (version >= 3 and type(applicants) is str), "applicants_sha256 is invalid")
        has_terms = [fields.get(name) is not None for name in ("terms", "terms_sha256", "terms_as_of")]
        _must(
            all(has_terms) or not any(has_terms),
            "terms, terms_sha256, and terms_as_of must all be present, or all be absent",
        )
        _must(version >= 3 or not any(has_terms), "a record before version 3 can't contain a loan")
        about = f"{fields['decision']!r} about application {fields['application_id']}"
        return OK, f"version {version}: {about} at {fields['decided_at']}"

    def _check_kinds(self, kinds: dict[str, type]) -> None:
        """Check that the record has either all of these fields, with these types, or none of them."""
        present = [self.fields[name] is not None for name in kinds]
        _must(all(present) or not any(present), "some fields of the score are missing")
        for name, kind in kinds.items():
            _must(self.fields[name] is None or type(self.fields[name]) is kind, f"{name} is invalid")

    def platform(self) -> tuple[str, str]:
        keys, signature, decided_at = keys_of(self.platform_keys), self.texts["signature"], self.fields["decided_at"]
        _must(keys or not self.platform_keys, "the platform keys contain no key")
        if signature is None:
            signs = any(key.begins and key.begins <= decided_at for key in keys.values())
            _must(not signs, "the record is unsigned, but the platform signed its decisions at that time")
            return UNSIGNED, "the record is unsigned, so nothing proves its author"
        if not keys:
            return SKIPPED, "not checked: without a platform key, the record could be a forgery"
        _must(signature["key"] in keys, f"the signing key {signature['key']} is not a platform key")
        key = keys[signature["key"]]
        _must(key.begins <= decided_at, f"the key {signature['key']} was not valid yet at the time of the decision")
        _must(
            key.ends is None or decided_at < key.ends,
            f"the key {signature['key']} was no longer valid at the time of the decision",
        )
        signed = f"{DOMAIN}\n{REPORT_TYPE}\n{self.texts['record']}".encode()
        _must(ed25519(key.public, signed, decode_base64(signature["value"])), "the signature does not match the record")
        return OK, f"signed with {signature['key']}, the platform's key at that time"

    def openings(self) -> tuple[str, str]:
        """Check the opened values. Store each value as a field of the record, as in records before version 4."""
        text, hashes = self.texts["openings"], self.fields.get("hashes")
        if hashes is None:
            _must(text is None, "the record has no hashes, so it can't have openings")
            return OK, f"the record has no closed fields; decided by {self.fields['changed_by']!r}"
        opened = {} if text is None else canonical(text)
        _must(set(opened) <= set(hashes), "the record must have a hash of each opened field")
        for name, digest in hashes.items():
            if name in opened:
                computed = hash_of(opened[name])
                _must(computed == digest, f"SHA-256(nonce, {name}) is {computed}, but the record has another hash")
                self.fields[name] = opened[name]["value"]
        for name in IDS:
            _must(type(self.fields.get(name, "")) is str, f"{name} is invalid")
        for name in RESULTS & set(opened):
            self.fields.update({member: self.fields[name][member] for member in RESULT})
            self._check_kinds(RESULT)
            _must(self.fields["total"] is not None, "the total is missing")
        if not opened:
            return SKIPPED, f"all fields are closed: {', '.join(sorted(hashes))}"
        closed = ", ".join(sorted(set(hashes) - set(opened)))
        return OK, f"decided by {self.fields.get('changed_by')!r}; closed: {closed or 'nothing'}"

    @property
    def is_scored(self) -> bool:
        return self.fields.get("model_id") is not None

    def serialize(self, value: Any) -> str:
        """Serialize a value to JSON in the canonical form of the record's version."""
        return jcs(value) if self.fields.get("record_version", 1) >= 4 else serialize_before_4(value)

    def definition(self) -> tuple[str, str]:
        text = self.texts["definition"]
        if not self.is_scored:
            _must(
                text is None and self.texts["facts"] is None, "a record without a score can't have a scorecard or facts"
            )
            return SKIPPED, "nothing was scored"
        _must(text is not None, "the scorecard of the record is missing")
        digest = hashlib.sha256(str(text).encode()).hexdigest()
        _must(digest == self.fields["definition_sha256"], f"the SHA-256 is {digest}, but the record has another hash")
        self.card = canonical(text)
        return OK, f"model {self.fields['model_id']}, version {self.fields['model_version']}, SHA-256 {digest}"

    def certificate(self) -> tuple[str, str]:
        text, expected = self.texts["certificate"], self.fields.get("certificate_sha256")
        if expected is None:
            _must(text is None, "the record has no certificate")
            return OK, "the record has no certificate"
        _must(text is not None, "the certificate of the record is missing")
        digest = hashlib.sha256(str(text).encode()).hexdigest()
        _must(digest == expected, f"the SHA-256 is {digest}, but the record has another hash")
        certificate = canonical(text)
        for name, computed in bounds_of(self.card).items():
            value = certificate[name]
            _must(value == computed, f"{name} is {value!r}, but the computed value is {computed!r}")
        _must(certificate["declines_without_reason"] == 0, "the scorecard can decline without a reason")
        return OK, f"{certificate['combinations']} combinations, none declined without a reason, SHA-256 {digest}"

    def facts(self) -> tuple[str, str]:
        if not self.is_scored:
            return SKIPPED, "nothing was scored"
        if self.texts["facts"] is None:
            return SKIPPED, "they are erased, or not open to the applicant: the score cannot be computed again"
        facts, digest = self._opened("facts", "nonce")
        _must(isinstance(facts, dict), "the facts must be a JSON object")
        closed_areas = [area for area in PRIVATE if "share" in self.fields and area not in self.fields["share"]]
        unshared = [
            name for name, value in facts.items() if value is not None and name.partition(".")[0] in closed_areas
        ]
        _must(not unshared, f"{', '.join(unshared)}: the applicant did not share this with the lender")
        self.computed = score(self.card, facts, self.fields.get("record_version", 1))
        return OK, f"{len(facts)} facts, hashed with the nonce {digest}"

    def sources(self) -> tuple[str, str]:
        recorded = self.fields.get("facts")
        if recorded is None:
            _must(self.texts["facts_opening"] is None, "a record without facts can't have an opening of facts")
            return OK, "the record has no facts"
        _must(self.is_scored, "a record with facts must have a score")
        text = self.texts["facts_opening"]
        opened = {} if text is None else canonical(text)
        _must(set(opened) <= {fact["name"] for fact in recorded}, "each opened fact must be in the record")
        facts = None if self.texts["facts"] is None else canonical(self.texts["facts"])
        for fact in recorded:
            name, source = fact["name"], fact["source"]
            area = re.split("[.#]", name)[0]
            sources = {SOURCES.get(name, SOURCES.get(area, "platform")), "corrected"}
            _must(source in sources, f"{name} can't come from {source!r}")
            _must(not (self.card.get("verified") and source == "applicant"), f"{name}: the card reads no claims")
            if name in opened:
                _must(
                    hash_of(opened[name]) == fact["sha256"],
                    f"the value of {name} does not match its hash in the record",
                )
                _must(
                    facts is None or facts.get(name) == opened[name]["value"],
                    f"the value of {name} differs from the scored value",
                )
        origins = ", ".join(sorted({fact["source"] for fact in recorded}))
        return OK, f"{len(recorded)} facts from {origins}; {len(opened)} open"

    def _opened(self, what: str, nonce_name: str) -> tuple[Any, str]:
        """Check the salted SHA-256 of a text of the bundle against the record. Return the parsed text and the hash."""
        nonce, text = decode_base64(str(self.texts[nonce_name])), str(self.texts[what])
        _must(len(nonce) == NONCE_BYTES, f"the nonce must have {NONCE_BYTES} bytes")
        digest = hashlib.sha256(nonce + text.encode()).hexdigest()
        _must(
            digest == self.fields[f"{what}_sha256"],
            f"SHA-256(nonce, {what}) is {digest}, but the record has another hash",
        )
        return canonical(text), digest

    def total(self) -> tuple[str, str]:
        return self._same("total", "total")

    def outcome(self) -> tuple[str, str]:
        return self._same("outcome", "outcome")

    def reasons(self) -> tuple[str, str]:
        return self._same("score_reasons", "reasons")

    def _same(self, name: str, member: str) -> tuple[str, str]:
        if name not in self.fields:
            return SKIPPED, "the result is closed"
        if self.computed is None:
            return SKIPPED, "not computed again"
        recorded, computed = self.fields[name], getattr(self.computed, member)
        _must(recorded == computed, f"the record has {recorded!r}, but the computed value is {computed!r}")
        return OK, f"{computed!r}, computed again"

    def decision(self) -> tuple[str, str]:
        fields = self.fields
        if not fields.get("automated"):
            return OK, "a person took part in the decision"
        _must(self.is_scored, "a decision without a person requires a score")
        if "outcome" not in fields or "reasons" not in fields:
            return SKIPPED, "the decision was automatic, but the result or its reasons are closed"
        wanted = {"approve": "approved", "decline": "rejected"}.get(fields["outcome"])
        _must(fields["decision"] == wanted, f"the outcome {fields['outcome']!r} can't result in {fields['decision']!r}")
        reasons = fields["score_reasons"] if wanted == "rejected" else []
        _must(fields["reasons"] == reasons, "the reasons differ from the score's reasons")
        if wanted == "rejected" and self.computed is not None and fields.get("record_version", 1) >= 4:
            _must(not self.computed.rests_on_missing, "only a person can decline because of a missing value")
        if self.card is not None and wanted == "approved" and fields.get("terms") is not None:
            check_price(self.card, fields["total"], fields["terms"])
        return OK, "the decision was automatic, and follows from the score"

    def terms(self) -> tuple[str, str]:
        terms = self.fields.get("terms")
        if terms is None:
            return OK, "the record has no loan"
        _must(self.fields["decision"] == "approved", "only an approval can have a loan")
        _must(terms["application_id"] == self.fields["application_id"], "the loan belongs to another application")
        digest = hashlib.sha256(self.serialize(terms).encode()).hexdigest()
        _must(
            digest == self.fields["terms_sha256"],
            f"the SHA-256 of the terms is {digest}, but the record has another hash",
        )
        loan = Loan(terms, self.fields["terms_as_of"])
        for name, computed in loan.figures().items():
            _must(
                is_same_value(terms[name], computed),
                f"{name} is {terms[name]!r}, but the computed value is {computed!r}",
            )
        schedule = None if loan.months is None else hashlib.sha256(jcs(loan.schedule).encode()).hexdigest()
        _must(
            schedule == self.fields["schedule_sha256"],
            f"the SHA-256 of the schedule is {schedule}, but the record has another hash",
        )
        if loan.months is None:
            return OK, f"a line of credit of {loan.amount} cents at {loan.rate} %"
        words = f"{loan.amount} cents at {loan.rate} %, {loan.months} months from {loan.start}"
        return OK, f"{words}: an annual percentage rate of {terms['apr_percent']} %, computed again"

    def applicants(self) -> tuple[str, str]:
        expected, text = self.fields.get("applicants_sha256"), self.texts["applicants"]
        if expected is None:
            _must(text is None, "a record without applicants can't have data of applicants")
            return OK, "the record has no applicants"
        if text is None:
            return SKIPPED, "the applicants' data was erased, or changed after the decision"
        persons, digest = self._opened("applicants", "applicants_nonce")
        _must(isinstance(persons, list) and persons, "the applicants must be a JSON array")
        return OK, f"{len(persons)}, hashed with the nonce {digest}"

    def proof(self) -> tuple[str, str]:
        text = self.texts["proof_file"]
        if text is None:
            _must(self.ledger_key is None, "the record is not in the ledger yet: request the bundle again later")
            return SKIPPED, "the record is not in the ledger yet: request the bundle again later"
        self.proven = Proof(text)
        return OK, f"entry {self.proven.index} of {self.proven.size} of {self.proven.origin}"

    def inclusion(self) -> tuple[str, str]:
        if self.texts["proof_file"] is None:
            return SKIPPED, "not in the ledger yet"
        digest = hashlib.sha256(str(self.texts["record"]).encode()).digest()
        leaf = hashlib.sha256(b"\x00" + digest + self.proven.extra).digest()
        root = root_from_path(leaf, self.proven.index, self.proven.size, self.proven.path)
        _must(root == self.proven.root, "the path from the record does not lead to the root of the checkpoint")
        return OK, f"the record, SHA-256 {digest.hex()}, is entry {self.proven.index} under root {root.hex()}"

    def commitment(self) -> tuple[str, str]:
        opening = self.texts["opening"]
        if opening is None:
            is_open = self.texts["signature"] is not None and self.texts["proof_file"] is not None
            _must(not is_open, "the opening of the leaf is missing")
            return SKIPPED, "not in the ledger yet, or from before bundles opened it"
        _must(re.match(r"[0-9a-f]{32}\Z", opening["nonce"]), "the nonce must be 16 bytes in hex")
        digest = hashlib.sha256(self.texts["record"].encode()).hexdigest()
        leaf = {name: opening[name] for name in ("report_type", "timestamp", "user_id")}
        committed = bytes.fromhex(opening["nonce"]) + jcs({"hash": digest, **leaf}).encode()
        _must(hashlib.sha256(committed).digest() == self.proven.extra, "the opening does not match the leaf")
        _must(
            leaf["report_type"] == REPORT_TYPE, f"the report_type is {leaf['report_type']!r} instead of {REPORT_TYPE!r}"
        )
        if "consumer_id" not in self.fields:
            return SKIPPED, f"anchored as a decision about {leaf['user_id']!r}; the record's consumer is closed"
        _must(
            leaf["user_id"] == self.fields["consumer_id"],
            f"the leaf belongs to {leaf['user_id']!r}, not to the record's consumer",
        )
        return OK, f"anchored as a decision about {leaf['user_id']!r} at {leaf['timestamp']}"

    def signature(self) -> tuple[str, str]:
        if self.texts["proof_file"] is None:
            return SKIPPED, "not in the ledger yet"
        if self.ledger_key is None:
            return SKIPPED, "not checked: without the ledger's key, the tree could be a forgery"
        return OK, f"signed by {self.proven.check_signature(self.ledger_key)}"


class Key(NamedTuple):
    """A public key of the platform with its validity. `begins` is empty if you supplied only the key in base64."""

    public: bytes
    begins: str
    ends: str | None


def keys_of(texts: Sequence[str]) -> dict[str, Key]:
    """Return the platform's keys by ID. A key with a validity replaces the same key without a validity."""
    keys = {}
    for text in sorted(texts, key=lambda text: "{" in text):
        undated: dict[str, Any] = {"public_key": text.strip(), "valid_from": "", "valid_until": None}
        for entry in parse(text)["keys"] if "{" in text else [undated]:
            public, begins, ends = decode_base64(entry["public_key"]), entry["valid_from"], entry["valid_until"]
            _must(len(public) == 32, "a platform key must be an Ed25519 key")
            key_id = hashlib.sha256(public).hexdigest()[:16]
            _must(entry.get("id", key_id) == key_id, "the id of a platform key does not match the key")
            _must(entry is undated or TIME.match(begins), "a platform key requires its time")
            _must(ends is None or TIME.match(ends), "a platform key requires its time")
            keys[key_id] = Key(public, begins, ends)
    return keys


DEPTH_MAX = 200
# From version 2 on, a record has either all of these fields about the score, or none.
OF_THE_SCORE = {"model_id": int, "model_version": int, "definition_sha256": str, "facts_sha256": str}
RESULT = {"total": int, "outcome": str, "score_reasons": list}
# From version 4 on, the record has only hashes of these values and of the result. Only the lender can read the result
# `person.score`.
IDS = ("consumer_id", "changed_by")
CLOSED = {*IDS, "application_data_sha256", "counteroffer", "reason", "reasons"}
RESULTS = {"score", "person.score"}


def hash_of(opening: dict[str, Any]) -> str:
    """Return the SHA-256 of an opening's nonce and value."""
    nonce = decode_base64(opening["nonce"])
    _must(len(nonce) == NONCE_BYTES, f"a nonce must have {NONCE_BYTES} bytes")
    return hashlib.sha256(nonce + jcs(opening["value"]).encode()).hexdigest()


# --- Canonical JSON: compact, keys sorted, UTF-8 ----------------------------------------------------------------------


class RawNumber(str):
    """A number with a decimal point or an exponent, in its original spelling.

    Equal numbers can have different spellings.
    """

    __slots__ = ()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice")
    return members


def _depth(text: str) -> int:
    """Return the maximum nesting depth of a JSON text. Deep nesting could crash the recursive decoder."""
    deepest = depth = 0
    in_string = escaped = False
    for letter in text:
        if in_string:
            in_string = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_string = True
        elif letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def parse(text: str) -> Any:
    if _depth(text) > DEPTH_MAX:
        raise ValueError(f"the document has more than {DEPTH_MAX} levels of nesting")
    return json.loads(text, parse_float=RawNumber, parse_constant=_no_constant, object_pairs_hook=_no_twins)


NOT_CANONICAL = "the JSON is not canonical: compact, with sorted keys"


def canonical(text: str | None) -> Any:
    """Parse canonical JSON of RFC 8785 or of the records before version 4. Raises CheckFailed for other forms.

    Both forms are accepted, because scorecards, facts, and applicants can be older than the record.
    """
    value = parse(str(text))
    _must(text in (serialize_before_4(value), jcs(value)), NOT_CANONICAL)
    return value


def serialize_before_4(value: Any) -> str:
    """Serialize to JSON in the form before record version 4: keys sorted by code points, numbers as received."""
    if isinstance(value, RawNumber):
        return str(value)
    if isinstance(value, dict):
        members = (f"{serialize_before_4(name)}:{serialize_before_4(value[name])}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(serialize_before_4, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def jcs(value: Any) -> str:
    """Serialize to JSON in the form of RFC 8785: keys sorted by UTF-16 code units, numbers as in ECMAScript."""
    if isinstance(value, RawNumber) or (type(value) is int and abs(value) >= 2**53):
        return ecmascript(float(value))
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{jcs(name)}:{jcs(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def ecmascript(value: float) -> str:
    """Format a number as in ECMAScript's Number::toString. Raises ValueError for an infinity."""
    if math.isinf(value):
        raise ValueError("a number is too large")
    if value == 0:
        return "0"
    negative, numerals, exponent = Decimal(repr(value)).as_tuple()
    digits = "".join(map(str, numerals))
    # `point` is the position of the decimal point, counted from the first digit.
    point = len(digits) + int(exponent)
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        whole_digits, rest = digits[:point].ljust(point, "0"), digits[point:]
        text = f"{whole_digits}.{rest}" if rest else whole_digits
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + (f".{digits[1:]}" if digits[1:] else "") + f"e{point - 1:+d}"
    return "-" * negative + text


def decode_base64(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise CheckFailed("the value is not base64") from error
    _must(base64.b64encode(raw).decode() == text, "the base64 is not canonical")
    return raw


# --- The score: exact decimals, no binary fractions -------------------------------------------------------------------

# Sums and ratios are rounded to 50 digits, half to even.
FIFTY_DIGITS = Context(prec=50, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", re.ASCII)
# Facts with these names are claims of the applicant.
CLAIMED = re.compile(r"application_data[.#]")


class Score(NamedTuple):
    """The result of a scorecard. `rests_on_missing` is true if a value was missing and no knockout applied."""

    total: int
    outcome: str
    reasons: list[Any]
    rests_on_missing: bool


def score(card: Any, facts: dict[str, Any], record_version: int = 4) -> Score:
    """Compute a scorecard by the rules of a record version. An invalid scorecard raises a built-in exception.

    In a verified scorecard, the applicant's claims count as missing. From version 4 on, strings are compared in NFC,
    and a value of the wrong type leads to "refer".
    """
    fold = in_nfc if record_version >= 4 else unchanged
    if card.get("verified"):
        facts = {name: value for name, value in facts.items() if not CLAIMED.match(name)}
    values = {part["name"]: fold(value_of(part, facts)) for part in card["inputs"]}
    knockout = None
    for part in card.get("knockouts", []):
        value = values[part["input"]]
        if knockout is None and value is not None and knockout_applies(part, value, fold):
            knockout = part
    total, losses = whole(card["base_points"]), {}  # type: ignore[var-annotated]
    for part in card["characteristics"]:
        points = whole(bin_for(part["bins"], values[part["input"]], fold)["points"])
        total += points
        loss, reason = losses.get(text_of(part["reason"]), (0, part["reason"]))
        losses[text_of(part["reason"])] = (loss + whole(part["baseline"]) - points, reason)
    if card.get("range") is not None:
        lowest, highest = map(whole, card["range"])
        total = min(max(total, lowest), highest)
    outcome = next(part["outcome"] for part in card["outcomes"] if "from" not in part or total >= whole(part["from"]))
    needed = [part["input"] for part in [*card["characteristics"], *card.get("knockouts", [])]]
    is_missing = any(values[name] is None for name in needed)
    used = [part for part in card["inputs"] if part["name"] in needed]
    if knockout is not None:
        outcome = knockout["outcome"]
    elif (outcome == "approve" and is_missing) or (record_version >= 4 and has_unreadable(used, facts)):
        outcome = "refer"
    # Python's sort preserves the declared order of equal losses.
    lost = sorted((part for part in losses.values() if part[0] > 0), key=lambda part: -part[0])
    reasons = [reason for _, reason in lost]
    if knockout is not None:
        reasons = [knockout["reason"], *(part for part in reasons if text_of(part) != text_of(knockout["reason"]))]
    return Score(total, outcome, reasons[:4], is_missing and knockout is None)


def bounds_of(card: Any) -> dict[str, Any]:
    """Compute the certificate's number of combinations, lowest total, and highest total from the scorecard."""
    points = [[whole(choice["points"]) for choice in scored["bins"]] for scored in card["characteristics"]]
    lowest, highest = (whole(card["base_points"]) + sum(map(extreme, points)) for extreme in (min, max))
    if card.get("range") is not None:
        bottom, top = map(whole, card["range"])
        lowest, highest = (min(max(total, bottom), top) for total in (lowest, highest))
    combinations = math.prod(map(len, points))
    large = str(combinations) if combinations >= 2**53 else combinations
    return {"combinations": large, "total_min": lowest, "total_max": highest}


def unchanged(value: Any) -> Any:
    return value


def in_nfc(value: Any) -> Any:
    """Normalize a string, or the strings of a list, to NFC. Return any other value unchanged."""
    if type(value) is list:
        return [in_nfc(inner) for inner in value]
    return unicodedata.normalize("NFC", value) if type(value) is str else value


def has_unreadable(inputs: list[dict[str, Any]], facts: dict[str, Any]) -> bool:
    """Return whether a fact is present but has a type that the input can't read."""
    for declared in inputs:
        names = [declared[name] for name in ("from", "months_since") if name in declared]
        names = names or declared.get("first_of") or declared.get("ratio") or declared["sum"]
        kind = "day" if "months_since" in declared else declared.get("type", "number")
        for name in names:
            fact = facts.get(name)
            if fact is not None and READERS[kind](fact) is None:
                return True
            if fact is not None and "first_of" in declared:
                break
    return False


def text_of(reason: Any) -> str:
    """Return the key that identifies a reason: the code, or the text of an `other` reason."""
    return reason if isinstance(reason, str) else "other: " + reason["text"]


def whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("points are whole numbers")
    return value


def number(value: Any) -> Decimal | None:
    """Convert a JSON number to a decimal. Return None for all other types, including booleans."""
    if isinstance(value, RawNumber) or type(value) is int:
        return Decimal(value)
    return None


def day(value: Any) -> date | None:
    if type(value) is not str or DAY.match(value) is None:
        return None
    year, month, number_of_day = map(int, value.split("-"))
    try:
        return date(year, month, number_of_day)
    except ValueError:
        return None


READERS: dict[str, Callable[[Any], Any]] = {
    "number": number,
    "day": day,
    "text": lambda value: value if type(value) is str else None,
    "boolean": lambda value: value if type(value) is bool else None,
}


def value_of(declared: dict[str, Any], facts: dict[str, Any]) -> Any:
    """Return the value of an input, or None if it is missing."""
    if "from" in declared:
        return READERS[declared["type"]](facts.get(declared["from"]))
    if "first_of" in declared:
        read = [READERS[declared["type"]](facts.get(name)) for name in declared["first_of"]]
        return next((value for value in read if value is not None), None)
    if "months_since" in declared:
        begin, end = day(facts.get(declared["months_since"])), day(facts.get("scored_on"))
        if begin is None or end is None or end < begin:
            return None
        months = (end.year * 12 + end.month) - (begin.year * 12 + begin.month)
        return Decimal(months - 1 if end.day < begin.day else months)
    return combined(declared, [number(facts.get(name)) for name in declared.get("ratio") or declared["sum"]])


def combined(declared: dict[str, Any], numbers: list[Decimal | None]) -> Decimal | None:
    """Return a ratio or a sum, or None if a part is missing."""
    if any(value is None for value in numbers):
        return None
    if "ratio" in declared:
        part, of = numbers
        return FIFTY_DIGITS.divide(part, of) if of else None  # type: ignore[arg-type]
    total = Decimal(0)
    for value in numbers:
        total = FIFTY_DIGITS.add(total, value)  # type: ignore[arg-type]
    return total


def bound(value: Any) -> Decimal:
    """Convert a threshold, which is an integer or a decimal string, to a decimal."""
    if isinstance(value, RawNumber) or type(value) not in {int, str}:
        raise TypeError("thresholds are whole numbers or texts")
    return Decimal(value)


def knockout_applies(knockout: dict[str, Any], value: Any, fold: Callable[[Any], Any]) -> bool:
    if "below" in knockout:
        return bool(value < bound(knockout["below"]))
    if "from" in knockout:
        return bool(value >= bound(knockout["from"]))
    return value in fold(knockout["in"] if "in" in knockout else [knockout["equals"]])


def bin_for(bins: list[dict[str, Any]], value: Any, fold: Callable[[Any], Any]) -> dict[str, Any]:
    if value is None:
        return next(choice for choice in bins if choice.get("missing"))
    for choice in bins:
        if "below" in choice and value < bound(choice["below"]):
            return choice
        if "in" in choice and value in fold(choice["in"]):
            return choice
    return next(choice for choice in bins if not {"below", "in", "missing"} & set(choice))


def check_price(card: Any, total: int, terms: Any) -> None:
    """Raise CheckFailed if a loan violates the scorecard's price for a total.

    A scorecard without prices always passes.
    """
    approval = next(item for item in card["outcomes"] if item["outcome"] == "approve")
    if not approval.get("prices"):
        return
    reached = [item for item in approval["prices"] if total >= whole(item["from_total"])]
    _must(reached, "the scorecard has no price for this total")
    price = reached[0]
    _must(number(terms["rate_percent"]) == bound(price["rate_percent"]), "the rate differs from the score's price")
    most = price.get("amount_max_cents")
    _must(most is None or terms["amount_cents"] <= whole(most), "the amount exceeds the limit of the score's price")


# --- The cost of a loan: 12 CFR 1026, Appendix J, exact except for rates, which bisection finds -----------------------

RATE_MAX_PERCENT = 1_000_000
EU_METHOD = "eu_annex_iii"
FIGURES = (
    "payment_cents", "final_payment_cents", "total_of_payments_cents", "finance_charge_cents", "amount_financed_cents",
    "apr_percent", "method",
)  # fmt: skip


def is_same_value(recorded: Any, computed: Any) -> bool:
    """Return whether the record's value equals the computed value. Different spellings of the same rate are equal."""
    if isinstance(computed, Decimal):
        return number(recorded) == computed
    return type(recorded) is type(computed) and bool(recorded == computed)


def half_up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def month_later(start: date, months: int, on: int) -> date:
    """Return the day `on` in the month that is `months` after `start`, or the last day of a shorter month."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    last = (date(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(on, last))


def months_between(start: date, end: date, on: int) -> tuple[int, int]:
    """Count whole months back from `end`, then the remaining days to `start`. Months end on the day `on`."""
    months = (end.year - start.year) * 12 + end.month - start.month
    while month_later(end, -months, on) < start:
        months -= 1
    return months, (month_later(end, -months, on) - start).days


class Loan:
    """A loan in the record, with the figures that are computed from it."""

    def __init__(self, terms: Any, as_of: str) -> None:
        self.amount, self.fee = whole(terms["amount_cents"]), whole(terms["fee_cents"])
        rate, start = number(terms["rate_percent"]), day(as_of)
        _must(rate is not None and rate >= 0 and start is not None, "the rate or the first day is invalid")
        self.rate, self.start = cast("Decimal", rate), cast("date", start)
        self.months = None if terms["term_months"] is None else whole(terms["term_months"])
        _must(0 <= self.fee < self.amount <= 10**12, "the amount or the fee is invalid")
        _must(self.months is None or 0 < self.months <= 600, "the term is invalid")
        first = terms["first_payment_on"]
        self.first = day(first)
        _must(
            first is None or (self.first is not None and self.first > self.start),
            "the day of the first payment is invalid",
        )
        self.schedule = [] if self.months is None else self.amortised(self.months)
        self.method = terms["method"]

    def amortised(self, months: int) -> list[dict[str, Any]]:
        """Return the schedule of level payments. The last payment repays the remaining balance."""
        first = self.first or month_later(self.start, 1, self.start.day)
        on = first.day if self.first else self.start.day
        self.dates = [month_later(first, number_of, on) for number_of in range(months)]
        whole_months, days = months_between(self.start, first, self.due_day())
        period = whole_months + Fraction(days, 30)
        rate = Fraction(self.rate) / 1200
        level = self.level_payment(months, rate, period)
        owed = self.amount + half_up(self.amount * period * rate)
        while half_up((owed - level) * rate) > level:
            level += 1
        balance, rows = self.amount, []
        for position, due in enumerate(self.dates, start=1):
            interest = half_up(balance * period * rate)
            paid = balance + interest if position == months else min(level, balance + interest)
            balance += interest - paid
            rows.append(
                {
                    "number": position,
                    "due_on": due.isoformat(),
                    "payment_cents": paid,
                    "interest_cents": interest,
                    "principal_cents": paid - interest,
                    "balance_cents": balance,
                }
            )
            if balance == 0:
                break
            period = Fraction(1)
        self.dates = self.dates[: len(rows)]
        return rows

    def level_payment(self, months: int, rate: Fraction, period: Fraction) -> int:
        """Return the level payment, rounded half up to the cent. The payment is at least one cent."""
        if rate == 0:
            return max(1, half_up(Fraction(self.amount, months)))
        # 50 digits of the power are more precise than the cents of any loan. A fraction that is less than 1e-12 away
        # from a half counts as a half.
        with localcontext(FIFTY_DIGITS):
            growth = 1 + Decimal(rate.numerator) / Decimal(rate.denominator)
            worth = (growth**months - 1) / (growth ** (months - 1))
        exact = self.amount * (1 + rate * period) * rate / Fraction(worth)
        return max(1, half_up(Fraction(round(exact * 10**12), 10**12)))

    def due_day(self) -> int:
        """Return the day of the month on which the payments fall due.

        If the loan starts on a later day of the month and all due dates fit this day, return this day.
        """
        highest = max(due.day for due in self.dates)
        on = max(highest, self.start.day)
        fits = all(due == month_later(due, 0, on) for due in self.dates)
        return on if fits else highest

    def figures(self) -> dict[str, Any]:
        """Compute the cost figures of the loan. They are None for a line of credit."""
        if self.months is None:
            return {**dict.fromkeys(FIGURES), "method": EU_METHOD if self.method == EU_METHOD else None}
        paid = [row["payment_cents"] for row in self.schedule]
        financed, total = self.amount - self.fee, sum(paid)
        is_eu = self.method == EU_METHOD
        rate = self.effective_rate(financed, paid) if is_eu else self.annual_rate(financed, paid)
        method = EU_METHOD if is_eu else "us_appendix_j"
        return dict(zip(FIGURES, (paid[0], paid[-1], total, total - financed, financed, rate, method), strict=True))

    def effective_rate(self, financed: int, paid: list[int]) -> Decimal:
        """Compute the rate of Directive (EU) 2023/2225, Annex III, by bisection, rounded half up to four decimals."""
        on = self.due_day()
        spans = [months_between(self.start, due, on) for due in self.dates]
        _must(sum(paid) >= financed, "the sum of the payments is less than the amount financed")
        with localcontext(FIFTY_DIGITS):
            years = []
            for months, days in spans:
                end = self.start + timedelta(days=days)
                years.append(Decimal(months) / 12 + Decimal(days) / (end - month_later(end, -12, end.day)).days)

            def worth(percent: Decimal) -> Decimal:
                growth = (1 + percent / 100).ln()
                return sum(
                    (cents * (-growth * year).exp() for cents, year in zip(paid, years, strict=True)), Decimal(0)
                )

            low, high = Decimal(0), Decimal(RATE_MAX_PERCENT)
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if worth(middle) > financed else (low, middle)
            return high.quantize(Decimal("0.0001"), ROUND_HALF_UP)

    def unit(self) -> tuple[Fraction, list[tuple[int, Fraction]]]:
        """Return the unit-periods per year, and for each payment the whole unit-periods and the remaining fraction."""
        on = self.due_day()
        spans = [months_between(self.start, due, on) for due in self.dates]
        if len(self.dates) == 1:
            (months, days), elapsed = spans[0], (self.dates[0] - self.start).days
            per_year = Fraction(365, elapsed) if days or not months else Fraction(12, months)
            return per_year, [(1, Fraction(0))]
        length, in_months = 30, True
        if len(self.dates) == 2 and spans[0] != (1, 0):
            # No period occurs twice, so the unit-period is the standard period nearest to the mean. If two are equally
            # near, it is the shorter period.
            mean = Fraction((self.dates[1] - self.start).days, 2)
            known = [(15, True), *((30 * n, True) for n in range(1, 12)), *((7 * n, False) for n in range(1, 53))]
            length, in_months = min(known, key=lambda period: (abs(period[0] - mean), period[0]))
        elapsed_days = [
            30 * months + days if in_months else (due - self.start).days
            for (months, days), due in zip(spans, self.dates, strict=True)
        ]
        per_year = Fraction(360, length) if in_months else Fraction(364, length)
        return per_year, [(days // length, Fraction(days % length, length)) for days in elapsed_days]

    def annual_rate(self, financed: int, paid: list[int]) -> Decimal:
        """Compute the rate of 12 CFR 1026, Appendix J, by bisection, rounded half up to four decimals."""
        per_year, periods = self.unit()
        _must(sum(paid) >= financed, "the sum of the payments is less than the amount financed")
        with localcontext(FIFTY_DIGITS):
            scale = 100 * Decimal(per_year.numerator) / per_year.denominator

            def worth(percent: Decimal) -> Decimal:
                discount = 1 / (1 + percent / scale)
                total, power, reached = Decimal(0), Decimal(1), 0
                for cents, (full, part) in zip(paid, periods, strict=True):
                    power *= discount ** (full - reached)
                    reached = full
                    total += cents * power / (1 + percent / scale * part.numerator / part.denominator)
                return total

            low, high = Decimal(0), Decimal(RATE_MAX_PERCENT)
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if worth(middle) > financed else (low, middle)
            return high.quantize(Decimal("0.0001"), ROUND_HALF_UP)


# --- The ledger: C2SP tlog-proof, tlog-checkpoint and signed-note -----------------------------------------------------


class Proof:
    """A parsed proof file, before its verification. Raises CheckFailed if the file is not in canonical form."""

    def __init__(self, text: str) -> None:
        head, separator, note = text.partition("\n\n")
        lines = head.split("\n")
        _must(separator and lines.pop(0) == "c2sp.org/tlog-proof@v1", "the file does not begin as a proof file")
        _must(len(lines) >= 2 and lines[0].startswith("extra "), "the proof has no line with the commitment")
        self.extra = _hash(lines.pop(0)[len("extra ") :])
        _must(lines[0].startswith("index "), "the proof has no index")
        self.index = _count(lines.pop(0)[len("index ") :])
        _must(len(lines) <= 63, "the path of the proof is too long")
        self.path = [_hash(line) for line in lines]
        body, separator, block = note.rpartition("\n\n")
        _must(separator and block.endswith("\n"), "the checkpoint has no signature")
        self.signed = body + "\n"
        self.signatures = [line.split(" ") for line in block[:-1].split("\n")]
        _must(len(self.signatures) <= 64, "the checkpoint has too many signatures")
        for line in self.signatures:
            _must(len(line) == 3 and line[0] == "\u2014", "a signature line is malformed")
        head_lines = self.signed.split("\n")
        _must(len(head_lines) >= 4 and all(head_lines[:-1]), "the checkpoint must be a tree head")
        self.origin, self.size, self.root = head_lines[0], _count(head_lines[1]), _hash(head_lines[2])
        _must(self.index < self.size, f"a tree of {self.size} entries has no entry {self.index}")

    def check_signature(self, key: str) -> str:
        """Return the name of the key that signed the checkpoint. Raises CheckFailed without a valid signature."""
        parts = key.strip().split("+", 2)
        _must(len(parts) == 3, "the ledger's key must have the form NAME+ID+KEY")
        name, raw = parts[0], decode_base64(parts[2])
        _must(len(raw) == 33 and raw[0] == 1, "the ledger's key must be an Ed25519 key")
        key_id = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
        _must(key_id.hex() == parts[1], "the id in the ledger's key does not match the key")
        _must(self.origin == name, f"the checkpoint belongs to {self.origin}, not to {name}")
        signatures = [decode_base64(text) for _, signer, text in self.signatures if signer == name]
        own = [signature[4:] for signature in signatures if signature[:4] == key_id]
        _must(own, f"{name} has not signed the checkpoint with this key")
        _must(
            all(ed25519(raw[1:], self.signed.encode(), signature) for signature in own),
            f"the signature of {name} is wrong",
        )
        return name


def _hash(text: str) -> bytes:
    raw = decode_base64(text)
    _must(len(raw) == 32, "a hash must have the length of SHA-256")
    return raw


def _count(text: str) -> int:
    _must(re.match(r"(0|[1-9][0-9]{0,18})\Z", text, re.ASCII), "a number is malformed")
    return int(text)


def root_from_path(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """Compute the root from a leaf and its path (RFC 6962, section 2.1.1), from the largest subtree down."""
    if size == 1:
        _must(not path, "the path is too long")
        return leaf
    _must(path, "the path is too short")
    left = 1 << ((size - 1).bit_length() - 1)
    if index < left:
        return hashlib.sha256(b"\x01" + root_from_path(leaf, index, left, path[:-1]) + path[-1]).digest()
    return hashlib.sha256(b"\x01" + path[-1] + root_from_path(leaf, index - left, size - left, path[:-1])).digest()


# --- Ed25519 (RFC 8032, section 5.1): only verification, so there are no secrets here ---------------------------------

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
ROOT_OF_MINUS_ONE = pow(2, (PRIME - 1) // 4, PRIME)


def add(p: Any, q: Any) -> Any:
    """Add two points in extended coordinates: x, y, z, and x·y/z."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * CURVE_D % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def times(factor: int, point: Any) -> Any:
    total = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            total = add(total, point)
        point, factor = add(point, point), factor >> 1
    return total


def same(p: Any, q: Any) -> bool:
    across, along = p[0] * q[2] - q[0] * p[2], p[1] * q[2] - q[1] * p[2]
    return bool(across % PRIME == along % PRIME == 0)


def point_of(raw: bytes) -> Any:
    """Decode a point from 32 bytes. Return None for an invalid encoding."""
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * ROOT_OF_MINUS_ONE % PRIME
    if (x * x - square) % PRIME or (x == 0 and sign):
        return None
    x = PRIME - x if x & 1 != sign else x
    return x, y, 1, x * y % PRIME


BASE = point_of((4 * pow(5, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little"))


def ed25519(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether a signature is valid for this key and message."""
    if len(signature) != 64:
        return False
    key, commitment = point_of(public_key), point_of(signature[:32])
    factor = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or factor >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    return same(times(factor, BASE), add(commitment, times(challenge, key)))


# --- The command ------------------------------------------------------------------------------------------------------


def _print_line(text: str) -> None:
    """Print a line. Characters that a terminal could interpret are escaped."""
    sys.stdout.write("".join(letter if " " <= letter <= "~" else ascii(letter)[1:-1] for letter in text) + "\n")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check a decision from its bundle, offline.")
    parser.add_argument("bundle", help="the response of GET /v1/applications/{id}/decision-bundle, as a file")
    add_keys(parser)
    options = parser.parse_args(arguments)
    try:
        steps = verify(read(options.bundle), options.ledger_key, read_keys(options.platform_key))
    except OSError as error:
        _print_line(f"FAIL bundle: {error.strerror}")
        return 1
    for step in steps:
        _print_line(f"{step.state:4} {step.name}: {step.detail}")
    _print_line(sentence_about(steps))
    return STATUS[outcome_of(steps)]


def add_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ledger-key", metavar="NAME+ID+KEY", help="the ledger's key: `vkey` at its /key")
    parser.add_argument(
        "--platform-key", action="append", default=[], metavar="FILE",
        help="the platform's keys: its /.well-known/record-keys.json in a file, or a public key in base64; repeatable",
    )  # fmt: skip


def read(path: str) -> bytes:
    """Read a file, but at most one byte more than the maximum size of a bundle."""
    with Path(path).open("rb") as file:
        return file.read(FILE_MAX_BYTES + 1)


def read_keys(values: Sequence[str]) -> list[str]:
    """Convert public keys and file names to the form that `verify` accepts."""
    return [read(value).decode("utf-8", "replace") if Path(value).is_file() else value for value in values]


if __name__ == "__main__":
    sys.exit(main())

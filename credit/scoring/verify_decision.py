"""Check a decision about credit yourself, from the bundle that you were given.

    python verify_decision.py bundle.json --ledger-key 'NAME+ID+KEY'

This is one file for Python 3.9 or newer. It needs nothing else: no package, no network, nobody's word. By purpose it
shares no code with what decided: a fault there would only be repeated here. It checks, in this order:

    bundle      the file holds the texts that a bundle has
    record      the record of the decision is in its one spelling
    definition  the scorecard is the one whose SHA-256 the record names
    facts       SHA-256(nonce, facts) is what the record names
    total       the scorecard, computed again, gives the record's total,
    outcome     its outcome,
    reasons     and its reasons, in their order
    decision    a decision without a person is the one that the score leads to, with the score's reasons
    proof       the ledger's proof file (C2SP tlog-proof) can be read
    inclusion   the record's hash is the leaf from which the path leads to the root of the checkpoint
    signature   the ledger's key, if you give it (`vkey` at its /key), has signed that checkpoint (Ed25519)

It stops at the first step that fails and ends with status 1. What cannot be checked (facts that were erased, a record
that is not anchored yet, a key that was not given) is said, and is no failure.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys
from datetime import date
from decimal import ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from typing import Any, NamedTuple

FILE_MAX_BYTES = 16 * 1024 * 1024
MEMBERS = ("record", "proof_file", "definition", "facts", "nonce")
NONCE_BYTES = 32
OK, FAIL, SKIPPED = "ok", "FAIL", "skip"


# What Python raises when a text is not what it claims to be.
UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, StopIteration)


class Step(NamedTuple):
    """One step: its name, OK, FAIL or SKIPPED, and what was seen."""

    name: str
    state: str
    detail: str


class CheckFailed(Exception):
    """A step fails; the message says why."""


def verify(content: bytes, ledger_key: str | None = None) -> list[Step]:
    """Check a bundle; return the steps up to the first that fails. Nothing is raised, whatever the content is."""
    check, steps = Check(content, ledger_key), []
    for name in (
        "bundle", "record", "definition", "facts", "total", "outcome", "reasons", "decision", "proof", "inclusion",
        "signature",
    ):  # fmt: skip
        try:
            state, detail = getattr(check, name)()
        except CheckFailed as failure:
            state, detail = FAIL, str(failure)
        except UNREADABLE as error:
            state, detail = FAIL, f"this cannot be read ({type(error).__name__})"
        steps.append(Step(name, state, detail))
        if state == FAIL:
            break
    return steps


def _must(holds: object, why: str) -> None:
    if not holds:
        raise CheckFailed(why)


class Check:
    """A bundle on its way through the steps; each returns its state and what was seen, or raises CheckFailed."""

    def __init__(self, content: bytes, ledger_key: str | None) -> None:
        self.content, self.ledger_key = content, ledger_key
        self.texts: dict[str, str | None] = {}
        self.told: dict[str, Any] = {}
        self.card: Any = None
        self.found: Score | None = None

    def bundle(self) -> tuple[str, str]:
        _must(len(self.content) <= FILE_MAX_BYTES, "the file is too large for a bundle")
        given = parse(self.content.decode("utf-8"))
        _must(isinstance(given, dict) and set(given) == set(MEMBERS), f"its members must be {', '.join(MEMBERS)}")
        for name, text in given.items():
            _must(type(text) is str or (text is None and name != "record"), f"{name} must be a text")
        _must((given["facts"] is None) == (given["nonce"] is None), "facts and nonce belong together")
        self.texts = given
        return OK, f"a bundle with {', '.join(name for name in MEMBERS if given[name] is not None)}"

    def record(self) -> tuple[str, str]:
        self.told = told = canonical(self.texts["record"])
        _must(isinstance(told, dict), "it must be an object")
        version = told.get("record_version", 1)
        _must(type(version) is int and version in {1, 2}, "its version is not known here")
        for name in ("application_id", "decision", "changed_by", "decided_at"):
            _must(type(told.get(name)) is str, f"it lacks {name}")
        if version == 2:
            scored = [told[name] is not None for name in SCORED]
            _must(all(scored) or not any(scored), "it tells half of a score")
            for name, kind in SCORED.items():
                _must(told[name] is None or type(told[name]) is kind, f"its {name} is none")
            _must(type(told["automated"]) is bool, "it must say whether a person had a part in it")
        else:
            _must(not set(SCORED) & set(told), "a record without a version tells nothing of a score")
        about = f"{told['decision']!r} about application {told['application_id']} by {told['changed_by']!r}"
        return OK, f"version {version}: {about} at {told['decided_at']}"

    @property
    def is_scored(self) -> bool:
        return self.told.get("model_id") is not None

    def definition(self) -> tuple[str, str]:
        text = self.texts["definition"]
        if not self.is_scored:
            _must(text is None and self.texts["facts"] is None, "the record tells of no score to which these belong")
            return SKIPPED, "nothing was scored"
        _must(text is not None, "the scorecard that the record names is missing")
        digest = hashlib.sha256(str(text).encode()).hexdigest()
        _must(digest == self.told["definition_sha256"], f"its SHA-256 is {digest}, which is not what the record names")
        self.card = canonical(text)
        return OK, f"model {self.told['model_id']}, version {self.told['model_version']}, SHA-256 {digest}"

    def facts(self) -> tuple[str, str]:
        if not self.is_scored:
            return SKIPPED, "nothing was scored"
        if self.texts["facts"] is None:
            return SKIPPED, "they have been erased: the score cannot be computed again"
        nonce = decode_base64(str(self.texts["nonce"]))
        _must(len(nonce) == NONCE_BYTES, f"the nonce must have {NONCE_BYTES} bytes")
        digest = hashlib.sha256(nonce + str(self.texts["facts"]).encode()).hexdigest()
        _must(digest == self.told["facts_sha256"], f"SHA-256(nonce, facts) is {digest}, not what the record names")
        facts = canonical(self.texts["facts"])
        _must(isinstance(facts, dict), "they must be an object")
        self.found = score(self.card, facts)
        return OK, f"{len(facts)} facts, hashed with the nonce {digest}"

    def total(self) -> tuple[str, str]:
        return self._same("total", "total")

    def outcome(self) -> tuple[str, str]:
        return self._same("outcome", "outcome")

    def reasons(self) -> tuple[str, str]:
        return self._same("score_reasons", "reasons")

    def _same(self, name: str, member: str) -> tuple[str, str]:
        if self.found is None:
            return SKIPPED, "not computed again"
        told, computed = self.told[name], getattr(self.found, member)
        _must(told == computed, f"the record says {told!r}, computed again it is {computed!r}")
        return OK, f"{computed!r}, computed again"

    def decision(self) -> tuple[str, str]:
        told = self.told
        if not told.get("automated"):
            return OK, "a person had a part in it"
        _must(self.is_scored, "no person had a part in it, and no score either")
        wanted = {"approve": "approved", "decline": "rejected"}.get(told["outcome"])
        _must(told["decision"] == wanted, f"{told['decision']!r} is not what {told['outcome']!r} leads to")
        reasons = told["score_reasons"] if wanted == "rejected" else []
        _must(told["reasons"] == reasons, "its reasons are not those of the score")
        return OK, "no person had a part in it; it is what the score leads to"

    def proof(self) -> tuple[str, str]:
        text = self.texts["proof_file"]
        if text is None:
            return SKIPPED, "the record is not in the ledger yet: ask for the bundle again"
        self.proven = Proof(text)
        return OK, f"entry {self.proven.index} of {self.proven.size} of {self.proven.origin}"

    def inclusion(self) -> tuple[str, str]:
        if self.texts["proof_file"] is None:
            return SKIPPED, "not in the ledger yet"
        digest = hashlib.sha256(str(self.texts["record"]).encode()).digest()
        leaf = hashlib.sha256(b"\x00" + digest + self.proven.extra).digest()
        root = climb(leaf, self.proven.index, self.proven.size, self.proven.path)
        _must(root == self.proven.root, "the path from the record does not lead to the root of the checkpoint")
        return OK, f"the record, SHA-256 {digest.hex()}, is entry {self.proven.index} under root {root.hex()}"

    def signature(self) -> tuple[str, str]:
        if self.texts["proof_file"] is None:
            return SKIPPED, "not in the ledger yet"
        if self.ledger_key is None:
            return (
                SKIPPED,
                "not checked: no key of the ledger was given, so whoever made the file may have made the tree",
            )
        return OK, f"signed by {self.proven.check_signature(self.ledger_key)}"


DEPTH_MAX = 200
# What a record of version 2 tells of the score, all of it or nothing.
SCORED = {
    "model_id": int, "model_version": int, "definition_sha256": str, "facts_sha256": str, "total": int, "outcome": str,
    "score_reasons": list,
}  # fmt: skip


# --- JSON in its one spelling: compact, keys sorted, UTF-8 ------------------------------------------------------------


class Spelled(str):
    """A number with a point or an exponent, as it is spelled: equal numbers have many spellings."""

    __slots__ = ()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name is given twice")
    return members


def _depth(text: str) -> int:
    """Return how deep a text is nested at most, in one pass; the decoder goes as deep, and may end the process."""
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
        raise ValueError(f"it is nested more than {DEPTH_MAX} levels deep")
    return json.loads(text, parse_float=Spelled, parse_constant=_no_constant, object_pairs_hook=_no_twins)


def canonical(text: str | None) -> Any:
    """Return what a text says; raises CheckFailed unless the text is the one spelling of it."""
    value = parse(str(text))
    _must(spell(value) == text, "it is not spelled as it was hashed: compact JSON, keys sorted")
    return value


def spell(value: Any) -> str:
    if isinstance(value, Spelled):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{spell(name)}:{spell(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spell, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def decode_base64(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise CheckFailed("it is not base64") from error
    _must(base64.b64encode(raw).decode() == text, "its base64 is not in its one spelling")
    return raw


# --- The score: exact, no binary fractions ----------------------------------------------------------------------------

# Sums and ratios are rounded to fifty digits, half to even.
FIFTY_DIGITS = Context(prec=50, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", re.ASCII)


class Score(NamedTuple):
    total: int
    outcome: str
    reasons: list[Any]


def score(card: Any, facts: dict[str, Any]) -> Score:
    """Compute a scorecard; raises an error of Python's own for what is none."""
    values = {one["name"]: value_of(one, facts) for one in card["inputs"]}
    fired = None
    for one in card.get("knockouts", []):
        value = values[one["input"]]
        if fired is None and value is not None and strikes(one, value):
            fired = one
    total, losses = whole(card["base_points"]), {}  # type: ignore[var-annotated]
    for one in card["characteristics"]:
        points = whole(bin_for(one["bins"], values[one["input"]])["points"])
        total += points
        loss, reason = losses.get(text_of(one["reason"]), (0, one["reason"]))
        losses[text_of(one["reason"])] = (loss + whole(one["baseline"]) - points, reason)
    if card.get("range") is not None:
        lowest, highest = map(whole, card["range"])
        total = min(max(total, lowest), highest)
    outcome = next(one["outcome"] for one in card["outcomes"] if "from" not in one or total >= whole(one["from"]))
    needed = [one["input"] for one in [*card["characteristics"], *card.get("knockouts", [])]]
    if fired is not None:
        outcome = fired["outcome"]
    elif outcome == "approve" and any(values[name] is None for name in needed):
        outcome = "refer"
    # Python's sort keeps the declared order of equal losses.
    lost = sorted((one for one in losses.values() if one[0] > 0), key=lambda one: -one[0])
    reasons = [reason for _, reason in lost]
    if fired is not None:
        reasons = [fired["reason"], *(one for one in reasons if text_of(one) != text_of(fired["reason"]))]
    return Score(total, outcome, reasons[:4])


def text_of(reason: Any) -> str:
    """Return what tells reasons apart: the code, or the words of another reason."""
    return reason if isinstance(reason, str) else "other: " + reason["text"]


def whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("points are whole numbers")
    return value


def number(value: Any) -> Decimal | None:
    """Return a JSON number, None for what is none: a truth is none."""
    if isinstance(value, Spelled) or type(value) is int:
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


def value_of(declared: dict[str, Any], facts: dict[str, Any]) -> Any:
    """Return the value of an input, None where it is missing."""
    if "from" in declared:
        given = facts.get(declared["from"])
        if declared["type"] == "number":
            return number(given)
        return given if type(given) is {"text": str, "boolean": bool}[declared["type"]] else None
    if "months_since" in declared:
        begin, end = day(facts.get(declared["months_since"])), day(facts.get("scored_on"))
        if begin is None or end is None or end < begin:
            return None
        months = (end.year * 12 + end.month) - (begin.year * 12 + begin.month)
        return Decimal(months - 1 if end.day < begin.day else months)
    return combined(declared, [number(facts.get(name)) for name in declared.get("ratio") or declared["sum"]])


def combined(declared: dict[str, Any], numbers: list[Decimal | None]) -> Decimal | None:
    """Return a ratio or a sum, None where a part is missing."""
    if any(one is None for one in numbers):
        return None
    if "ratio" in declared:
        part, of = numbers
        return FIFTY_DIGITS.divide(part, of) if of else None  # type: ignore[arg-type]
    total = Decimal(0)
    for one in numbers:
        total = FIFTY_DIGITS.add(total, one)  # type: ignore[arg-type]
    return total


def bound(value: Any) -> Decimal:
    """Return a threshold: a whole number or a decimal text."""
    if isinstance(value, Spelled) or type(value) not in {int, str}:
        raise TypeError("thresholds are whole numbers or texts")
    return Decimal(value)


def strikes(knockout: dict[str, Any], value: Any) -> bool:
    if "below" in knockout:
        return bool(value < bound(knockout["below"]))
    if "from" in knockout:
        return bool(value >= bound(knockout["from"]))
    return value in (knockout["in"] if "in" in knockout else [knockout["equals"]])


def bin_for(bins: list[dict[str, Any]], value: Any) -> dict[str, Any]:
    if value is None:
        return next(one for one in bins if one.get("missing"))
    for one in bins:
        if "below" in one and value < bound(one["below"]):
            return one
        if "in" in one and value in one["in"]:
            return one
    return next(one for one in bins if not {"below", "in", "missing"} & set(one))


# --- The ledger: C2SP tlog-proof, tlog-checkpoint and signed-note -----------------------------------------------------


class Proof:
    """A proof file, read and not yet believed; raises CheckFailed unless it is in its one spelling."""

    def __init__(self, text: str) -> None:
        head, found, note = text.partition("\n\n")
        lines = head.split("\n")
        _must(found and lines.pop(0) == "c2sp.org/tlog-proof@v1", "it does not begin as a proof file")
        _must(len(lines) >= 2 and lines[0].startswith("extra "), "it has no line with the commitment")
        self.extra = _hash(lines.pop(0)[len("extra ") :])
        _must(lines[0].startswith("index "), "it has no index")
        self.index = _count(lines.pop(0)[len("index ") :])
        _must(len(lines) <= 63, "its path is too long")
        self.path = [_hash(line) for line in lines]
        body, found, block = note.rpartition("\n\n")
        _must(found and block.endswith("\n"), "its checkpoint carries no signature")
        self.signed = body + "\n"
        self.signatures = [line.split(" ") for line in block[:-1].split("\n")]
        _must(len(self.signatures) <= 64, "its checkpoint has too many signatures")
        for line in self.signatures:
            _must(len(line) == 3 and line[0] == "\u2014", "a line of its signatures cannot be read")
        head_lines = self.signed.split("\n")
        _must(len(head_lines) >= 4 and all(head_lines[:-1]), "its checkpoint is no tree head")
        self.origin, self.size, self.root = head_lines[0], _count(head_lines[1]), _hash(head_lines[2])
        _must(self.index < self.size, f"a tree of {self.size} entries has no entry {self.index}")

    def check_signature(self, key: str) -> str:
        """Return the name of the key that has signed the checkpoint; raises CheckFailed when it has not."""
        parts = key.strip().split("+", 2)
        _must(len(parts) == 3, "the ledger's key has the form NAME+ID+KEY")
        name, raw = parts[0], decode_base64(parts[2])
        _must(len(raw) == 33 and raw[0] == 1, "the ledger's key is no Ed25519 key")
        key_id = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
        _must(key_id.hex() == parts[1], "the id in the ledger's key does not belong to it")
        _must(self.origin == name, f"the checkpoint is one of {self.origin}, not of {name}")
        signatures = [decode_base64(text) for _, signer, text in self.signatures if signer == name]
        own = [one[4:] for one in signatures if one[:4] == key_id]
        _must(own, f"{name} has not signed the checkpoint with this key")
        _must(all(ed25519(raw[1:], self.signed.encode(), one) for one in own), f"the signature of {name} is wrong")
        return name


def _hash(text: str) -> bytes:
    raw = decode_base64(text)
    _must(len(raw) == 32, "a hash in it has another length than SHA-256")
    return raw


def _count(text: str) -> int:
    _must(re.match(r"(0|[1-9][0-9]{0,18})\Z", text, re.ASCII), "a number in it cannot be read")
    return int(text)


def climb(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """Return the root that a path leads to (RFC 6962, section 2.1.1), from the largest subtrees down."""
    if size == 1:
        _must(not path, "the path is too long")
        return leaf
    _must(path, "the path is too short")
    left = 1 << ((size - 1).bit_length() - 1)
    if index < left:
        return hashlib.sha256(b"\x01" + climb(leaf, index, left, path[:-1]) + path[-1]).digest()
    return hashlib.sha256(b"\x01" + path[-1] + climb(leaf, index - left, size - left, path[:-1])).digest()


# --- Ed25519 (RFC 8032, section 5.1): verification alone, so that nothing here is a secret ----------------------------

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
ROOT_OF_MINUS_ONE = pow(2, (PRIME - 1) // 4, PRIME)


def add(one: Any, two: Any) -> Any:
    """Return the sum of two points, x, y, z and x·y/z each (extended coordinates)."""
    a, b = (one[1] - one[0]) * (two[1] - two[0]) % PRIME, (one[1] + one[0]) * (two[1] + two[0]) % PRIME
    c, d = 2 * one[3] * two[3] * CURVE_D % PRIME, 2 * one[2] * two[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def times(factor: int, point: Any) -> Any:
    total = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            total = add(total, point)
        point, factor = add(point, point), factor >> 1
    return total


def same(one: Any, two: Any) -> bool:
    across, along = one[0] * two[2] - two[0] * one[2], one[1] * two[2] - two[1] * one[2]
    return bool(across % PRIME == along % PRIME == 0)


def point_of(raw: bytes) -> Any:
    """Return the point that 32 bytes encode, None where they encode none."""
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
    """Say whether these bytes are the key's signature of the message."""
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


def _say(text: str) -> None:
    """Print a line; what a terminal could take for a command is spelled out."""
    sys.stdout.write("".join(one if " " <= one <= "~" else ascii(one)[1:-1] for one in text) + "\n")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check a decision from its bundle, offline.")
    parser.add_argument("bundle", help="the file that GET /v1/applications/{id}/decision-bundle gives")
    parser.add_argument("--ledger-key", metavar="NAME+ID+KEY", help="the ledger's key: `vkey` at its /key")
    options = parser.parse_args(arguments)
    try:
        with Path(options.bundle).open("rb") as file:
            content = file.read(FILE_MAX_BYTES + 1)
    except OSError as error:
        _say(f"FAIL bundle: {error.strerror}")
        return 1
    steps = verify(content, options.ledger_key)
    for step in steps:
        _say(f"{step.state:4} {step.name}: {step.detail}")
    if steps[-1].state == FAIL:
        _say(f"The decision does not hold: {steps[-1].name}.")
        return 1
    skipped = [step.name for step in steps if step.state == SKIPPED]
    _say(f"Nothing is wrong. Not checked: {', '.join(skipped)}." if skipped else "The decision holds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

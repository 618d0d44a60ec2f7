"""Parser for C2SP tlog-policy files, which list the trusted logs, the witnesses, and the required quorum.

    log <vkey> [<url>]
    witness <name> <vkey> [<url>]
    group <name> all|any|<k> <name>…
    quorum <name>|none

Names may contain bytes that are not UTF-8. This module represents these bytes as surrogates.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ledger.checkpoint import NoteError, Verifier, WitnessVerifier, parse_note, signatures_of, timestamp_of, utc_text

MAX_POLICY_BYTES = 64 * 1024
# The format requires a limit of at least 32 for log lines, witness lines, and groups. The limit bounds the work.
MAX_OF_A_KIND = 32
NONE = "none"

_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_NUMBER = re.compile(r"[1-9][0-9]?", re.ASCII)
_SPACE = re.compile(r"[ \t]+")


class PolicyError(ValueError):
    """A policy file has an invalid format. The message contains the line number."""


@dataclass(frozen=True)
class PolicyLog:
    verifier: Verifier
    url: str | None


@dataclass(frozen=True)
class Witness:
    """A witness. Groups and the quorum refer to a witness by its name.

    `url` is the prefix to which checkpoints are sent.
    """

    name: str
    verifier: WitnessVerifier
    url: str | None


@dataclass(frozen=True)
class Group:
    """A group of witnesses. At least `threshold` members must cosign a checkpoint."""

    threshold: int
    members: tuple[str, ...]


@dataclass
class Policy:
    """A parsed policy (`Policy.from_bytes`). In `groups`, the members of a group precede the group."""

    logs: list[PolicyLog] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)
    quorum: str | None = None

    @classmethod
    def read(cls, path: Path) -> "Policy":
        """Parse a policy file. Raises OSError and PolicyError."""
        with path.open("rb") as file:
            return cls.from_bytes(file.read(MAX_POLICY_BYTES + 1))

    @classmethod
    def from_bytes(cls, content: bytes) -> "Policy":
        """Parse a policy. Raises PolicyError for an invalid line."""
        if len(content) > MAX_POLICY_BYTES:
            raise PolicyError(f"it has more than {MAX_POLICY_BYTES} bytes")
        if content and not content.endswith(b"\n"):
            raise PolicyError("its last line does not end in a newline")
        policy = cls()
        for number, line in enumerate(content.split(b"\n"), start=1):
            try:
                policy._parse_line(line)
            except (PolicyError, NoteError) as error:
                raise PolicyError(f"line {number}: {error}") from error
            except UnicodeEncodeError as error:
                raise PolicyError(f"line {number}: the name of a key is not UTF-8") from error
        if policy.quorum is None:
            raise PolicyError("it has no quorum line")
        return policy

    def _parse_line(self, line: bytes) -> None:
        if _FORBIDDEN.search(line):
            raise PolicyError("a control character other than tab and newline")
        words = [word for word in _SPACE.split(line.decode(errors="surrogateescape")) if word]
        if not words or words[0].startswith("#"):
            return
        takers: dict[str, tuple[Callable[[list[str]], None], int, int]] = {
            "log": (self._parse_log, 1, 2),
            "witness": (self._parse_witness, 2, 3),
            "group": (self._parse_group, 3, 2 + 2 * MAX_OF_A_KIND),
            "quorum": (self._parse_quorum, 1, 1),
        }
        if words[0] not in takers:
            raise PolicyError(f"{words[0][:40]!r} must be log, witness, group, or quorum")
        take, fewest, most = takers[words[0]]
        if not fewest <= len(words) - 1 <= most:
            raise PolicyError(f"a {words[0]} line has {fewest} to {most} words after the first")
        take(words[1:])

    def _parse_log(self, words: list[str]) -> None:
        log = PolicyLog(Verifier.from_vkey(words[0]), words[1] if len(words) > 1 else None)
        _check_new(log.verifier, [other.verifier for other in self.logs], "log")
        self.logs.append(log)

    def _parse_witness(self, words: list[str]) -> None:
        self._check_name(words[0])
        witness = Witness(words[0], WitnessVerifier.from_vkey(words[1]), words[2] if len(words) > 2 else None)
        _check_new(witness.verifier, [other.verifier for other in self.witnesses], "witness")
        self.witnesses.append(witness)

    def _parse_group(self, words: list[str]) -> None:
        name, threshold, *members = words
        self._check_name(name)
        grouped = {member for group in self.groups.values() for member in group.members}
        for position, member in enumerate(members):
            if member not in self._names():
                raise PolicyError(f"the member {member!r} is not defined above")
            if member in grouped or member in members[:position]:
                raise PolicyError(f"{member!r} is a member already")
        numbers = {"any": 1, "all": len(members)}
        if threshold not in numbers and not _NUMBER.fullmatch(threshold):
            raise PolicyError(f"{threshold!r} is neither all, any nor a number")
        required = numbers.get(threshold) or int(threshold)
        if required > len(members):
            raise PolicyError(f"{required} of {len(members)} members can never cosign")
        if len(self.groups) == MAX_OF_A_KIND:
            raise PolicyError(f"there are more than {MAX_OF_A_KIND} groups")
        self.groups[name] = Group(required, tuple(members))

    def _parse_quorum(self, words: list[str]) -> None:
        if self.quorum is not None:
            raise PolicyError("there is a quorum line already")
        if words[0] not in {NONE, *self._names()}:
            raise PolicyError(f"the quorum {words[0]!r} is not defined above")
        self.quorum = words[0]

    def _names(self) -> set[str]:
        return {*(witness.name for witness in self.witnesses), *self.groups}

    def _check_name(self, name: str) -> None:
        if name == NONE:
            raise PolicyError(f"the name {NONE!r} is taken by the format")
        if name in self._names():
            raise PolicyError(f"the name {name!r} is defined already")

    def text(self) -> str:
        """Return the policy in its own format, without comments and addresses, for publication."""
        lines = [f"log {log.verifier.vkey}" for log in self.logs]
        lines += [f"witness {witness.name} {witness.verifier.vkey}" for witness in self.witnesses]
        lines += [f"group {name} {group.threshold} {' '.join(group.members)}" for name, group in self.groups.items()]
        text = "\n".join([*lines, f"quorum {self.quorum}", ""])
        return text.encode(errors="surrogateescape").decode(errors="replace")

    def cosigned(self, note: str) -> dict[str, int]:
        """Return the witnesses that cosigned the note, as `{name: time}`, with times in seconds since 1970.

        This does not verify the log's own signature. Raises NoteError if the note is not canonical, or if a witness's
        signature is invalid.
        """
        text, signatures = parse_note(note)
        times = {}
        for witness in self.witnesses:
            if own := signatures_of(witness.verifier, text, signatures):
                times[witness.name] = max(timestamp_of(signature) for signature in own)
        return times

    def is_met_by(self, names: set[str]) -> bool:
        met = set(names)
        for name, group in self.groups.items():  # members of a group precede the group
            if len(met.intersection(group.members)) >= group.threshold:
                met.add(name)
        return self.quorum == NONE or self.quorum in met

    def describe(self, times: dict[str, int]) -> str:
        who = ", ".join(f"{name} at {utc_text(at)}" for name, at in times.items())
        return f"{len(times)} of {len(self.witnesses)} witnesses cosigned" + (f": {who}." if who else ".")


def _check_new(verifier: Verifier, known: list[Verifier] | list[WitnessVerifier], kind: str) -> None:
    if len(known) == MAX_OF_A_KIND:
        raise PolicyError(f"there are more than {MAX_OF_A_KIND} {kind} lines")
    if any(verifier.public_key == other.public_key for other in known):
        raise PolicyError(f"the key of this {kind} is already in the file")

"""An application's one or two applicants. They are stored as a single encrypted value, with the nonce of their hash.

Erasing the value also erases the nonce. The hash remains in the application and in anchored records. Without the nonce,
the input of the hash can't be guessed.
"""

import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Self

import orjson
from django.conf import settings
from django.utils.translation import gettext_noop

from config.core.encryption import EncryptedTextField
from config.core.json_text import canonical_json

APPLICANTS_MAX = 2
FIRST = 1  # the account belongs to this applicant
# Mails and notices are available in these languages.
LANGUAGES = tuple(tag for tag, _ in settings.LANGUAGES)
_NONCE_BYTES = 32
# The first of two applicants declares these sentences on `/my`, as evidence of joint intent (12 CFR 1002.7(d)(1)).
JOINT_CREDIT = "joint_credit"  # the name of a stored declaration
JOINT_APPLICATION = gettext_noop("We intend to apply for joint credit, and the second applicant agrees.")
JOINT_ACCEPTANCE = gettext_noop("We accept this joint credit, and the second applicant agrees to be bound by it.")

Person = dict[str, Any]


class Applicants:
    """The applicants of an application, each with every field of `ApplicantSerializer`. `str` and `repr` hide them."""

    __slots__ = ("nonce", "persons")

    def __init__(self, persons: Sequence[Person], nonce: bytes) -> None:
        self.persons, self.nonce = list(persons), nonce

    @classmethod
    def of(cls, persons: Sequence[Person], *, before: "Applicants | None" = None) -> Self:
        """Return the value to store. If `persons` equals the persons of `before`, the hash remains the same."""
        is_same = before is not None and before.persons == persons
        return cls(persons, before.nonce if before is not None and is_same else secrets.token_bytes(_NONCE_BYTES))

    def __iter__(self) -> Iterator[Person]:
        return iter(self.persons)

    @property
    def are_joint(self) -> bool:
        return len(self.persons) > 1

    @property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of the nonce's bytes followed by the canonical JSON of the persons."""
        return sha256(self.nonce + canonical_json(self.persons)).hexdigest()

    def to_text(self) -> str:
        return orjson.dumps({"nonce": b64encode(self.nonce).decode(), "persons": self.persons}).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        kept = orjson.loads(text)
        return cls(kept["persons"], b64decode(kept["nonce"]))


class ApplicantsField(EncryptedTextField):
    def to_text(self, value: Applicants) -> str:
        return value.to_text()

    def from_text(self, text: str) -> Applicants:
        return Applicants.from_text(text)


def language_of(applicants: Any, otherwise: str = LANGUAGES[0], *, number: int = FIRST) -> str:
    """Return an applicant's language, or `otherwise` if it is not in LANGUAGES or the applicants are unreadable."""
    persons = applicants.persons[number - 1 :] if isinstance(applicants, Applicants) else []
    person: Person = persons[0] if persons else {}
    main = re.split("[-_]", person.get("language") or "")[0].lower()
    return main if main in LANGUAGES else otherwise


def other_borrowers(applicants: Applicants | None) -> Iterator[tuple[str, str]]:
    """Yield the email address and the language of each further applicant who has an email address."""
    for number, person in enumerate(applicants or (), start=1):
        if number > FIRST and (email := person.get("email")):
            yield email, language_of(applicants, number=number)


def changed_members(before: Applicants | None, after: Applicants | None) -> dict[str, Any]:
    """Return the paths of the fields that differ, without values, because revisions are never erased."""
    old, new = (dict(enumerate(value or ())) for value in (before, after))
    changes: dict[str, Any] = {}
    for number in range(APPLICANTS_MAX):
        old_fields, new_fields = _flat(old.get(number)), _flat(new.get(number))
        names = [name for name in {**old_fields, **new_fields} if old_fields.get(name) != new_fields.get(name)]
        changes |= {f"applicants[{number}].{name}": {} for name in names}
    return changes


def _flat(person: Person | None) -> dict[str, Any]:
    if person is None:
        return {}
    address = {f"address.{name}": value for name, value in person["address"].items()}
    return {**{name: value for name, value in person.items() if name != "address"}, **address}

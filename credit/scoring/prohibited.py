"""What no score may rest on: the grounds that 12 CFR 1002.2(z) names, as far as a name tells them.

A path is read as its words: `maritalStatus`, `marital_status` and `applicant.marital-status` are the same.
"""

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", re.ASCII)

_WORDS = frozenset(
    {
        "race", "racial", "color", "colour", "religion", "religious", "creed", "ethnicity", "ethnic", "nationality",
        "sex", "sexual", "gender", "pregnant", "pregnancy", "childbearing", "married", "divorced", "widowed", "spouse",
        "husband", "wife", "welfare", "medicaid",
    }
)  # fmt: skip
_PHRASES = (
    ("national", "origin"), ("country", "of", "birth"), ("birth", "country"), ("place", "of", "birth"),
    ("marital", "status"), ("civil", "status"), ("public", "assistance"), ("birth", "control"), ("skin", "tone"),
)  # fmt: skip
_BIRTH = frozenset({"birthdate", "birthday", "birthyear", "dob", "born"})
_BIRTH_PHRASES = (("birth", "date"), ("date", "of", "birth"), ("birth", "year"), ("year", "of", "birth"))
_BESIDE_AGE = frozenset(
    {"applicant", "borrower", "consumer", "customer", "person", "my", "in", "at", "years", "months"}
)


def _words(path: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(path))


def _names(words: tuple[str, ...], phrases: tuple[tuple[str, ...], ...]) -> bool:
    return any(
        phrase == words[at : at + len(phrase)] or words[at] == "".join(phrase)
        for phrase in phrases
        for at in range(len(words))
    )


def is_prohibited(path: str) -> bool:
    """Say whether a path below `application_data` is named like a ground that must not count."""
    words = _words(path.partition(".")[2])
    return not _WORDS.isdisjoint(words) or _names(words, _PHRASES)


def tells_age(path: str) -> bool:
    """Say whether a path below `application_data` is named like a person's age, or what gives it."""
    parts = [_words(part) for part in path.split(".")[1:]]
    return any(
        not _BIRTH.isdisjoint(words) or _names(words, _BIRTH_PHRASES) or set(words) - _BESIDE_AGE == {"age"}
        for words in parts
    )

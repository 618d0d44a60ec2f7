"""Detect prohibited inputs of a score by name: the grounds of 12 CFR 1002.2(z) and of CCD2 18(3).

Paths are compared word by word, so that `maritalStatus`, `marital_status`, and `applicant.marital-status` all match.
Accents and look-alike characters make no difference.
"""

import re
import unicodedata

from credit.core.facts import path_of

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", re.ASCII)

_WORDS = frozenset({
    "race", "racial", "color", "colour", "religion", "religious", "creed", "ethnicity", "ethnic", "nationality",
    "sex", "sexual", "gender", "male", "female", "woman", "pregnant", "pregnancy", "childbearing", "married",
    "unmarried", "marriage", "divorced", "widow", "widowed", "widower", "spouse", "husband", "wife", "welfare",
    "medicaid", "hispanic", "latino", "latina",
    # CCD2 18(3) and GDPR 9 prohibit the use of special categories of data, and of data from social networks.
    "diagnosis", "disease", "disability", "biometric", "genetic", "political", "facebook", "instagram", "linkedin",
    "tiktok",
})  # fmt: skip
_PHRASES = (
    ("national", "origin"), ("country", "of", "birth"), ("birth", "country"), ("place", "of", "birth"),
    ("trade", "union"), ("social", "media"), ("social", "network"), ("health", "status"), ("medical", "history"),
    ("marital", "status"), ("civil", "status"), ("public", "assistance"), ("birth", "control"), ("skin", "tone"),
)  # fmt: skip
_BIRTH = frozenset({"birth", "birthdate", "birthday", "birthyear", "dob", "born"})
_BESIDE_AGE = frozenset({
    "applicant", "borrower", "consumer", "customer", "client", "person", "my", "current", "in", "at", "of", "the",
    "application", "year", "month", "group", "band", "bucket", "bracket", "range", "class", "category", "over",
    "under", "from", "to", "plus",
})  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    """Split a text into words, and convert plurals to singular: `races` becomes `race`."""
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return tuple(_singular(word.lower()) for word in _WORD.findall(letters))


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("xes"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def is_prohibited(path: str) -> bool:
    """Return whether a path below `application_data` has the name of a prohibited ground."""
    words = _words(" ".join(path_of(path)))
    return not _WORDS.isdisjoint(words) or any(
        phrase == words[at : at + len(phrase)] or words[at] == "".join(phrase)
        for phrase in _PHRASES
        for at in range(len(words))
    )


def names_birth(path: str) -> bool:
    """Return whether a path below `application_data` has the name of a date or year of birth."""
    return not _BIRTH.isdisjoint(_words(" ".join(path_of(path))))


def names_age(path: str) -> bool:
    """Return whether a path below `application_data` has the name of an age or of a date of birth."""
    parts = [{word for word in _words(part) if not word.isdigit()} for part in path_of(path)]
    return names_birth(path) or any(words - _BESIDE_AGE in ({"age"}, {"elderly"}) for words in parts)

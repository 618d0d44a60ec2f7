"""Split stored and typed text into words for searches.

A search ignores case, accents, and the kind of hyphen and apostrophe. A compound matches by its parts and as one word.
"""

import re
import unicodedata
from collections.abc import Iterable

# Unicode does not decompose these letters.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
# Passports, airline tickets, and users whose keyboards lack these letters use these spellings.
_SPELLED_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa", "Ø": "Oe"}
)
# Keyboards for Persian, Urdu, and Arabic produce different characters for these letters.
_ARABIC = str.maketrans("\u06cc\u0649\u06a9\u0629\u06c1\u06be\u06d5", "\u064a\u064a\u0643\u0647\u0647\u0647\u0647")
# Names in these scripts are written with or without spaces.
_UNSPACED = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA")
_APOSTROPHES = dict.fromkeys(map(ord, "\u00b4`\u2018\u2019\u201b\u02b9\u02bb\u02bc\u02bd\u2032"), "'")
_DROPPED = {"Mn", "Mc", "Me", "Cf"}
_PART = re.compile(r"[^\W_]+")
_NEIGHBORS_MAX = 3
_JOINING = re.compile(r"['_\-\u2010-\u2015\u2212]")
_COMPOUND = re.compile(rf"{_PART.pattern}(?:{_JOINING.pattern}{_PART.pattern})*")


def folded(text: str) -> str:
    """Return a text without case, marks, and invisible characters, in NFKD."""
    if text.isascii():
        return text.replace("`", "'").lower()
    letters = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
    seen = (letter for letter in letters if unicodedata.category(letter) not in _DROPPED)
    return "".join(seen).casefold().translate(_PLAIN)


def spellings_of(name: str) -> list[str]:
    """Return a name and its other usual spellings.

    Examples are `Mueller` for `Müller`, Arabic letters for Persian letters, and East Asian names without a space.
    """
    composed = unicodedata.normalize("NFC", name)
    joined = "".join(composed.split())
    is_unspaced = all(unicodedata.name(letter, "").startswith(_UNSPACED) for letter in joined)
    unspaced = [joined] if is_unspaced else []
    return list(dict.fromkeys([name, composed.translate(_SPELLED_OUT), composed.translate(_ARABIC), *unspaced]))


def compounds_of(text: str) -> list[list[str]]:
    """Return the words of a text in order. Each word is a list of its parts between hyphens and apostrophes."""
    return [_PART.findall(compound) for compound in _COMPOUND.findall(folded(text))]


def words_of(text: str) -> list[str]:
    """Return a text's distinct words. A compound yields its parts, joined adjacent parts, and the whole."""
    return list(dict.fromkeys(word for parts in compounds_of(text) for word in _joined(parts)))


def _joined(parts: list[str]) -> Iterable[str]:
    for size in range(1, _NEIGHBORS_MAX + 1):
        yield from ("".join(parts[start : start + size]) for start in range(len(parts) - size + 1))
    yield "".join(parts)


def as_column(words: Iterable[str]) -> str:
    """Return words in the stored format, with spaces around each word, so that a search can match a whole word."""
    return f" {' '.join(words)} "


def has_words(text: str, compounds: list[list[str]]) -> bool:
    """Check whether a text contains each typed compound, by its parts or as one word, in any order.

    A typed word can match a part of a word.
    """
    plain = folded(text)
    whole = _JOINING.sub("", plain)
    return all("".join(parts) in whole or all(part in plain for part in parts) for parts in compounds)

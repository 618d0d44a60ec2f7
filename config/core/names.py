"""Validation of displayed names (lenders, offers, apps, keys, documents), and their comparison by appearance.

Personal names and addresses have looser rules, which accept all scripts (`clean_words`).
"""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import idna
from django.core import checks
from django.db import IntegrityError, transaction

from config.core.digest import digest_of

# These characters have no glyph: Default_Ignorable_Code_Point outside of category Cf, and blanks of other categories.
_UNSEEN_RANGES = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_BLANKS = "\u2800\ufffc\U00016fe4\U00013441\U00013442\U0001d159"
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + _BLANKS).union(
    *(map(chr, codes) for codes in _UNSEEN_RANGES)
)
# NFKC and the confusables do not replace these characters: letters in circles, squares, and flags, and small capitals.
_DRAWN_LETTER = re.compile(
    "(?:NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER|REGIONAL INDICATOR SYMBOL LETTER|LATIN LETTER SMALL CAPITAL)"
    " ([A-Z])"
)
_MARKS = ("M", "Z", "C")
LISTED_MAX = 20


class NameTaken(Exception):
    """Another record has this name or a similar name."""


def clean_name(text: str) -> str:
    """Normalize a name to NFC, with one space for each run of white space.

    Raises ValueError, with the reason, for control, bidirectional and invisible characters, and for a blank name.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    unseen = next((character for character in name if _is_unseen(character)), None)
    if unseen is not None:
        raise ValueError(f"Must not contain the invisible or control character U+{ord(unseen):04X}.")
    if all(unicodedata.category(character).startswith(_MARKS) for character in name):
        raise ValueError("Must contain a letter, a digit, or another visible character.")
    return name


_JOINERS = "\u200c\u200d"  # ZERO WIDTH NON-JOINER and JOINER
# Keyboards for these scripts can insert joiners without a visible effect.
_SCRIPTS_WITH_JOINERS = {
    "ARABIC", "BENGALI", "DEVANAGARI", "GUJARATI", "GURMUKHI", "KANNADA", "KHMER", "MALAYALAM", "MONGOLIAN", "MYANMAR",
    "ORIYA", "SINHALA", "SYRIAC", "TAMIL", "TELUGU", "TIBETAN",
}  # fmt: skip
# Keyboards for these scripts insert invisible zero-width spaces between words.
_SCRIPTS_WITHOUT_SPACES = {"KHMER", "LAO", "MYANMAR", "THAI"}
_ZERO_WIDTH_SPACE = "\u200b"
_LIKE_A_SPACE = "\u2800\u3164\uffa0"  # users type these fillers in place of a space
_RA_YAPHALA = "\u09b0\u200d\u09cd\u09af"  # Bengali RA, JOINER, VIRAMA, YA: the spelling of Unicode, chapter 12


def clean_words(text: str) -> str:
    """Normalize a personal name, address line, or title, with one space for each run of white space.

    Letters of every script, variation selectors, and joiners that RFC 5892 (CONTEXTJ) allows are accepted. Joiners and
    zero-width spaces that keyboards insert without a visible effect are removed. Raises ValueError, with the reason,
    for a blank text, and for line breaks, control, and bidirectional characters.
    """
    kept: list[str] = []
    for position, character in enumerate(text):
        joins = character in _JOINERS and _joins(text, position)
        if character in _JOINERS and not joins and kept and _script_of(kept[-1]) in _SCRIPTS_WITH_JOINERS:
            continue
        if character == _ZERO_WIDTH_SPACE and kept and _script_of(kept[-1]) in _SCRIPTS_WITHOUT_SPACES:
            continue
        is_visible = character.isprintable() and character not in _BLANKS
        if not (is_visible or joins or character in _LIKE_A_SPACE or unicodedata.category(character) == "Zs"):
            raise ValueError(f"Must not contain the invisible or control character U+{ord(character):04X}.")
        kept.append(" " if character in _LIKE_A_SPACE else character)
    if shows_nothing(text):
        raise ValueError("Must contain a letter, a digit, or another visible character.")
    return " ".join("".join(kept).split())


def _joins(text: str, position: int) -> bool:
    if text[max(position - 1, 0) : position + 3] == _RA_YAPHALA:
        return True
    try:
        return idna.valid_contextj(text, position)
    except ValueError:  # the adjacent character is not in idna's version of Unicode
        return False


def _script_of(character: str) -> str:
    """Return the first word of a character's Unicode name. For a letter, this word is the script."""
    return unicodedata.name(character, "").partition(" ")[0]


def skeleton(text: str) -> str:
    """Return the skeleton of a name, for comparison by appearance (Unicode TR 39).

    The skeleton is the name in NFKC, without invisible characters and case, and with look-alikes replaced. Names with
    the same skeleton look alike. Use the skeleton only for comparison, and store `name_key`.
    """
    seen = "".join(
        _plain_letter(character)
        for character in unicodedata.normalize("NFKC", text)
        if character.isspace() or not _is_unseen(character)
    )
    return " ".join(_skeleton_of_word(word) for word in seen.split())


def name_key(text: str, scope: object = "") -> str:
    """Return the SHA-256 of a name's skeleton in hex.

    With a scope, such as a lender's ID, names are unique within the scope.
    """
    return digest_of(f"{scope}\n{skeleton(text)}" if scope else skeleton(text))


def save_named(record: Any, *, scope: object = "", **options: Any) -> None:
    """Save a record with its name's key. Raises NameTaken, also after a race with another request."""
    record.name_key = name_key(record.name, scope)
    with unique_name(type(record)._default_manager.exclude(pk=record.pk), record.name_key):
        record.save(**options)


@contextmanager
def unique_name(others: Any, key: str | None) -> Iterator[None]:
    """Raise NameTaken if the block violates a unique constraint because a record in `others` has the key."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if key is not None and others.filter(name_key=key).exists():
            raise NameTaken from error
        raise


def check_keys(records: Any) -> list[checks.CheckMessage]:
    """Return a warning for `doctor` with the records whose names look like the name of an older record."""
    names = [
        f"{record.name} ({record.pk})"
        for record in records.filter(name_key__isnull=True).exclude(name="").order_by("pk")
    ]
    if not names:
        return [checks.Info("each name looks different from all others")]
    return [
        checks.Warning(
            f"These names look like the name of an older record: {listed(names)}. Ask their owners to rename them."
        )
    ]


def listed(names: list[str]) -> str:
    """Join up to LISTED_MAX names, and append the number of omitted names."""
    more = f"; and {len(names) - LISTED_MAX} more" if len(names) > LISTED_MAX else ""
    return "; ".join(names[:LISTED_MAX]) + more


def shows_nothing(text: str) -> bool:
    """Check whether a text has only white space, control, and zero-width characters."""
    return all(unicodedata.category(character).startswith(_MARKS) or _is_unseen(character) for character in text)


def _is_unseen(character: str) -> bool:
    return character in _UNSEEN or unicodedata.category(character) in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


def _plain_letter(character: str) -> str:
    drawn = None if character.isascii() else _DRAWN_LETTER.fullmatch(unicodedata.name(character, ""))
    return drawn[1] if drawn else character


def _skeleton_of_word(word: str) -> str:
    """Return the skeleton of one word.

    Capitals can look alike although their small letters differ, such as Cyrillic VE and B. So for words with Latin
    letters or only Latin look-alikes, look-alikes are replaced before the case is folded. The letter `i` is replaced
    with `l`, because the capital of `i` looks like `l`.
    """
    looks = _replaced(word)
    if any(character.isascii() and character.isalpha() for character in word) or looks.isascii():
        word = looks
    return _replaced(word.casefold().replace("i", "l"))


def _replaced(word: str) -> str:
    prototypes = _prototypes()
    apart = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFD", "".join(prototypes.get(character, character) for character in apart))


@cache
def _prototypes() -> dict[str, str]:
    from confusable_homoglyphs.confusables import confusables_data  # loads 1 MB, which only new names need

    # The package encloses right-to-left characters in left-to-right marks.
    similar = {
        source.strip("\u200e"): [entry["c"].strip("\u200e") for entry in entries]
        for source, entries in confusables_data.items()
    }
    prototypes = {}
    for source, others in similar.items():
        # The entry of a prototype lists its sources, and the entry of a source lists its prototype. If two entries list
        # only each other, the longer text is the prototype.
        if len(source) == 1 and len(others) == 1:
            is_pair = len(similar.get(others[0], ())) <= 1
            prototypes[source] = max(source, others[0], key=lambda text: (len(text), text)) if is_pair else others[0]
    return prototypes

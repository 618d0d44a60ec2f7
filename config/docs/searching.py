"""Finding sections by words. The cost is linear in the documentation, for a bounded number of words."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from config.core.search_words import folded

QUERY_LETTERS_MAX = 200
_WORDS_MAX = 8
_WORD_LETTERS_MIN = 2
_RESULTS_MAX = 25
_EXCERPT_LETTERS = 110
_WORD = re.compile(r"[^\W_]+")
# The weight of a word by its place; in the text it counts up to the given number of times.
_IN_HEADING, _IN_TITLE, _IN_TEXT_TIMES = 12, 6, 5


@dataclass(frozen=True)
class Section:
    """A search result: a part of a page, or an error code."""

    title: str
    heading: str
    address: str
    text: str


@dataclass(frozen=True)
class Found:
    """A section and where its text has the words: `excerpt` holds pieces of text, each with whether it is a word."""

    section: Section
    excerpt: list[tuple[str, bool]]


class Index:
    """The sections, and what each consists of in plain words."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self._entries = [(one, _plain(one.title), _plain(one.heading), _plain(one.text)) for one in sections]

    def find(self, words: list[str]) -> list[Found]:
        """Return the best sections first: those that have all words, or else those that have some."""
        rated = []
        for number, (_, *places) in enumerate(self._entries):
            values = [_value(word, *places) for word in words]
            rated.append((sum(value > 0 for value in values), sum(values), -number))
        most = max((count for count, _, _ in rated), default=0)
        best = sorted((one for one in rated if one[0] == most > 0), reverse=True)[:_RESULTS_MAX]
        sections = [self._entries[-number][0] for _, _, number in best]
        return [Found(section, _excerpt(section.text, words)) for section in sections]


def words_of(query: str) -> list[str]:
    """Return the words that are looked for: the first few of two letters or more."""
    words = [word for word in _WORD.findall(folded(query[:QUERY_LETTERS_MAX])) if len(word) >= _WORD_LETTERS_MIN]
    return list(dict.fromkeys(words))[:_WORDS_MAX]


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(folded(text)))} "


def _value(word: str, title: str, heading: str, text: str) -> int:
    """Return what a section is worth for a word, which may be the beginning of one; whole words count twice."""
    value = 0
    for place, worth, times in ((title, _IN_TITLE, 1), (heading, _IN_HEADING, 1), (text, 1, _IN_TEXT_TIMES)):
        value += worth * (min(place.count(f" {word}"), times) + min(place.count(f" {word} "), times))
    return value


def _excerpt(text: str, words: list[str]) -> list[tuple[str, bool]]:
    """Cut out the surroundings of the first word that is found, or else the beginning."""
    wanted = re.compile(rf"(?<![^\W_])({'|'.join(map(re.escape, words))})", re.IGNORECASE)
    first = wanted.search(text)
    middle = first.start() if first else 0
    start, end = max(0, middle - _EXCERPT_LETTERS), middle + _EXCERPT_LETTERS
    if start:
        start = text.find(" ", start, middle) + 1 or start
    if end < len(text):
        end = text.rfind(" ", middle + 1, end) if " " in text[middle + 1 : end] else end
    cut = ("… " if start else "") + " ".join(text[start:end].split()) + (" …" if end < len(text) else "")
    return [(piece, place % 2 == 1) for place, piece in enumerate(wanted.split(cut)) if piece]

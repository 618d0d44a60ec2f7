import re
from collections.abc import Iterable

_MIN_LENGTH = 3
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the different words of a text, in order; short ones count only where it has no others."""
    words = dict.fromkeys(_WORD.findall(text.casefold()))
    return [word for word in words if len(word) >= _MIN_LENGTH] or list(words)


def as_column(words: Iterable[str]) -> str:
    """Return words as a column holds them, each between blanks, so that a word is found and no part of one."""
    return f" {' '.join(words)} "

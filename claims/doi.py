"""The one key under which all spellings of a publication's identifier are found: a DOI, an arXiv id, an ISBN.

The same article is `10.1000/ABC`, `doi:10.1000/abc` and `https://doi.org/10.1000%2Fabc`. Only ASCII letters compare
without regard to case (DOI Handbook, 3.4; ISO 26324, 4.2). One layer of percent-encoding is read in bare names too:
names cut out of an address are common, names with `%` and two hexadecimal digits of their own are not.

The key of an arXiv id is the DOI that arXiv registers for it, without a version. The key of an ISBN is `isbn:` and its
13 digits (ISO 2108).
"""

import re
from string import ascii_lowercase, ascii_uppercase
from urllib.parse import unquote

# Prefix: directory indicator 10 and a registrant's code, which may have parts. Suffix: anything that is visible.
_DOI = re.compile(r"10(?:\.[0-9]{1,12})+/[^\x00-\x20\x7f]+")
_RESOLVER = re.compile(r"(?:https?:)?//(?:dx\.|www\.)?doi\.org/|(?:dx\.|www\.)?doi\.org/", re.IGNORECASE)
_SCHEME = re.compile(r"(?:info:doi/|urn:doi:|doi:)[ ]*", re.IGNORECASE)
_FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)


def normalise_doi(identifier: str) -> str | None:
    """Return the DOI name that `identifier` spells, in lower case, without what surrounds it; None for no DOI."""
    name = identifier.strip(" ")
    if resolver := _RESOLVER.match(name):
        name = re.split(r"[?#]", name[resolver.end() :], maxsplit=1)[0]
    elif scheme := _SCHEME.match(name):
        name = name[scheme.end() :]
    if "%" in name:
        try:
            name = unquote(name, errors="strict")
        except UnicodeDecodeError:
            return None
    name = name.translate(_FOLD)
    return name if _DOI.fullmatch(name) else None


def publication_key(identifier: str) -> str:
    """Return what a publication is found by: its DOI name, else the identifier as it is."""
    return normalise_doi(identifier) or identifier

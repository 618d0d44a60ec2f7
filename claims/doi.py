"""Compute the same key for all forms of a publication's identifier.

The supported identifiers are DOIs, arXiv IDs, ISBNs, ISSNs, and the numbers of PubMed, PubMed Central, and OpenAlex.

`10.1000/ABC`, `doi:10.1000/abc`, and `https://doi.org/10.1000%2Fabc` identify the same article. Only ASCII letters are
case-insensitive (DOI Handbook, 3.4; ISO 26324, 4.2). One layer of percent-encoding is decoded, because many DOIs were
copied from URLs.

The key of an arXiv ID is the DOI that arXiv registers for the ID, without a version. The key of an ISBN is `isbn:` and
the 13 digits (ISO 2108). The key of an ISSN is `issn:` and the 8 characters (ISO 3297). The keys of PubMed numbers have
a prefix that distinguishes them from other numbers.
"""

import re
import unicodedata
from string import ascii_lowercase, ascii_uppercase
from urllib.parse import unquote

KEY_MAX_LENGTH = 512
# The prefix is the directory indicator 10 and a registrant code. The suffix consists of any visible characters.
_DOI = re.compile(r"10(?:\.[0-9]{1,12})+/[^\x00-\x20\x7f]+")
_RESOLVER = re.compile(r"(?:(?:https?:)?//)?(?:(?:dx\.|www\.)?doi\.org|hdl\.handle\.net)/+", re.IGNORECASE)
_SCHEME = re.compile(r"(?:info:doi/|urn:doi:|doi[ ]*[:=\uff1a][ ]*|doi[ ]+)", re.IGNORECASE)
_FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)
# The first four digits are YYMM. An arXiv ID without the prefix `arXiv` must contain a valid month.
_ARXIV = re.compile(
    r"(?:(?:arxiv[ ]preprint[ ])?(?:(?:oai:)?arxiv(?:\.org)?[ ]*:[ ]*|arxiv[ ]+)|(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html|format|e-print)/"
    r"|10\.48550/arxiv\.|(?=(?:[a-z-]+(?:\.[a-z]{2})?/)?[0-9]{2}(?:0[1-9]|1[0-2])))"
    r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]+)?(?:\.pdf)?/?"
    r"(?:[ ]*\[[a-z.-]+\](?:[ ].*)?)?(?:[?#].*)?",
    re.ASCII | re.IGNORECASE,
)
_ARXIV_CLASS = re.compile(r"\.[a-z]{2}/")
# Each registry has a pattern for the text before a number, case-sensitive letters before the digits, and a key prefix.
_NIH = r"(?:https?://)?(?:www\.)?(?:{0}\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/{0})"
_REGISTRIES = [
    (re.compile(rf"(?i:{before}){letters}0*([0-9]{{1,12}})/?(?:[?#].*)?", re.ASCII), prefix)
    for before, letters, prefix in (
        (rf"pmid[\s:=]*|{_NIH.format('pubmed')}/", "", "pmid:"),
        (rf"(?:{_NIH.format('pmc')}/articles/)?(?:pmcid[\s:=]*)?pmc", "", "PMC"),
        (r"(?:(?:https?://)?(?:(?:api|www)\.)?openalex\.org/(?:works/)?|openalex[\s:]*)?", "W", "W"),
    )
]
_ISBN_PREFIX = re.compile(r"urn:isbn:|(?:[ep][\s-]?)?isbn(?:[\s-]?1[03](?=[\s:]))?[\s:=#]*", re.ASCII | re.IGNORECASE)
_BINDING = re.compile(r"\s*\([^()]*\)\Z")  # catalogs append "(hardback)" to an ISBN
_ISSN = re.compile(
    r"((?:urn:issn:|(?:[epl][\s-]?)?issn(?:-l)?[\s:=#]*)?)([0-9]{4})(-?)([0-9]{3}[0-9X])", re.ASCII | re.IGNORECASE
)
_PUBMED = re.compile(r"\s*\[doi\]\Z", re.IGNORECASE)
_ISBN = re.compile(r"[0-9]{9}[0-9X]|97[89][0-9]{10}", re.ASCII)
_SPACES = re.compile(r"[^\S\r\n\u2028\u2029]")  # word processors insert a no-break space after "DOI"
_DASHES = re.compile(r"[\u2010-\u2015\u2212]")
_CLOSING = {")": "(", "]": "[", "}": "{", ">": "<"}
_QUOTES = "\"'`\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_BEFORE = f"{_QUOTES}<([{{ "
_BEHIND = f".,;:!{_QUOTES}\u2026\u3001\u3002\uff0c\uff1b"
# Escape sequences of HTML and LaTeX sources.
_ESCAPED = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "\\_": "_"}


def publication_key(identifier: str) -> str:
    """Return the key of a supported identifier. For other identifiers, return the normalized text."""
    text = _cleaned(identifier)
    doi, bare = normalize_doi(text), _without_end(text.lstrip(_BEFORE))
    if match := _ARXIV.fullmatch(doi or bare):
        return f"10.48550/arxiv.{_ARXIV_CLASS.sub('/', match[1].lower())}"
    for pattern, prefix in _REGISTRIES:
        if match := pattern.fullmatch(bare):
            return f"{prefix}{match[1]}"
    if isbn := _isbn_of(_isbn_digits(text)):
        return f"isbn:{isbn}"
    issn, is_right, _ = _issn_of(bare)
    key = doi or (f"issn:{issn}" if is_right else " ".join(text.split()))
    return key if len(key) <= KEY_MAX_LENGTH else identifier


def fault_of(identifier: str) -> str:
    """Return the error message for an empty identifier or a wrong check digit of an ISBN or ISSN, otherwise ""."""
    text = _cleaned(identifier)
    if not text:
        return "Must have visible characters."
    digits = _isbn_digits(text)
    if digits and not _isbn_of(digits):
        return "The check digit of the ISBN is wrong. Compare it with the book, and send the right ISBN."
    issn, is_right, is_named = _issn_of(_without_end(text.lstrip(_BEFORE)))
    if issn and is_named and not is_right:
        return "The check digit of the ISSN is wrong. Compare it with the journal, and send the right ISSN."
    return ""


def normalize_doi(identifier: str) -> str | None:
    """Return the DOI in `identifier`, in lower case, without a URL or prefix. Returns None if there is no DOI."""
    name = re.sub(r"[ ]*[\r\n\u2028\u2029]+[ ]*", "", _cleaned(identifier).strip(_BEFORE))
    name = _DASHES.sub("-", _PUBMED.sub("", name))
    for escaped, sign in _ESCAPED.items():
        name = name.replace(escaped, sign)
    is_address = False
    while prefix := _RESOLVER.match(name) or _SCHEME.match(name):
        name = name[prefix.end() :]
        if prefix.re is _RESOLVER:
            name, is_address = re.split(r"[?#]", name, maxsplit=1)[0], True
    if "%" in name:
        try:
            name = unicodedata.normalize("NFC", _visible(unquote(name, errors="strict")))
        except UnicodeDecodeError:
            return None
    name = _without_end(name.translate(_FOLD))
    name = name.rstrip("/") if is_address else name
    return name if _DOI.fullmatch(name) else None


def _visible(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def _cleaned(identifier: str) -> str:
    spaced = _SPACES.sub(" ", _visible(identifier))
    return unicodedata.normalize("NFC", spaced).strip()


def _without_end(name: str) -> str:
    """Remove closing punctuation that was copied with the identifier."""
    while name and (name[-1] in _BEHIND or name.count(name[-1]) > name.count(_CLOSING.get(name[-1], name[-1]))):
        name = name[:-1]
    return name


def _isbn_digits(text: str) -> str:
    """Return the digits of an ISBN, with or without a prefix. Returns an empty string for other identifiers."""
    text = unicodedata.normalize("NFKC", _DASHES.sub("-", text))  # full-width digits
    text = _BINDING.sub("", _without_end(text.lstrip("([")))
    digits = re.sub(r"[\s-]", "", text[prefix.end() :] if (prefix := _ISBN_PREFIX.match(text)) else text).upper()
    return digits if _ISBN.fullmatch(digits) else ""


def _issn_of(text: str) -> tuple[str, bool, bool]:
    """Return the ISSN, whether its check digit is correct, and whether `text` has the prefix `ISSN`.

    For other identifiers, the ISSN is an empty string.
    """
    match = _ISSN.fullmatch(unicodedata.normalize("NFKC", _DASHES.sub("-", text)))
    if match is None or not (match[1] or match[3]):  # without a prefix or hyphen, 8 digits may be any number
        return "", False, False
    issn = (match[2] + match[4]).upper()
    values = [10 if digit == "X" else int(digit) for digit in issn]
    total = sum(value * weight for value, weight in zip(values, range(8, 0, -1), strict=True))
    return issn, total % 11 == 0, bool(match[1])


def _isbn_of(digits: str) -> str:
    """Return the 13 digits of an ISBN with a correct check digit. Otherwise, return an empty string."""
    if len(digits) == 10:
        values = [10 if digit == "X" else int(digit) for digit in digits]
        is_right = sum(value * weight for value, weight in zip(values, range(10, 0, -1), strict=True)) % 11 == 0
        return f"978{digits[:9]}{-_weighted('978' + digits[:9]) % 10}" if is_right else ""
    return digits if digits and _weighted(digits) % 10 == 0 else ""


def _weighted(digits: str) -> int:
    return sum(int(digit) * (3 if position % 2 else 1) for position, digit in enumerate(digits))

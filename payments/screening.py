"""Reject requests with card numbers before any other processing. Errors never contain the numbers."""

import html
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from payments.errors import CardDataRefused

_DIGITS_MIN = 12
# The numbers that card networks issue: their first digits and total length.
_ISSUED = re.compile(
    rb"4(?:[0-9]{12}|[0-9]{15}|[0-9]{17,18})"  # Visa
    rb"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"  # Mastercard
    rb"|3[47][0-9]{13}"  # American Express
    rb"|(?:30[0-5]|309|3[689][0-9])[0-9]{11,16}"  # Diners Club
    rb"|(?:1800|2131)[0-9]{11}|35(?:2[89]|[3-8][0-9])[0-9]{12,15}"  # JCB
    rb"|220[0-5][0-9]{12,15}"  # Mir, BORICA
    rb"|(?:6[01]|64[4-9]|65)[0-9]{13,17}"  # Discover, RuPay, Hipercard, Elo, Shetab
    rb"|62[0-9]{12,17}"  # UnionPay
    rb"|(?:50|5[6-9]|6[37])[0-9]{10,17}"  # Maestro, Verve, Elo, InterPayment, InstaPayment
    rb"|(?:8[12][0-9]{2}|8600|9792|9804|9860)[0-9]{12}"  # RuPay, Uzcard, Troy, PROSTIR, Humo
    rb"|9704(?:[0-9]{12}|[0-9]{15})"  # NAPAS
)
# Luhn's check doubles every second digit and adds the digits of the result.
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
# The character classes are gaps, possible gaps, and all other non-digits.
_GAP, _MAYBE, _OTHER = " ", "_", "x"
_GAP_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Pd"})  # spaces, line ends, controls, dashes
_DOTS_AND_SIGNS = frozenset(".\u00b7\u2022\u2027\u2219\u22c5\u3002\u30fb\u2212")  # the last is the minus sign
# These characters can separate the groups of a card number. They also occur in dates, times, and amounts.
_PUNCTUATION = frozenset("_/,+:;*#=~'`|\\\"()[]{}<>\u00b4\u2018\u2019\u2032\u02bc")
_MARK_CATEGORIES = frozenset({"Mn", "Mc", "Me"})  # combining marks: accents, variation selectors, keycaps
# A character reference has at most 7 decimal or 6 hexadecimal digits. Further digits are ordinary text.
_ENTITY = re.compile(r"&(?:#0*([0-9]{1,7})|#[xX]0*([0-9a-fA-F]{1,6})|[A-Za-z][A-Za-z0-9]{1,31});?", re.ASCII)
_RUN = re.compile(rb"[0-9 ]{12,}")
# Card numbers with the grouping of printed cards. A date or a security code may follow the number.
_PRINTED = re.compile(rb"[0-9]{4}(?<![0-9]{5})(?:[0-9]{9,15}|(?: [0-9]{4}){2} [0-9]{1,7}| [0-9]{6} [0-9]{4,5})\b")
# Ids and hashes are never card numbers, even if they contain matching digits.
_IDENTIFIER = re.compile(
    r"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|0x[0-9a-f]{40}|(?:0x)?[0-9a-f]{64,})\b", re.ASCII | re.IGNORECASE
)
# A phone number has at most 15 digits (E.164). Digits after a decimal point are a fraction, not a card number.
_PHONE = re.compile(r"\+[ (]{0,2}[1-9](?:[ ().\-/]{0,2}[0-9]){6,14}(?![ .\-]?[0-9])", re.ASCII)
_FRACTION = re.compile(r"(?<![0-9.])[0-9]{1,19}[.,][0-9]{12,}(?![0-9])(?!\.[0-9])", re.ASCII)
_IBAN = re.compile(r"\b[A-Z]{2}[0-9]{2}(?:[ \u00a0-]?[A-Z0-9]){11,30}", re.ASCII | re.IGNORECASE)
# The IBAN length of each country (ISO 13616). From AO25 on, the countries are not in its registry.
_IBAN_LENGTHS = dict(
    re.findall(
        "([A-Z]{2})([0-9]{2})",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
        "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 "
        "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 "
        "PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 "
        "YE30 AO25 BF28 BJ28 CF27 CG27 CI28 CM27 CV25 DZ26 GA27 GQ27 GW25 IR26 KM27 MA28 MG27 ML28 MZ25 NE28 SN28 TD27 "
        "TG28",
    )
)
_IBAN_CHECK = 97


def reject_card_numbers(document: Any) -> None:
    if contains_card_number(document):
        raise CardDataRefused


def contains_card_number(document: Any) -> bool:
    """Return whether any key, string, or number in a JSON document contains a card number."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
            parts = [str(part) for part in value if not isinstance(part, dict | list)]
            if len(parts) > 1:
                waiting.append(_GAP.join(parts))
        elif isinstance(value, float):
            if value.is_integer():
                waiting.append(str(int(value)))  # 4.2e15 has 16 digits
        elif value is not None and _string_contains_card_number(str(value)):
            return True
    return False


def _string_contains_card_number(text: str) -> bool:
    """Return whether a string contains a card number: 12 to 19 digits, with any gaps between the digits.

    The function ignores phone numbers with `+`, fractions, and bank account numbers (IBAN). In a longer run of digits,
    for example after a date, the function finds only numbers whose digits are grouped as on cards. If punctuation
    separates the digits, the function also finds numbers whose groups have equal lengths.
    """
    if text.isascii() and len(text) < _DIGITS_MIN:
        return False
    plain = _IDENTIFIER.sub(_OTHER, _ENTITY.sub(_character, text))
    plain = _FRACTION.sub(_OTHER, _PHONE.sub(_OTHER, _IBAN.sub(_without_iban, plain)))
    plain = plain.translate({ord(character): _read(character) for character in set(plain)})
    if any(_is_card_number(groups) or _has_printed(groups) for groups in _runs(plain)):
        return True
    loose = plain.replace(_MAYBE, _GAP)
    return loose != plain and any(
        _has_printed(groups) or (_is_even(groups) and _is_card_number(groups)) for groups in _runs(loose)
    )


def _without_iban(match: re.Match[str]) -> str:
    """Replace a valid IBAN with a placeholder, and keep the text after it. Return any other match unchanged."""
    places = [place for place, character in enumerate(match[0]) if character.isalnum()]
    length = int(_IBAN_LENGTHS.get(match[0][:2].upper(), 0))
    if not 0 < length <= len(places):
        return match[0]
    iban = "".join(match[0][place] for place in places[:length])
    rest = match[0][places[length - 1] + 1 :]
    digits = "".join(str(int(character, 36)) for character in iban[4:] + iban[:4])
    return _OTHER + rest if int(digits) % _IBAN_CHECK == 1 and not rest[:1].isalnum() else match[0]


def _runs(plain: str) -> Iterable[bytes]:
    """Yield sequences of digit groups, with one space between two groups."""
    return (b" ".join(run.split()) for run in _RUN.findall(plain.encode()))


def _has_printed(groups: bytes) -> bool:
    return any(map(_is_card_number, _PRINTED.findall(groups)))


def _is_even(groups: bytes) -> bool:
    """Return whether all groups have the same length. The last group may be shorter."""
    lengths = [len(group) for group in groups.split()]
    return len({*lengths[:-1]}) == 1 and lengths[-1] <= lengths[0]


def _character(entity: re.Match[str]) -> str:
    decimal, hexadecimal = entity.groups()
    if decimal is None and hexadecimal is None:
        return html.unescape(entity[0])
    code = int(decimal) if hexadecimal is None else int(hexadecimal, 16)
    return chr(code) if code < 0x110000 else _OTHER


def _read(character: str) -> str:
    """Return a character's class, or its digits, after NFKC normalization.

    Each character is normalized separately, because normalizing a text with unordered accents takes quadratic time.
    """
    if character.isalpha():
        return _OTHER
    read = ""
    for part in unicodedata.normalize("NFKC", character):
        digit, category = unicodedata.decimal(part, None), unicodedata.category(part)
        if digit is not None:
            read += str(digit)
        elif category in _GAP_CATEGORIES or part in _DOTS_AND_SIGNS:
            read += _GAP
        elif part in _PUNCTUATION:
            read += _MAYBE
        elif category not in _MARK_CATEGORIES:
            read += _OTHER
    return read


def _is_card_number(groups: bytes) -> bool:
    """Return whether a card network issues the number, and the number passes Luhn's check (ISO/IEC 7812-1)."""
    number = groups.replace(b" ", b"")
    if not _ISSUED.fullmatch(number):
        return False
    total = sum(number[::-2]) + sum(number[-2::-2].translate(_DOUBLED)) - len(number) * ord("0")
    return total % 10 == 0

"""Search for applicants, who are stored encrypted, by name, email address, or phone number.

Each application has a blind index of keyed digests. The index contains a digest for each word of a name, each email
address, and each form of a phone number. A phone number is found with and without its country code. Argentine and
Mexican numbers are also found without the digit that only callers from abroad dial. Without the key, a digest does not
reveal its text. Equal names have equal digests, so a stolen dump shows which applications share a name.
"""

import re
from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_, or_
from typing import Any
from unicodedata import category, decimal, normalize

from django.db import transaction
from django.db.models import BooleanField, F, Func, Q, QuerySet, Value

from config.core.encryption import UnreadableSecret, blind_digests
from config.core.search_words import as_column, compounds_of, spellings_of, words_of
from config.mail.addresses import comparable
from credit.core.applicants import Person

_BATCH_ROWS = 500
# These limits apply to a typed name, because each word and each part of a word adds a condition to the query.
_WORDS_MAX = 10
_PARTS_MAX = 40
# ITU-T E.164 assigns these country codes of one and two digits. All other country codes have three digits.
_SHORT_CODES = re.compile(r"[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]")
# In Mexico (until 2019) and Argentina, this digit follows the country code of a mobile number in calls from abroad.
_MOBILE_DIGITS = {"52": "1", "54": "9"}
_PHONE_DIGITS_MIN = 6
_PHONE = re.compile(r"\+?[0-9\s().\-/\u2010-\u2015]+")
_DIALED_FIRST = ("011", "00", "0")  # callers dial these before a country code or a national number


def index_of(persons: Iterable[Person] | None, sha256: str | None) -> str | None:
    """Return the blind index of applicants in the format of the column, or None if there are no applicants.

    The index ends with the applicants' hash, which `out_of_date` compares.
    """
    if persons is None:
        return None
    terms = {term for person in persons for term in _terms_of(person)}
    return as_column([*sorted(blind_digests(term)[0] for term in terms), str(sha256)])


def out_of_date(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the applications with an outdated blind index.

    For example, a server of version 1.0 may have changed the applicants.
    """
    return rows.filter(applicants__isnull=False).exclude(applicant_index__contains=F("applicants_sha256"))


def applicant_filter(typed: str) -> Q | None:
    """Return a filter for applications with the typed name, email address, or phone number.

    Each typed word must equal a word of a legal name, in any order. The search ignores case, accents, and hyphens.
    `Müller` also finds `Mueller`, and vice versa. Returns None if the text can't be a name, an email address, or a
    phone number.
    """
    plain = _without_copied_signs(typed)
    if "@" in plain:
        return _has(f"email:{comparable(plain)}")
    if _PHONE.fullmatch(plain):
        digits = re.sub("[^0-9]", "", plain.replace("(0)", ""))
        prefixes = [] if plain.startswith("+") else [prefix for prefix in _DIALED_FIRST if digits.startswith(prefix)]
        # Remove each possible prefix. For example, a number with 011 can be an international call, or a local number in
        # Leeds (0113) or Buenos Aires (011).
        numbers = [digits.removeprefix(prefix) for prefix in prefixes or [""]]
        filters = [_has(f"phone:{number}") for number in numbers if len(number) >= _PHONE_DIGITS_MIN]
        return reduce(or_, filters) if filters else None
    if not compounds_of(typed):
        return None
    return reduce(or_, map(_has_words, spellings_of(typed)))


def _without_copied_signs(typed: str) -> str:
    """Normalize a text to NFKC and ASCII digits, and remove the invisible characters that address books copy."""
    seen = (sign for sign in normalize("NFKC", typed) if category(sign) != "Cf")
    return "".join(str(decimal(sign, sign)) for sign in seen).strip()


def index_rows(rows: QuerySet[Any], follow: Callable[[Any], None]) -> int:
    """Compute the blind index of these applications with the first key. Return the number of changed indexes.

    The function calls `follow` for each application in the same transaction, while the application's row is locked.
    """
    changed = 0
    rows = rows.filter(applicants__isnull=False).only(
        "provider_id", "applicants", "applicants_sha256", "applicant_index"
    )
    batch = list(rows.order_by("pk")[:_BATCH_ROWS])
    while batch:
        changed += sum(_index_row(application, follow) for application in batch)
        batch = list(rows.filter(pk__gt=batch[-1].pk).order_by("pk")[:_BATCH_ROWS])
    return changed


def _index_row(application: Any, follow: Callable[[Any], None]) -> int:
    try:
        index = index_of(application.applicants, application.applicants_sha256)
    except UnreadableSecret:
        return 0
    # If a request changed the applicants in the meantime, their hash differs, and the index is already up to date.
    same = type(application)._default_manager.filter(pk=application.pk, applicants__isnull=False)
    same = same.filter(applicants_sha256=application.applicants_sha256)
    with transaction.atomic():
        if not same.select_for_update().exists():
            return 0
        follow(application)
        if index == application.applicant_index:
            return 0
        return int(same.update(applicant_index=index))


def _terms_of(person: Person) -> Iterable[str]:
    for spelling in spellings_of(person["legal_name"]):
        yield from (f"name:{word}" for word in words_of(spelling))
    if email := person.get("email"):
        yield f"email:{comparable(email)}"
    if phone := person.get("phone"):
        digits = phone.removeprefix("+")
        code = _country_code_of(digits)
        national = digits.removeprefix(code)
        without_mobile_digit = national.removeprefix(_MOBILE_DIGITS.get(code, ""))
        # Some national numbers begin with 0, for example in Italy. `applicant_filter` removes this digit from the typed
        # number.
        numbers = {digits, national, national.removeprefix("0"), code + without_mobile_digit, without_mobile_digit}
        yield from (f"phone:{number}" for number in numbers)


def _country_code_of(digits: str) -> str:
    """Return the country code of a phone number in international format without `+`."""
    known = _SHORT_CODES.match(digits)
    return known[0] if known else digits[:3]


def _has_words(name: str) -> Q:
    compounds = compounds_of(name)[:_WORDS_MAX]
    parts_max = _PARTS_MAX // len(compounds)
    return reduce(and_, (_has_compound(parts, parts_max) for parts in compounds))


def _has_compound(parts: list[str], parts_max: int) -> Q:
    whole, different = _has_name("".join(parts)), list(dict.fromkeys(parts))[:parts_max]
    return whole if len(parts) == 1 else whole | reduce(and_, map(_has_name, different))


def _has_name(word: str) -> Q:
    return _has(f"name:{word}")


def _has(term: str) -> Q:
    return reduce(or_, (Q(_HasDigest("applicant_index", Value(digest))) for digest in blind_digests(term)))


class _HasDigest(Func):
    """The condition that a blind index contains a digest.

    For this condition, PostgreSQL uses the index `credit_app_applicants`.
    """

    function, template = "INSTR", "%(function)s(%(expressions)s) > 0"
    output_field = BooleanField()

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        template = "string_to_array(%(expressions)s]"
        return self.as_sql(compiler, connection, template=template, arg_joiner=", ' ') @> ARRAY[")

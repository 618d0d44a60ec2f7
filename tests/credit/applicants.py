"""Define a valid applicant, and invalid values for each field."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta

PERSON = {
    "legal_name": "Rosa Quillfeather",
    "email": "rosa@example.test",
    "phone": "+15035550100",
    "date_of_birth": "1980-02-29",
    "address": {
        "line1": "12 Cedar Street", "line2": None, "city": "Portland", "region": "OR", "postal_code": "97201",
        "country": "US",
    },
    "language": "es-US",
}  # fmt: skip
LEAST = {
    "legal_name": "Li Wei",
    "address": {"line1": "1 Road", "city": "Riga", "postal_code": "LV-1010", "country": "LV"},
}
# Only the application and its authorized readers may have these texts of PERSON.
SECRETS = ("Quillfeather", "rosa@example.test", "+15035550100", "1980-02-29", "12 Cedar Street", "97201")

GOOD = {
    "language": ["en", "es-US", "zh-Hant-TW", "sl-rozaj-biske-1994", "de-CH-x-phonebk", "en-a-myext-b-another"],
    "phone": ["+1234567", "+123456789012345"],
    "date_of_birth": ["1900-01-01", (datetime.now(UTC) - timedelta(days=1)).date().isoformat()],
    "legal_name": [
        "李伟", "Ó Súilleabháin, Máire", "x" * 200, "Suharto", "U", "عل\u06cc\u200cرض\u0627", "ශ්\u200dරී ලංකා",
        "क्\u200dष", "O\u2019Brien", "Nguyễn Thị Ánh",
        "Łukasz Żółć", "მარიამ", "Ὀδυσσεύς", "ຄໍາແພງ", "อภิสิทธิ์", "葛\U000e0100城",
        "D'Arcy-Smith", "X Æ A-12", "ምን ይልክ", "ნინო", "Иван Ёлкин", "שָׂרָה", "ᠮᠣᠩᠭᠣᠯ", "𞤀𞤣𞤤𞤢𞤥", "Ng", "Cher", "John 3rd",
        "Mc\u2011Neil",
    ],
    "email": ["a@b.co"],
    "address.country": ["DE", "GB", "ZW"], "address.line2": ["Apt 4"],
}  # fmt: skip
_TEXTS = (
    1, True, ["a"], {"a": 1}, "", " ", "\n", "a\nb", "a\u200bb", "x" * 201, "a\u202eb", "a\u2066b", "a\u200fb",
    "a\u061cb", "a\u200cb", "\u200cعلی", "a\u200db", "\u3164", "\u00a0", "\u2800", "a\tb", "a\u2028b", "a\ufeffb",
    "a\u00adb",
)  # fmt: skip
BAD = {
    "legal_name": (*_TEXTS, None),
    "email": (1, "", "rosa", "rosa@", "@example.test", "a b@example.test", "a@b\n.co", "a@b", "a@-b.co",
              f"{'x' * 65}@b.co", "a@b.co" + " " * 250, "a@x\u2028.co", f"{'x' * 250}@b.co", ["a@b.co"]),
    "phone": (15035550100, "", "15035550100", "+0123456789", "+123456", "+1234567890123456", "+1 503 555 0100",
              "+1503555010a", "+15035550100\n", "+٣٣٣٣٣٣٣٣٣"),
    "date_of_birth": ("1980-02-30", "1980-2-3", "19800203", "", 1980, "1889-01-01", "9999-12-31",
                      "0000-01-01", "1980-01-01T00:00:00Z"),
    "language": (1, "", "e", "english language", "en_US", "en-", "-en", "x" * 9, "en-x", "en\n", "en" + "-abcde" * 9),
    "address": (None, "12 Cedar Street", [], 1),
    "address.line1": (*_TEXTS, None),
    "address.line2": _TEXTS,
    "address.city": (*_TEXTS, None),
    "address.region": _TEXTS,
    "address.postal_code": (*_TEXTS, None, "9" * 21),
    "address.country": (None, 1, "", "us", "USA", "XX", "UK", "U", ["US"]),
}  # fmt: skip
MISSING = ("legal_name", "address", "address.line1", "address.city", "address.postal_code", "address.country")
UNKNOWN = ("name", "dateOfBirth", "address.zip", "address.state/region")


def changed(path, value, person=PERSON):
    """Return a person with another value at a path such as `address.city`."""
    person_copy = deepcopy(person)
    first, _, inner = path.partition(".")
    (person_copy[first] if inner else person_copy)[inner or first] = value
    return person_copy


def without(path, person=PERSON):
    """Return a person without the field at a path."""
    person_copy = deepcopy(person)
    first, _, inner = path.partition(".")
    del (person_copy[first] if inner else person_copy)[inner or first]
    return person_copy

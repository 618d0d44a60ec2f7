"""A JSON Schema (2020-12) of an application's applicants, from which clients build forms."""

from collections.abc import Mapping, Sequence
from typing import Any

from credit.core.applicants import APPLICANTS_MAX
from credit.core.countries import COUNTRIES, WITH_CITY, WITH_POSTAL_CODE, WITH_REGION

NAME_MAX_LENGTH = 200
LINE_MAX_LENGTH = 200
POSTAL_CODE_MAX_LENGTH = 20
EMAIL_MAX_LENGTH = 254
# The format of phone numbers is E.164.
PHONE = r"^\+[1-9][0-9]{6,14}$"
# This matches well-formed language tags (RFC 5646, 2.1), but not the older irregular tags.
LANGUAGE = (
    r"^([A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?"
    r"(-([0-9A-Za-z]{5,8}|[0-9][0-9A-Za-z]{3}))*(-[0-9A-WY-Za-wy-z](-[0-9A-Za-z]{2,8})+)*(-x(-[0-9A-Za-z]{1,8})+)?$"
)
LANGUAGE_MAX_LENGTH = 35

# Every applicant requires the fields ALWAYS. A submission requires the fields DUE, and an offer can require REQUIRABLE.
# The schema requires a city in every country, because some clients ignore conditions.
ALWAYS = ("legal_name", "address.line1", "address.city", "address.country")
DUE = ("legal_name", "address.line1", "address.city", "address.postal_code", "address.country")
REQUIRABLE = ("legal_name", "email", "phone", "date_of_birth", "address", "address.region", "language")
# Each of these fields is required only in the listed countries.
_ONLY_IN = {"address.city": WITH_CITY, "address.postal_code": WITH_POSTAL_CODE, "address.region": WITH_REGION}

# These are all fields of an applicant, in the order of a form.
PATHS = (
    "legal_name", "date_of_birth", "email", "phone", "language", "address.line1", "address.line2", "address.city",
    "address.region", "address.postal_code", "address.country",
)  # fmt: skip


def _text(title: str, longest: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "title": title, "minLength": 1, "maxLength": longest, **more}


_ADDRESS = {
    "line1": _text("Address line 1", LINE_MAX_LENGTH),
    "line2": _text("Address line 2", LINE_MAX_LENGTH),
    "city": _text("City", LINE_MAX_LENGTH),
    "region": _text("State or province", LINE_MAX_LENGTH),
    "postal_code": _text("Postal code", POSTAL_CODE_MAX_LENGTH),
    "country": {"type": "string", "title": "Country", "enum": list(COUNTRIES)},
}
_PERSON = {
    "legal_name": _text("Legal name", NAME_MAX_LENGTH),
    "email": _text("Email address", EMAIL_MAX_LENGTH, format="email"),
    "phone": _text("Phone number", 16, pattern=PHONE, description="With its country: +15035550199."),
    "date_of_birth": {"type": "string", "title": "Date of birth", "format": "date"},
    "language": _text("Language", LANGUAGE_MAX_LENGTH, pattern=LANGUAGE, description="Such as en or es-US."),
}


def schema_of(requires: Sequence[str]) -> Mapping[str, Any]:
    own = [name for name in _PERSON if name == "legal_name" or name in requires]
    there = [name for name in _ADDRESS if f"address.{name}" in ALWAYS]
    rules = [
        {"if": {"properties": {"country": {"enum": sorted(countries)}}}, "then": {"required": [path.partition(".")[2]]}}
        for path, countries in _ONLY_IN.items()
        if path not in ALWAYS and path in {*DUE, *requires}
    ]
    address = {
        "type": "object", "title": "Address", "properties": _ADDRESS, "required": there, "allOf": rules,
        "additionalProperties": False,
    }  # fmt: skip
    person = {
        "type": "object",
        "title": "Applicant",
        "properties": {**_PERSON, "address": address},
        "required": [*own, "address"],
        "additionalProperties": False,
    }
    return {"type": "array", "title": "Applicants", "minItems": 1, "maxItems": APPLICANTS_MAX, "items": person}


def is_required(person: Mapping[str, Any], path: str) -> bool:
    """Return whether the person's country requires this field. If the country is missing, every field is required."""
    countries, country = _ONLY_IN.get(path), person["address"].get("country")
    return countries is None or country is None or country in countries


def title_of_member(path: str) -> str:
    first, _, inner = path.partition(".")
    return str((_ADDRESS[inner] if inner else _PERSON[first])["title"])


def max_length_of(path: str) -> int:
    first, _, inner = path.partition(".")
    return int((_ADDRESS[inner] if inner else _PERSON[first])["maxLength"])


def value_at(person: Mapping[str, Any], path: str) -> Any:
    first, _, inner = path.partition(".")
    return person["address"].get(inner) if inner else person.get(first)

"""The applicants as JSON Schema 2020-12, for forms."""

from collections.abc import Mapping, Sequence
from typing import Any

from credit.api.applications import applicant_serializers
from credit.core.applicants import APPLICANTS_MAX
from credit.core.countries import COUNTRIES

# What everybody who is named has, and what an offer may ask for besides.
ALWAYS = ("legal_name", "address.line1", "address.city", "address.postal_code", "address.country")
REQUIRABLE = ("legal_name", "email", "phone", "date_of_birth", "address", "address.region", "language")

# Every member of a person, in the order of a form.
PATHS = (
    "legal_name", "date_of_birth", "email", "phone", "language", "address.line1", "address.line2", "address.city",
    "address.region", "address.postal_code", "address.country",
)  # fmt: skip


def _text(title: str, longest: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "title": title, "minLength": 1, "maxLength": longest, **more}


_ADDRESS = {
    "line1": _text("Address line 1", applicant_serializers.LINE_MAX_LENGTH),
    "line2": _text("Address line 2", applicant_serializers.LINE_MAX_LENGTH),
    "city": _text("City", applicant_serializers.LINE_MAX_LENGTH),
    "region": _text("State or province", applicant_serializers.LINE_MAX_LENGTH),
    "postal_code": _text("Postal code", applicant_serializers.POSTAL_CODE_MAX_LENGTH),
    "country": {"type": "string", "title": "Country", "enum": list(COUNTRIES)},
}
_PERSON = {
    "legal_name": _text("Legal name", applicant_serializers.NAME_MAX_LENGTH),
    "email": _text("E-mail address", applicant_serializers.EMAIL_MAX_LENGTH, format="email"),
    "phone": _text(
        "Phone number", 16, pattern=applicant_serializers.PHONE, description="With its country: +15035550199."
    ),
    "date_of_birth": {"type": "string", "title": "Date of birth", "format": "date"},
    "language": _text(
        "Language",
        applicant_serializers.LANGUAGE_MAX_LENGTH,
        pattern=applicant_serializers.LANGUAGE,
        description="Such as en or es-US.",
    ),
}


def schema_of(requires: Sequence[str]) -> Mapping[str, Any]:
    own = [name for name in _PERSON if name == "legal_name" or name in requires]
    there = [name for name in _ADDRESS if f"address.{name}" in {*ALWAYS, *requires}]
    address = {
        "type": "object", "title": "Address", "properties": _ADDRESS, "required": there, "additionalProperties": False,
    }  # fmt: skip
    person = {
        "type": "object",
        "title": "Applicant",
        "properties": {**_PERSON, "address": address},
        "required": [*own, "address"],
        "additionalProperties": False,
    }
    return {"type": "array", "title": "Applicants", "minItems": 1, "maxItems": APPLICANTS_MAX, "items": person}


def title_of_member(path: str) -> str:
    first, _, inner = path.partition(".")
    return str((_ADDRESS[inner] if inner else _PERSON[first])["title"])


def value_at(person: Mapping[str, Any], path: str) -> Any:
    first, _, inner = path.partition(".")
    return person["address"].get(inner) if inner else person.get(first)

import re
from datetime import UTC, date, datetime
from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema_field

from config.api import serializers
from config.core.json_text import escaped
from config.mail.addresses import normalize
from credit.core import applicant_schema
from credit.core.applicants import APPLICANTS_MAX
from credit.core.countries import COUNTRIES
from credit.core.errors import refusal_of

AGE_MAX_YEARS = 130
_NAME_SHOWN = 60


class PatternField(serializers.TextField):
    """A string that matches a pattern. Error messages describe the pattern with the text `wanted`."""

    default_error_messages = {"form": "Must be {wanted}."}

    def __init__(self, pattern: str, *, wanted: str, **options: Any) -> None:
        super().__init__(**options)
        self.pattern, self.wanted = re.compile(pattern, re.ASCII), wanted

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        # REST framework checks the length later, and matching a long string is slow.
        if len(text) > (self.max_length or 0) or not self.pattern.fullmatch(text) or text.endswith("\n"):
            self.fail("form", wanted=self.wanted)
        return text


class EmailField(serializers.PrintableIdField):
    """An email address, normalized with `normalize` like the addresses of accounts."""

    default_error_messages = {"email": "Must be an email address."}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if len(text) > applicant_schema.EMAIL_MAX_LENGTH:  # REST framework checks the length later
            self.fail("max_length", max_length=applicant_schema.EMAIL_MAX_LENGTH)
        try:
            return normalize(text)
        except ValidationError:
            self.fail("email")


class CountryField(serializers.OneOfField):
    default_error_messages = {"invalid_choice": "Must be an ISO 3166-1 code such as US."}

    def __init__(self, **options: Any) -> None:
        super().__init__(COUNTRIES, **options)


class Whole(serializers.RequestSerializer):
    """An object that rejects unknown fields. Otherwise, the values of misspelled fields would be lost."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = next((name for name in data if name not in self.fields), None)
            if unknown is not None:
                message = f"Unknown field. Allowed: {', '.join(self.fields)}."
                raise serializers.ValidationError({unknown[:_NAME_SHOWN]: [message]})
        return super().to_internal_value(data)


class ApplicantAddressRequestSerializer(Whole):
    """A residential address. Some countries require `city` and `postal_code`."""

    requires = ("line1", "country")
    line1 = serializers.WordsField(max_length=applicant_schema.LINE_MAX_LENGTH, help_text="The street and the number.")
    line2 = serializers.WordsField(
        max_length=applicant_schema.LINE_MAX_LENGTH,
        help_text="The apartment, the floor, or similar. Null if there is none.",
    )
    city = serializers.WordsField(
        max_length=applicant_schema.LINE_MAX_LENGTH,
        help_text="The city or town. Can be null if the country's addresses contain no city, such as in `SG`.",
    )
    region = serializers.WordsField(
        max_length=applicant_schema.LINE_MAX_LENGTH, help_text="The state or province. Null if there is none."
    )
    postal_code = serializers.WordsField(
        max_length=applicant_schema.POSTAL_CODE_MAX_LENGTH,
        help_text="The postal code. Can be null if the country does not require a postal code.",
    )
    country = CountryField(help_text="The ISO 3166-1 alpha-2 code, such as `US`, or `XK` for Kosovo.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name in ("city", "postal_code"):
            if attrs[name] is None and applicant_schema.is_required({"address": attrs}, f"address.{name}"):
                raise serializers.ValidationError({name: [f"Is required in {attrs['country']}."]})
        return attrs


class ApplicantRequestSerializer(Whole):
    """An applicant."""

    requires = ("legal_name", "address")
    legal_name = serializers.WordsField(
        max_length=applicant_schema.NAME_MAX_LENGTH, help_text="The name, as in an official document."
    )
    email = EmailField(
        max_length=applicant_schema.EMAIL_MAX_LENGTH,
        help_text="The email address, stored in lower case, with the domain in ASCII (IDNA 2008). Null if there is "
        "none.",
    )
    phone = PatternField(
        applicant_schema.PHONE,
        wanted="a number in E.164 such as +15035550199",
        max_length=16,
        help_text="The phone number in E.164, such as `+15035550199`. Null if there is none.",
    )
    date_of_birth = serializers.DayField(help_text="The date of birth, at most 130 years ago. Null if not stated.")
    address = ApplicantAddressRequestSerializer(help_text="The applicant's residential address.")
    language = PatternField(
        applicant_schema.LANGUAGE,
        wanted="a language tag (BCP 47) such as en or es-US",
        max_length=applicant_schema.LANGUAGE_MAX_LENGTH,
        help_text="The preferred language as a tag (BCP 47), such as `en` or `es-US`. Null if not stated.",
    )

    def validate_date_of_birth(self, value: str | None) -> str | None:
        if value is not None:
            born, today = date.fromisoformat(value), datetime.now(UTC).date()
            is_too_long_ago = (born.year + AGE_MAX_YEARS, born.month, born.day) < (today.year, today.month, today.day)
            if born >= today or is_too_long_ago:
                raise serializers.ValidationError(f"Must be in the past, at most {AGE_MAX_YEARS} years ago.")
        return value


def _response_fields(request: type[serializers.RequestSerializer]) -> dict[str, Any]:
    return {
        name: serializers.TextField(allow_null=field.allow_null, help_text=field.help_text)
        for name, field in request().fields.items()
    }


class ApplicantAddressSerializer(serializers.JsonPartSerializer):
    """A residential address."""

    def get_fields(self) -> dict[str, Any]:
        return _response_fields(ApplicantAddressRequestSerializer)


class ApplicantSerializer(serializers.JsonPartSerializer):
    """An applicant."""

    def get_fields(self) -> dict[str, Any]:
        fields = _response_fields(ApplicantRequestSerializer)
        return {**fields, "address": ApplicantAddressSerializer(help_text=fields["address"].help_text)}


@extend_schema_field(ApplicantRequestSerializer(many=True))
class ApplicantsRequestField(serializers.FreeField):
    """One or two applicants; errors have a JSON pointer."""

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        """Return the applicants with all of their fields.

        Raises ValidationFailed, whose messages never contain the values.
        """
        if not isinstance(data, list) or not 1 <= len(data) <= APPLICANTS_MAX:
            raise refusal_of([("/applicants", f"Must be a list of 1 to {APPLICANTS_MAX} persons.")])
        persons, refusals = [], []
        for number, applicant in enumerate(data):
            try:
                person = ApplicantRequestSerializer.shared().run_validation(applicant)
                persons.append({**person, "address": dict(person["address"])})
            except serializers.ValidationError as error:
                refusals += _pointers(error.detail, f"/applicants/{number}")
        if refusals:
            raise refusal_of(refusals)
        return persons


def _pointers(detail: Any, prefix: str) -> list[tuple[str, str]]:
    if not isinstance(detail, dict):
        return [(prefix, str(message)) for message in detail]
    pointers = []
    for name, inner in detail.items():
        is_whole = name == "non_field_errors"
        pointers += _pointers(inner, prefix if is_whole else f"{prefix}/{escaped(name)}")
    return pointers

"""The translations of an offer's texts, which have the structure of the offer."""

from typing import Any

from drf_spectacular.utils import extend_schema_field

from config.api import serializers
from credit.core import profile, translations
from credit.core.applicants import LANGUAGES
from credit.core.eu_credit import TERMS_TEXT_MAX_LENGTH, TEXT_MAX_LENGTH


def _text(description: str, max_length: int) -> dict[str, Any]:
    return {"type": "string", "description": description, "minLength": 1, "maxLength": max_length}


def _map(description: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "description": description, "additionalProperties": item}


def _object(about: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": about, "properties": properties, "additionalProperties": False}


_TRANSLATION = _object(
    "The offer's texts in a language. Each text is optional. The API rejects a translation of a text that the offer "
    "does not have.",
    name=_text("The name of the offer.", translations.NAME_MAX_LENGTH),
    description=_text("The description of the offer.", translations.OFFER_DESCRIPTION_MAX_LENGTH),
    application_schema=_object(
        "The texts of the schema.",
        title=_text("The title of the form.", profile.TITLE_MAX_LENGTH),
        description=_text("The introduction of the form.", profile.DESCRIPTION_MAX_LENGTH),
        properties=_map(
            "The texts of the fields, by the field's name.",
            _object(
                "The texts of a field.",
                title=_text("The label of the field.", profile.TITLE_MAX_LENGTH),
                description=_text("The help text of the field.", profile.DESCRIPTION_MAX_LENGTH),
                choices=_map(
                    "The words for the values in `enum`, by the value as a string.",
                    _text("The words for the value.", profile.TITLE_MAX_LENGTH),
                ),
            ),
        ),
    ),
    required_documents=_map(
        "The titles of the documents, by the title in `required_documents`.",
        _text("The title of the document.", translations.NAME_MAX_LENGTH),
    ),
    terms_text=_text("The lender's terms.", TERMS_TEXT_MAX_LENGTH),
    texts=_map("The texts for the rows of the European information form.", _text("The text.", TEXT_MAX_LENGTH)),
)


@extend_schema_field({
    "type": "object",
    "description": f"The translations by language, at most {translations.BYTES_MAX} bytes. In the offer's own "
    "`language`, only `choices` are allowed.",
    "properties": dict.fromkeys(LANGUAGES, _TRANSLATION),
    "additionalProperties": False,
})  # fmt: skip
class TranslationsField(serializers.FreeField):
    """The texts of an offer by language. `translations.check` validates them with the other terms."""

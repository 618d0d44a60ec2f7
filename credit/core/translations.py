"""The texts of an offer in further languages.

A translation has the structure of the offer: the offer's texts, the schema's texts, and the document titles. A text
without a translation is displayed in the offer's language, with this language as its `lang` (WCAG 3.1.2).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as _

from config.core.json_text import canonical_json, escaped
from config.core.names import clean_words
from credit.core.applicant_schema import LANGUAGE, LANGUAGE_MAX_LENGTH
from credit.core.applicants import LANGUAGES
from credit.core.errors import refusal_of
from credit.core.eu_credit import TERMS_TEXT_MAX_LENGTH, TEXT_MAX_LENGTH, applies
from credit.core.profile import DESCRIPTION_MAX_LENGTH, TITLE_MAX_LENGTH, Refusal, members_of

DEFAULT = LANGUAGES[0]  # the language of an offer without a `language`
NAME_MAX_LENGTH = 255
OFFER_DESCRIPTION_MAX_LENGTH = 2_000
BYTES_MAX = 65_536  # the maximum size of the translations' canonical JSON
_REFUSALS_MAX = 20
_NAME_SHOWN = 60


class Original(NamedTuple):
    """A text of an offer that can be translated. `is_long` allows line breaks."""

    text: str
    max_length: int
    is_long: bool = False


class Text(str):
    """A lender's text. `lang` is its language."""

    __slots__ = ("lang",)
    lang: str

    @classmethod
    def of(cls, text: str, lang: str) -> "Text":
        written = cls(text)
        written.lang = lang
        return written


def active_language() -> str:
    """Return the code of the page's language, without a region."""
    return (get_language() or DEFAULT)[:2]


def originals_of(terms: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return the texts that a translation into `language` can contain.

    Each text is an `Original`, in the translation's structure.

    A translation into the offer's own language contains only the texts of choices, because the schema has only the
    values of the choices.
    """
    schema = terms.get("application_schema") or {}
    members = {name: _originals_of_member(member) for name, member in members_of(schema).items()}
    if language == language_of_terms(terms):
        chosen = {name: {"choices": member["choices"]} for name, member in members.items() if "choices" in member}
        return _filled({"application_schema": _filled({"properties": chosen})})
    return _filled({
        **_originals_in(terms, ("name", NAME_MAX_LENGTH), ("description", OFFER_DESCRIPTION_MAX_LENGTH)),
        "application_schema": _filled({**_titles_in(schema), "properties": _filled(members)}),
        "required_documents": {name: Original(name, NAME_MAX_LENGTH) for name in terms.get("required_documents") or ()},
        **_originals_in(terms, ("terms_text", TERMS_TEXT_MAX_LENGTH)),
        "texts": {
            name: Original(text, TEXT_MAX_LENGTH, is_long=True)
            for name, text in (terms.get("texts") or {}).items()
            if applies(text)
        },
    })  # fmt: skip


def _originals_of_member(member: Mapping[str, Any]) -> dict[str, Any]:
    choices = {str(value): Original(str(value), TITLE_MAX_LENGTH) for value in member.get("enum", ())}
    return _filled({**_titles_in(member, always="title"), "choices": choices})


def _titles_in(schema: Mapping[str, Any], always: str = "") -> dict[str, Original]:
    lengths = (("title", TITLE_MAX_LENGTH), ("description", DESCRIPTION_MAX_LENGTH))
    return _originals_in({always: "", **schema}, *lengths, always=always)


def _originals_in(texts: Mapping[str, Any], *lengths: tuple[str, int], always: str = "") -> dict[str, Original]:
    return {
        name: Original(texts.get(name) or "", longest, is_long=name not in {"name", "title"})
        for name, longest in lengths
        if texts.get(name) or name == always
    }


def _filled(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def language_of_terms(terms: Mapping[str, Any]) -> str:
    """Return the language of an offer's own texts."""
    return terms.get("language") or DEFAULT


def check(terms: Mapping[str, Any]) -> None:
    """Raise ValidationFailed if the translations of an offer's terms are invalid. Each detail has a JSON pointer."""
    translations = terms["translations"]
    if translations is None:
        return
    refusals = list(islice(_refusals(translations, terms), _REFUSALS_MAX))
    if not refusals and len(canonical_json(translations)) > BYTES_MAX:
        refusals = [("", f"Must have at most {BYTES_MAX} bytes.")]
    if refusals:
        raise refusal_of([(f"/translations{where}", message) for where, message in refusals])


def _refusals(translations: Any, terms: Mapping[str, Any]) -> Iterator[Refusal]:
    allowed = {language: originals_of(terms, language) for language in LANGUAGES}
    yield from _refusals_in(translations, allowed, "")


def _refusals_in(value: Any, allowed: Any, here: str) -> Iterator[Refusal]:
    if isinstance(allowed, Original):
        if (why := _fault_of(value, allowed)) is not None:
            yield here, why
        return
    if not isinstance(value, dict):
        yield here, "Must be an object."
        return
    for name, part in value.items():
        if name in allowed:
            yield from _refusals_in(part, allowed[name], f"{here}/{escaped(name)}")
        elif here:
            names = ", ".join(allowed) or "none"
            yield here, f"The offer has no text {name[:_NAME_SHOWN]!r} to translate. Allowed: {names}."
        else:
            yield here, f"Unknown language {name[:_NAME_SHOWN]!r}. Allowed: {', '.join(allowed)}."


def _fault_of(value: Any, original: Original) -> str | None:
    """Return the error message of an invalid translation, or None."""
    if not isinstance(value, str) or not value.strip() or len(value) > original.max_length:
        return f"Must be a string of 1 to {original.max_length} characters."
    if not original.is_long and len(value.splitlines()) > 1:
        return "Must not contain a line break."
    try:
        for line in value.splitlines():
            if line.strip():
                clean_words(line)
    except ValueError as error:
        return str(error)
    return None


def pruned(translations: Mapping[str, Any] | None, terms: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the translations without the texts that the changed terms no longer have."""
    kept = {
        language: part
        for language, texts in (translations or {}).items()
        if (part := _pruned(texts, originals_of(terms, language)))
    }
    return kept or None


def _pruned(texts: Any, allowed: Any) -> Any:
    if isinstance(allowed, Original):
        return texts
    parts = {name: _pruned(part, allowed[name]) for name, part in texts.items() if name in allowed}
    return _filled(parts)


def in_language(terms: Mapping[str, Any], language: str | None = None) -> dict[str, Any]:
    """Return an offer's terms with the texts for readers of `language`, by default of the active language.

    Each text is a `Text` with its own language. A field with choices has `choices`, which maps each value as a string
    to its text. The titles of documents are not translated, because they identify the documents. `document_title`
    translates a title.
    """
    reader, own = (language or active_language())[:2], language_of_terms(terms)
    translations = terms.get("translations") or {}
    wanted, default = translations.get(reader) or {}, translations.get(own) or {}
    schema = terms.get("application_schema")
    read = {
        **terms,
        **_read(terms, wanted, ("name", "description", "terms_text"), reader, own),
        "texts": terms.get("texts") and _read(terms["texts"], wanted.get("texts", {}), terms["texts"], reader, own),
    }
    if schema:
        of_schema, of_default = (part.get("application_schema", {}) for part in (wanted, default))
        members, words = of_schema.get("properties", {}), of_default.get("properties", {})
        read["application_schema"] = {
            **schema,
            **_read(schema, of_schema, ("title", "description"), reader, own),
            "properties": {
                name: {
                    **member,
                    **_read(member, members.get(name, {}), ("title", "description"), reader, own),
                    "choices": {
                        **_texts_of(words.get(name, {}).get("choices", {}), own),
                        **_texts_of(members.get(name, {}).get("choices", {}), reader),
                    },
                }
                for name, member in members_of(schema).items()
            },
        }
    return read


def _read(
    texts: Mapping[str, Any], translated: Mapping[str, Any], names: Any, reader: str, own: str
) -> dict[str, Text | None]:
    return {
        name: Text.of(translated[name], reader) if translated.get(name) else Text.of(texts[name], own)
        for name in names
        if translated.get(name) or texts.get(name)
    }


def _texts_of(words: Mapping[str, str], language: str) -> dict[str, Text]:
    return {value: Text.of(text, language) for value, text in words.items()}


# English titles that lenders often give to documents. The catalogs translate them, so offers need not.
_COMMON_DOCUMENTS = frozenset({
    _("Payslip"), _("Payslips"), _("Pay stub"), _("Pay stubs"), _("Bank statement"), _("Bank statements"),
    _("Proof of address"), _("Proof of income"), _("Proof of identity"), _("Proof of employment"), _("Identity card"),
    _("Passport"), _("Driver's license"), _("Tax return"), _("Utility bill"), _("Employment contract"),
})  # fmt: skip


def document_title(terms: Mapping[str, Any] | None, title: str, language: str | None = None) -> Text:
    """Return the title of a document for readers of the active language.

    A reviewer can request a document that the offer does not have. `language` is the language of the requested
    document's title. If the lender provides no translation, the platform's message catalog translates common English
    titles.
    """
    offered = terms or {}
    reader = active_language()
    titles = ((offered.get("translations") or {}).get(reader) or {}).get("required_documents", {})
    if title in titles:
        return Text.of(titles[title], reader)
    written = language or language_of_terms(offered)
    common = title.strip().capitalize()
    if common in _COMMON_DOCUMENTS and written[:2] == DEFAULT != reader:
        return Text.of(gettext(common), reader)
    return Text.of(title, written)


def free_text(text: str, terms: Mapping[str, Any] | None, metadata: Any = None) -> Text:
    """Return a text that a reviewer wrote to the applicant. The language is in `metadata`. The default is the offer's
    language.
    """
    language = metadata.get("language") if isinstance(metadata, dict) else None
    is_tag = isinstance(language, str) and len(language) <= LANGUAGE_MAX_LENGTH and re.fullmatch(LANGUAGE, language)
    return Text.of(text, str(language) if is_tag else language_of_terms(terms or {}))


def languages_of(texts: Iterable[str]) -> dict[str, str]:
    """Return the language of each lender's text, for storage with the texts."""
    return {str(text): text.lang for text in texts if isinstance(text, Text)}


def with_languages(texts: Iterable[str], content: Mapping[str, Any]) -> list[str]:
    """Add the stored languages to stored texts.

    A text without a stored language, as in older content, is returned unchanged.
    """
    languages = content.get("languages", {})
    return [Text.of(text, languages[text]) if text in languages else text for text in texts]


def text_to_search(terms: Mapping[str, Any]) -> str:
    """Return the names and descriptions of an offer in all languages."""
    texts = (terms, *(terms.get("translations") or {}).values())
    return " ".join(filter(None, (each.get(name) for each in texts for name in ("name", "description"))))


def worded(text: str) -> str:
    """Return the platform's translation of a common text such as "Amount". Return any other text with its language."""
    translated = gettext(text)
    return text if translated == text else translated


def marked(text: Any) -> str | SafeString:
    """Return a text as HTML, with `lang` if its language differs from the page's language."""
    if lang := other_language(text):
        return format_html('<span lang="{}">{}</span>', lang, text)
    shown: str = text
    return shown


def other_language(text: Any) -> str:
    """Return the language of a text, or "" if the language is unknown or the page's language."""
    lang: str = getattr(text, "lang", "")
    return "" if lang.lower().partition("-")[0] == active_language() else lang


def marked_lines(text: str, terms: Mapping[str, Any] | None) -> SafeString:
    """Return a text with several lines as HTML, with `lang` for the offer's lines in another language."""
    read = in_language(terms or {})
    texts = filter(None, (read.get("terms_text"), *(read.get("texts") or {}).values()))
    lines = {line: Text.of(line, text.lang) for text in texts for line in text.splitlines()}
    return format_html_join("\n", "{}", ((marked(lines.get(line, line)),) for line in text.split("\n")))


def fill(sentence: str, text: Any) -> str | SafeString:
    """Insert a lender's text for the `%s` of a sentence, as HTML with its language."""
    return format_html(escape(sentence).replace("%s", "{}"), marked(text))

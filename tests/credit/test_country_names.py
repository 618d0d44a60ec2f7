"""Test the names of countries and languages."""

from credit.core.applicant_words import language_name


def test_language_name_is_displayed_in_that_language_and_an_unknown_language_as_a_language_tag():
    names = {"en": "English", "es": "Español", "es-US": "Español (Estados Unidos)", "de": "Deutsch"}
    unknown = {tag: tag for tag in ("", "x", "not a tag", "zz-ZZ")}
    assert {tag: language_name(tag) for tag in names | unknown} == names | unknown

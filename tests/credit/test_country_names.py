"""Test the names of countries and languages."""

import pytest

from credit.core.applicant_words import language_name


@pytest.mark.parametrize(
    ("tag", "name"), [("en", "English"), ("es", "Español"), ("es-US", "Español (Estados Unidos)"), ("de", "Deutsch")]
)
def test_language_name_is_displayed_in_that_language(tag, name):
    assert language_name(tag) == name


@pytest.mark.parametrize("tag", ["", "x", "not a tag", "zz-ZZ"])
def test_unknown_language_is_shown_as_its_tag(tag):
    assert language_name(tag) == tag

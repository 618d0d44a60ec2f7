"""Names of countries and languages."""

import pytest

from credit.core.country_names import language_name


@pytest.mark.parametrize(
    ("tag", "name"), [("en", "English"), ("es", "Español"), ("es-US", "Español (Estados Unidos)"), ("de", "Deutsch")]
)
def test_language_has_the_name_that_its_speakers_use(tag, name):
    assert language_name(tag) == name


@pytest.mark.parametrize("tag", ["", "x", "not a tag", "zz-ZZ"])
def test_unknown_language_stands_for_itself(tag):
    assert language_name(tag) == tag

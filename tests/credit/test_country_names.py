"""Test the names of countries and languages."""

from credit.core.applicant_words import applicant_value, language_name


def test_language_name_is_displayed_in_that_language_and_an_unknown_language_as_a_language_tag():
    names = {"en": "English", "es": "Español", "es-US": "Español (Estados Unidos)", "de": "Deutsch"}
    unknown = {tag: tag for tag in ("", "x", "not a tag", "zz-ZZ")}
    assert {tag: language_name(tag) for tag in names | unknown} == names | unknown


def test_applicants_values_are_displayed_with_names_of_states_and_grouped_north_american_phone_numbers():
    values = (
        ("address.region", "IA", "US", "Iowa"), ("address.region", "ON", "CA", "Ontario"),
        ("address.region", "AE", "US", "Armed Forces Europe"), ("address.region", "ON", "US", "ON"),
        ("address.region", "Cork", "IE", "Cork"), ("address.region", "IA", None, "IA"),
        ("phone", "+15035550100", None, "+1 503 555 0100"), ("phone", "+442079460958", "US", "+442079460958"),
        ("phone", "+1503555", "US", "+1503555"), ("legal_name", "IA", "US", "IA"),
    )  # fmt: skip
    for path, value, country, words in values:
        assert applicant_value(path, value, country) == words

"""Test the detection of fact names that reveal a prohibited ground or a person's age."""

import pytest

from credit.scoring.prohibited import is_prohibited, names_age, names_birth

PROHIBITED = [
    "race", "races", "applicant_race", "raceCode", "RACE", "person.race.code", "color", "skin-tone", "skinTone",
    "religion", "religious_affiliation", "national_origin", "nationalOrigin", "nationalorigin", "NationalOrigin",
    "sex", "sexes", "SEX", "personal_status_and_sex", "gender", "genderIdentity", "isFemale", "is_male",
    "marital_status", "maritalStatus", "maritalstatus", "marital-status", "marital.status", "civil_status", "married",
    "is_unmarried", "divorced", "spouse", "spouseIncome", "husband", "wife", "place_of_birth", "placeOfBirth",
    "countryofbirth", "birth_country", "nationality", "nationalities", "ethnicity", "ethnicGroup", "is_hispanic",
    "welfare", "public_assistance", "publicAssistanceCents", "birth_control", "pregnant", "ISPregnant", "a.b.c.sex",
    "sex2", "2sex",
]  # fmt: skip
ALLOWED = [
    "income", "monthly_income_cents", "housing", "employment.months", "grace_period", "trace", "embrace", "essex",
    "sussex", "racetrack", "colorado_branch", "discolored", "status", "origin", "purpose", "savings", "assistance",
    "marital", "national_id_present", "public_sector", "midwife_income", "address", "residence_status", "unrelated",
]  # fmt: skip


@pytest.mark.parametrize("path", PROHIBITED)
def test_prohibited_ground_is_recognized_by_its_name(path):
    assert is_prohibited(f"application_data.{path}")


@pytest.mark.parametrize("pointer", [
    "/marital status", "/Applicant's race", "/séx", "/\uff53\uff45\uff58", "/a~1b/sex", "/person/0/gender",
    "/religion?", "/skin tone", "/Familie/spouse (€)", "/place of birth", "/a.sex.b",
])  # fmt: skip
def test_pointer_to_a_prohibited_ground_is_recognized(pointer):
    assert is_prohibited(f"application_data#{pointer}")


@pytest.mark.parametrize("pointer", ["/age", "/applicant/age (years)", "/âge", "/persons/0/age", "/date of birth"])
def test_pointer_to_an_age_is_recognized(pointer):
    assert names_age(f"application_data#{pointer}")


@pytest.mark.parametrize("path", ALLOWED)
def test_field_name_that_only_resembles_a_prohibited_ground_is_allowed(path):
    assert not is_prohibited(f"application_data.{path}")
    assert not names_age(f"application_data.{path}")


@pytest.mark.parametrize("path", [
    "age", "Age", "applicantAge", "age_in_years", "ageYears", "age_years", "customer.age", "age.years", "age_group",
    "ageBand", "age_bracket", "current_age", "age_at_application", "age_over_62", "is.elderly", "my_age_in_months",
    "ages",
])  # fmt: skip
def test_age_is_recognized_by_its_name(path):
    assert names_age(f"application_data.{path}")
    assert not names_birth(f"application_data.{path}")


@pytest.mark.parametrize("path", [
    "dob", "DOB", "birth_date", "birthDate", "birthdate", "dateOfBirth", "date_of_birth", "birth.year", "person.birth",
    "yearofbirth.birth", "born", "born_on", "birthday", "birth_year",
])  # fmt: skip
def test_birth_date_is_recognized_as_a_fact_about_age(path):
    assert names_birth(f"application_data.{path}")
    assert names_age(f"application_data.{path}")


@pytest.mark.parametrize(
    "path",
    ["account_age", "age_of_account", "age_of_oldest_line", "vehicle.age_days", "average", "page", "mileage", "wage"],
)
def test_age_of_an_object_is_not_recognized_as_an_applicants_age(path):
    assert not names_age(f"application_data.{path}")


def test_name_of_a_platform_fact_is_not_matched_against_prohibited_words():
    assert not is_prohibited("identity.verified")
    assert not names_age("account.age_days")


@pytest.mark.timeout(10)
def test_very_long_fact_name_is_checked_within_seconds():
    for path in ("a" * 100_000, "aB" * 50_000, "A" * 100_000, "birth_" * 20_000, "_" * 100_000):
        is_prohibited(f"application_data.{path}")
        names_age(f"application_data.{path}")

"""Test that the register of personal data contains every field of every table."""

import json

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.management import call_command

from config.backoffice.personal import PersonalData
from config.core import privacy


def model_of(label):
    return apps.get_model(label)


def personal_tables():
    return {label: table for label, table in privacy.register().items() if privacy.personal_fields(model_of(label))}


def test_privacy_register_declares_exactly_the_fields_of_all_models():
    models = [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]
    stored = {model._meta.label: {field.name for field in model._meta.local_concrete_fields} for model in models}
    assert {label: set(table.fields) for label, table in privacy.register().items()} == stored


def test_privacy_register_rejects_a_field_declared_in_two_groups():
    with pytest.raises(ValueError, match="Declared twice: name"):
        privacy.table(privacy.personal("name"), privacy.none("name"))


@pytest.mark.django_db
def test_privacy_register_declares_subject_purpose_and_a_valid_erasure_of_every_personal_field():
    for label in personal_tables():
        for name, treatment in privacy.personal_fields(model_of(label)).items():
            field = model_of(label)._meta.get_field(name)
            assert treatment.erase != privacy.NULL or field.null, f"{label}.{name}"
    for label, table in personal_tables().items():
        assert table.subject, label
        assert table.purpose, label
    for label, table in personal_tables().items():
        if not table.by_value:
            assert not model_of(label)._base_manager.filter(**{table.subject: 1}).exists(), label


def test_back_office_pages_mask_every_masked_field_of_the_privacy_register():
    for model, page in admin.site._registry.items():
        if isinstance(page, PersonalData) and page.is_about_people:
            assert set(page.hidden_fields) == set(privacy.masked_fields(model))
    assert {"first_name", "last_name", "email"} == set(privacy.masked_fields(model_of("identity.User")))


def test_personal_data_command_prints_the_record_of_processing(capsys):
    call_command("personal_data", "--json")
    fields = {row["field"]: row for row in json.loads(capsys.readouterr().out)["fields"]}
    statement = fields["credit.ReviewRequest.statement"]
    assert (statement["subject"], statement["keep"]) == ("application__consumer", "application_records")
    assert "25 months from a notice" in statement["retention"]
    assert "12 CFR 1002.12(b)(1)" in statement["retention"]
    assert "credit.Application.status" not in fields


def test_personal_data_command_with_the_option_all_prints_every_declared_field(capsys):
    call_command("personal_data", "--all", "--json")
    rows = json.loads(capsys.readouterr().out)["fields"]
    assert len(rows) == sum(len(table.fields) for table in privacy.register().values())
    assert {row["kind"] for row in rows} == {"personal", "about_staff", "none"}

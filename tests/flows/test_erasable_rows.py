"""Test that an append-only row accepts only an update that blanks all personal columns."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import DatabaseError, transaction

from config.core.erasure import blank
from config.core.json_text import JsonTextField
from config.core.privacy import all_rows, personal_fields
from tests.factories import UserFactory
from tests.flows.markers import Planter, erasable

pytestmark = pytest.mark.django_db
OTHER_VALUES = {
    "CharField": "zz", "TextField": "zz", "UUIDField": "0" * 32, "DateField": "2020-01-01",
    "DateTimeField": "2020-01-01 00:00:00+00:00", "BooleanField": True,
}  # fmt: skip


def refused(rows, **columns):
    with pytest.raises(DatabaseError, match=r"append-only|never changes"), transaction.atomic():
        rows.update(**columns)


def other_value(row, field):
    """Return a value that a column of the row doesn't have, and that isn't blank."""
    kind = getattr(field, "target_field", field).get_internal_type()
    value = {"other": 1} if isinstance(field, JsonTextField) else OTHER_VALUES.get(kind, 77)
    return value if getattr(row, field.attname) != value else 78


def test_append_only_row_can_be_changed_only_by_erasing_all_personal_columns():
    user = UserFactory()
    entry = LogEntry.objects.create(
        user=user, content_type=ContentType.objects.get_for_model(user), object_id=user.pk, object_repr="qqmine",
        change_message="qqmine", action_flag=2,
    )  # fmt: skip
    planter = Planter(user, "qqmine", entry=entry)
    planter.plant()
    for model, operation in erasable().items():
        row = planter.row(model)
        row.refresh_from_db()
        rows = all_rows(model).filter(pk=row.pk)
        fields = {field.name: field for field in model._meta.local_concrete_fields}
        blanks = {name: blank(row, name, personal_fields(model)[name].erase) for name in operation.columns}
        for name in operation.columns:
            refused(rows, **{name: other_value(row, fields[name])})
        for name in fields.keys() - blanks.keys():
            if fields[name].column in (operation.never_change or [fields[name].column]):
                refused(rows, **blanks, **{fields[name].attname: other_value(row, fields[name])})
        assert rows.update(**blanks) == 1, operation.table
        if not operation.never_change:
            refused(rows, **blanks)
        for name in operation.columns:
            refused(rows, **{name: other_value(row, fields[name])})

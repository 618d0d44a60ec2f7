"""Create rows for one person in every table with personal data. Each personal text field contains a marker.

The privacy register lists the tables and fields, so that new ones are covered without a change here.
"""

import json
from datetime import timedelta
from functools import cache
from uuid import uuid4

from django.apps import apps
from django.db import models
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from config.core.append_only import AllowErasure
from config.core.json_text import JsonTextField
from config.core.privacy import all_rows, personal_fields, register
from credit.core.applicants import Applicants, ApplicantsField
from credit.models import DecisionAnchor, PartialApplicants, Score
from tests.credit.applicants import changed

# Constraints of the tables require these values.
NOW = timezone.now()
REQUIRED = {
    "api.IdempotencyRecord": {"status": 200, "body": b"{}"},
    "credit.Correction": {"outcome": ""},
    "credit.Counteroffer": {"outcome": ""},
    "credit.DecisionAnchor": {"record": "{}", "signature": ""},
    "credit.DocumentFile": {"infection": ""},
    "credit.Proposal": {"outcome": ""},
    "identity.BankItem": {"provider": "sandbox"},
    "identity.Consent": {"kind": "app"},
    "identity.ApiKey": {"expires_at": NOW + timedelta(days=1)},
    "credit.ModelVersion": {
        "definition": {"inputs": [], "base_points": 0, "characteristics": [], "outcomes": [{"outcome": "refer"}]}
    },
    "credit.Notice": {"status": "cancelled"},
    "credit.Report": {"applicant": 1},
    "payments.CryptoPayment": {"status": "expired"},
    "payments.Payment": {"status": "Failed"},
    "payments.CustodyAccount": {"provider_account_id": "x", "address": "x", "provisioned_at": NOW},
    "webhooks.Delivery": {"status": "delivered", "due_at": None},
}
# These rows fill nullable references.
REFERENCES = {"credit.DecisionAnchor": ["history"], "credit.DocumentFile": ["stored"], "credit.Notice": ["move"]}
PURPOSES = {"identity.OneTimeLink": "subject", "ops.RequestLine": "account_id"}


def personal_tables():
    """Return every model that finds its personal data by the account, in the order of the register."""
    tables = register().items()
    named = [apps.get_model(label) for label, table in tables if table.subject and not table.by_value]
    return [model for model in named if personal_fields(model)]


@cache
def erasable():
    """Return the migration operation that lets an erasure blank columns, by model of the append-only table."""
    operations = [each for match in MigrationLoader(None).disk_migrations.values() for each in match.operations]
    tables = {model._meta.db_table: model for model in apps.get_models()}
    return {tables[each.table]: each for each in operations if isinstance(each, AllowErasure)}


def rows_of(model, user):
    return all_rows(model).filter(**{register()[model._meta.label].subject: user.pk})


class Planter:
    """Creates rows of one person with `marker` in every personal text field."""

    def __init__(self, user, marker, **rows):
        self.user, self.marker, self.number = user, marker, 0
        self.rows = {apps.get_model("identity.User"): user, **{type(row): row for row in rows.values()}}

    def plant(self):
        """Create a row in each table, then set the markers: some columns are encrypted with the row's key."""
        for model in personal_tables():
            self.row(model)
        for model, row in self.rows.items():
            if model in personal_tables():
                self.mark(model, row)

    def row(self, model):
        if model not in self.rows:
            columns = {field.name: self.value(model, field) for field in model._meta.local_concrete_fields}
            self.rows[model] = self.create(model, columns | REQUIRED.get(model._meta.label, {}))
        return self.rows[model]

    def create(self, model, columns):
        columns = {name: value for name, value in columns.items() if name != "id" or value is not None}
        if PURPOSES.get(model._meta.label):
            columns[PURPOSES[model._meta.label]] = self.user.pk
        if model in erasable():  # An append-only row rejects a later change.
            columns |= {name: self.marked(model._meta.get_field(name)) for name in self.texts(model)}
        return all_rows(model).create(**columns)

    def value(self, model, field):
        if isinstance(field, models.ForeignKey):
            needed = [register()[model._meta.label].subject.split("__")[0], *REFERENCES.get(model._meta.label, ())]
            if field.null and field.name not in needed:
                return None
            return self.row(field.related_model)
        if field.primary_key and isinstance(field, models.AutoField | models.BigAutoField):
            return None
        if field.has_default():
            return field.get_default()
        if field.null:
            return None
        if isinstance(field, models.DateTimeField):
            return timezone.now()
        if isinstance(field, models.DateField):
            return timezone.now().date()
        if isinstance(field, JsonTextField | models.JSONField):
            return {}
        if isinstance(field, models.UUIDField):
            return uuid4()
        if isinstance(field, models.BooleanField):
            return False
        if isinstance(field, models.IntegerField | models.DecimalField):
            self.number += 1
            return self.number
        if isinstance(field, models.BinaryField):
            return b"x"
        if isinstance(field, models.GenericIPAddressField):
            return "127.0.0.1"
        if field.choices:
            return field.choices[-1][0]
        return uuid4().hex[: field.max_length]

    @staticmethod
    def texts(model):
        """Return the names of the personal fields that can contain a text."""
        fields = [model._meta.get_field(name) for name in personal_fields(model)]
        wide = [field for field in fields if isinstance(field, models.TextField | models.CharField | models.JSONField)]
        return [field.name for field in wide if (field.max_length or 99) >= 32 and not field.choices]

    def mark(self, model, row):
        names = [] if model in erasable() else self.texts(model)
        for name in names:
            setattr(row, name, self.marked(model._meta.get_field(name)))
        if names:
            row.save(update_fields=names)

    def marked(self, field):
        if isinstance(field, ApplicantsField):
            return Applicants.of([changed("legal_name", self.marker)])
        if field.model is Score and field.name == "sources":
            return [{"name": self.marker, "source": "platform", "as_of": None}]
        if isinstance(field, JsonTextField | models.JSONField):
            return {"text": self.marker}
        if field.model is DecisionAnchor and field.name == "openings":
            return json.dumps({"reason": {"value": self.marker, "nonce": "x"}})
        if field.model is PartialApplicants and field.name == "entered":
            return json.dumps([{"legal_name": self.marker}, {"legal_name": "the second applicant"}])
        return f"{self.marker}-{uuid4().hex}"[: field.max_length] if field.unique or field.max_length else self.marker


def places_of(marker):
    """Return `app.Model.field` for every decrypted database value that contains a marker."""
    places = set()
    for model in apps.get_models(include_auto_created=True):
        for row in all_rows(model):
            for field in model._meta.local_concrete_fields:
                value = field.value_from_object(row)
                text = str(value.persons) if isinstance(value, Applicants) else str(value)
                if marker in text:
                    places.add(f"{model._meta.label}.{field.name}")
    return places

"""Test that model serializers derive their fields from the columns."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from rest_framework import fields

from config.api import serializers
from config.webhooks.models import Delivery
from credit.models import Offer
from payments.models import Wallet


def serialized_example(of, *names, **options):
    class Shown(serializers.ModelResponseSerializer):
        class Meta:
            model = of
            fields = names
            extra_kwargs = options

    return Shown


COLUMNS = [
    (Delivery, "id", fields.UUIDField, False),
    (Delivery, "status", serializers.OneOfField, False),
    (Delivery, "due_at", fields.DateTimeField, True),
    (Delivery, "attempts", serializers.FreeField, False),
    (Delivery, "endpoint_id", fields.UUIDField, False),  # A foreign key is the key of its record,
    (Delivery, "account_id", serializers.TextField, False),  # and an account ID is a string.
    (Offer, "id", serializers.Int64Field, False),
    (Offer, "provider_id", serializers.TextField, False),
    (Offer, "apr_min_percent", serializers.NumberField, True),
    (Offer, "ab_test_allocation", serializers.Int32Field, True),
    (Offer, "nationwide", serializers.FlagField, True),
    (Wallet, "custody_account_id", fields.UUIDField, True),
]


def test_serializer_field_has_the_type_and_nullability_of_its_column():
    for model, name, kind, is_null in COLUMNS:
        field = serialized_example(model, name)().fields[name]
        assert (type(field), field.allow_null, field.required, field.read_only) == (kind, is_null, True, False)


def test_serializer_field_has_the_choices_of_its_column_and_the_declared_description():
    assert list(serialized_example(Wallet, "status")().fields["status"].choices) == ["connected", "disconnected"]
    assert (
        serialized_example(Wallet, "label", label={"help_text": "A label."})().fields["label"].help_text == "A label."
    )


def test_serializer_field_without_a_column_must_be_declared():
    for name in ["account_id", "is_custodial"]:
        with pytest.raises(ImproperlyConfigured):
            _ = serialized_example(Wallet, name)().fields

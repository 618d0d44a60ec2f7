"""Encrypted columns: unreadable in the database, unsearchable, rotated without a gap."""

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import FieldError
from django.db import connection

from config.core.encryption import UnreadableSecret, encrypted_fields
from config.ops.rotation import Rotated, rotate
from identity.models import ApiKey, SigningKey
from tests.api import bearer_of
from tests.identity.support import issue

pytestmark = pytest.mark.django_db


def everything_stored():
    """Return the bytes of every row of every table."""
    parts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            parts += [repr(row) for row in cursor.fetchall()]
    return "\n".join(parts)


def test_no_secret_is_found_in_the_database(user):
    issued, token = issue(user), bearer_of(user)
    stored = everything_stored()
    assert issued.record.pk in stored, "the search itself works"
    for secret in (issued.key, issued.secret, token, "PRIVATE KEY"):
        assert secret not in stored


def test_every_encrypted_column_is_known():
    known = {f"{model.__name__}.{field.name}" for model, field in encrypted_fields()}
    assert known >= {"ApiKey.secret", "SigningKey.private_key"}


def test_the_same_text_is_stored_differently_each_time(user):
    issued = issue(user)

    def stored():
        with connection.cursor() as cursor:
            cursor.execute("SELECT secret FROM identity_apikey")
            return cursor.fetchone()[0]

    before = stored()
    ApiKey.objects.get().save(update_fields=["secret"])
    assert stored() != before
    assert ApiKey.objects.get().secret == issued.secret


@pytest.mark.parametrize("lookup", ["secret", "secret__contains", "secret__in", "secret__startswith"])
def test_it_cannot_be_searched_for(user, lookup):
    issue(user)
    with pytest.raises(FieldError, match="encrypted"):
        list(ApiKey.objects.filter(**{lookup: ["x"] if lookup.endswith("in") else "x"}))


def test_a_key_that_is_gone_is_named_as_the_cause(user, settings):
    issue(user)
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(UnreadableSecret) as caught:
        _ = ApiKey.objects.get().secret
    assert caught.value.kind == "identity.ApiKey.secret"


def test_rotation_goes_through_more_rows_than_a_batch(user, settings, monkeypatch):
    monkeypatch.setattr("config.ops.rotation.BATCH_ROWS", 2)
    secrets = {issue(user).secret for _ in range(5)}
    old = settings.FIELD_ENCRYPTION_KEYS
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *old]
    SigningKey.objects.all().delete()
    assert rotate() == Rotated(rows=5, written=5)
    settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
    assert {key.secret for key in ApiKey.objects.all()} == secrets

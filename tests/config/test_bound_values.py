"""Test that an encrypted value is bound to its table, column, and primary key, so that a copy by SQL is rejected."""

import base64
import json

import pytest
from allauth.mfa.models import Authenticator
from django.core.exceptions import FieldError
from django.db import connection, transaction
from django.db.models import F
from django.db.utils import DatabaseError
from django.utils import timezone

from config.api.models import IdempotencyRecord
from config.core import encryption
from config.core.encryption import BINDING, BOUND, UNBOUND, UnreadableSecret, encrypted_fields, key_ring, mode
from config.ops import rotation
from config.ops.models import Installation
from config.ops.rotation import count_unbound, rotate
from config.webhooks.models import Endpoint
from credit.models import Application
from identity.accounts import codes
from identity.models import ApiKey
from payments.cards.models import Payment
from tests.api import assert_error, client_of
from tests.config.test_doctor import why
from tests.credit.applicants import LEAST, PERSON
from tests.factories import UserFactory
from tests.identity.support import issue
from tests.second_factors import authenticator_of, code_of
from tests.webhooks.conftest import make_endpoint, private_allowed  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db
PATH = "/applications"


def column(record, name):
    """Return a column as stored in the database."""
    with connection.cursor() as cursor:
        pk = record._meta.pk.get_db_prep_value(record.pk, connection)
        cursor.execute(f"SELECT {name} FROM {record._meta.db_table} WHERE {record._meta.pk.column} = %s", [pk])
        return cursor.fetchone()[0]


def write(record, name, value):
    """Write a column by SQL, past the models."""
    with connection.cursor() as cursor:
        pk = record._meta.pk.get_db_prep_value(record.pk, connection)
        table, key = record._meta.db_table, record._meta.pk.column
        cursor.execute(f"UPDATE {table} SET {name} = %s WHERE {key} = %s", [value, pk])


@pytest.fixture
def bound(db):
    """Run the rotation that binds values."""
    rotate()
    assert mode.read() == BOUND


@pytest.fixture
def apply_as(user):
    def make(owner, person, **options):
        body = {"consumer_id": str(owner.pk), "offer_id": 7_000, "provider_id": 8_000, "applicants": [person]}
        response = client_of(owner).send(PATH, body, **options)
        return Application.objects.get(pk=response.json()["id"])

    return make


def test_applicants_copied_to_another_application_by_sql_are_rejected(bound, api, user, stranger, apply_as):
    own, other = apply_as(user, LEAST), apply_as(stranger, PERSON)
    write(own, "applicants", column(other, "applicants"))
    for address in (f"{PATH}/{own.pk}", PATH):
        assert PERSON["legal_name"] not in json.dumps(assert_error(api.read(address), 503, "E5030"))
    with pytest.raises(UnreadableSecret):
        _ = Application.objects.get(pk=own.pk).applicants
    assert client_of(stranger).read(f"{PATH}/{other.pk}").json()["applicants"][0] == PERSON


def test_a_totp_secret_copied_or_written_in_plain_text_by_sql_is_rejected(bound, user, stranger):
    own, other = authenticator_of(user, "B" * 32), authenticator_of(stranger)
    assert codes.is_right(code_of("B" * 32), user=user)
    write(own, "data", json.dumps(other.data))
    assert not codes.is_right(code_of(), user=user)
    assert codes.is_right(code_of(), user=stranger)
    write(own, "data", json.dumps({"secret": "A" * 32}))
    assert not codes.is_right(code_of(), user=user), "written in plain text"


def test_a_value_copied_to_another_column_of_its_row_is_rejected(bound, make_endpoint):  # noqa: F811
    endpoint = make_endpoint()
    Endpoint.objects.update(previous_secret=F("secret"))
    endpoint = Endpoint.objects.get()
    assert endpoint.secret
    with pytest.raises(UnreadableSecret):
        _ = endpoint.previous_secret


def test_a_stored_response_copied_to_another_account_is_rejected(bound, key, user, stranger, apply_as):
    apply_as(user, LEAST, key=key)
    apply_as(stranger, PERSON, key=key)
    own, other = (IdempotencyRecord.objects.get(owner=owner) for owner in (user, stranger))
    write(own, "body", bytes(other.body))
    body = {"consumer_id": str(user.pk), "offer_id": 7_000, "provider_id": 8_000, "applicants": [LEAST]}
    assert_error(client_of(user).send(PATH, body, key=key), 503, "E5030")


def test_encrypted_values_not_bound_to_their_row_are_rejected_only_after_the_key_rotation(user, stranger):
    issued, other = issue(user), issue(stranger)
    copied = column(issued.record, "secret")
    assert copied.startswith("gAAAA")
    assert ApiKey.objects.get(pk=issued.record.pk).secret == issued.secret
    write(other.record, "secret", copied)
    assert ApiKey.objects.get(pk=other.record.pk).secret == issued.secret
    write(other.record, "secret", key_ring().encrypt(other.secret.encode()).decode())
    rotate()
    assert column(issued.record, "secret").startswith("b1.")
    assert count_unbound() == 0
    for record in (issued.record, other.record):
        write(record, "secret", copied)
        with pytest.raises(UnreadableSecret):
            _ = ApiKey.objects.get(pk=record.pk).secret
    assert count_unbound() == 2
    assert {value.record_id for value in rotate().unreadable} == {issued.record.pk, other.record.pk}


def test_encrypted_values_written_after_the_rotation_are_bound_to_their_row_with_a_unique_nonce(bound, user):
    issued = issue(user)
    assert column(issued.record, "secret").startswith("b1.")
    assert ApiKey.objects.get().secret == issued.secret
    record = issue(user).record
    seen = set()
    for _ in range(5):
        record.save(update_fields=["secret"])
        seen.add(base64.urlsafe_b64decode(column(record, "secret")[3:])[:12])
    assert len(seen) == 5


def test_damaged_encrypted_values_are_unreadable_in_every_mode(user):
    record = issue(user).record
    for content in ["", "b1.", "b1.%", "b1.AAAA", "w1.AAAA", "gAAAA", "plain text", "b1.é"]:
        for word in (UNBOUND, BINDING, BOUND):
            mode.word = word
            write(record, "secret", content)
            with pytest.raises(UnreadableSecret):
                _ = ApiKey.objects.get().secret


def test_killed_encryption_key_rotation_is_continued_by_the_next_rotation(user, monkeypatch):
    issued = {key.record.pk: key.secret for key in (issue(user) for _ in range(5))}
    monkeypatch.setattr(rotation, "BATCH_ROWS", 2)
    again, calls = rotation.sealed_again, []

    def killed(content, place):
        calls.append(place)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return again(content, place)

    monkeypatch.setattr(rotation, "sealed_again", killed)
    with pytest.raises(KeyboardInterrupt):
        rotate()
    forms = sorted(column(record, "secret")[:3] for record in ApiKey.objects.all())
    assert forms == ["b1."] * 2 + ["gAA"] * 3
    assert mode.read() == Installation.objects.get().encryption == BINDING
    assert {record.pk: record.secret for record in ApiKey.objects.all()} == issued
    monkeypatch.setattr(rotation, "sealed_again", again)
    rotated = rotate()
    assert (rotated.rows, rotated.written, rotated.unreadable) == (5, 3, [])
    assert mode.read() == BOUND
    assert {record.pk: record.secret for record in ApiKey.objects.all()} == issued


def test_process_reads_the_encryption_mode_again_after_its_cache_expires(user, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(encryption.time, "monotonic", lambda: now[0])
    mode.forget()
    assert mode.read() == UNBOUND
    Installation.objects.update(encryption=BINDING)
    now[0] += encryption.REREAD_SECONDS - 0.1
    assert mode.read() == UNBOUND
    now[0] += 0.1
    assert mode.read() == BINDING
    assert rotation.SETTLE_SECONDS == 0.0, "tests do not wait"


def test_database_rejects_a_return_to_encrypted_values_without_row_binding(bound):
    with pytest.raises(DatabaseError, match="keeps its last value"), transaction.atomic():
        Installation.objects.update(encryption=UNBOUND)
    with pytest.raises(DatabaseError, match="keeps its last value"), transaction.atomic():
        Installation.objects.all().delete()


def test_sessions_and_idempotent_retries_survive_an_encryption_mode_change(client, user, key, apply_as):
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    created = apply_as(user, PERSON, key=key)
    authenticator_of(user)
    rotate()
    assert client.get("/account/").status_code == 200
    body = {"consumer_id": str(user.pk), "offer_id": 7_000, "provider_id": 8_000, "applicants": [PERSON]}
    response = client_of(user).send(PATH, body, key=key)
    assert (response["Idempotent-Replayed"], response.json()["id"]) == ("true", str(created.pk))
    assert codes.is_right(code_of(), user=user)
    assert Authenticator.objects.get().data["secret"].startswith("b1.")


def test_the_token_of_a_payment_is_bound_to_its_database_id(bound, user):
    payment = Payment.objects.create(
        user=user, amount_cents=100, fee_amount_cents=1, currency="usd", payment_method_id="pm", processor="sandbox",
        processor_key="payment-1", method_token="tok", due_at=timezone.now(), created_at=timezone.now(),
    )  # fmt: skip
    assert payment.method_token == "tok"
    assert Payment.objects.get(pk=payment.pk).method_token == "tok"
    automatic = {model for model, _ in encrypted_fields() if model._meta.auto_field}
    assert automatic == {Payment}, "another model needs a `save` as that of Payment"


@pytest.mark.parametrize("word", [UNBOUND, BOUND])
def test_queryset_update_of_an_encrypted_field_raises_field_error(user, word):
    mode.word = word
    issued = issue(user)
    for change in (
        lambda: ApiKey.objects.update(secret="plain"),
        lambda: ApiKey.objects.bulk_update([issued.record], ["secret"]),
    ):
        with pytest.raises(FieldError, match="sealed_values"), transaction.atomic():
            change()
    ApiKey.objects.update(**encryption.sealed_values(issued.record, secret="new"))
    assert ApiKey.objects.get().secret == "new"


def test_bulk_create_binds_encrypted_values_to_each_row(bound, user):
    now = timezone.now()
    times = {"created_at": now, "updated_at": now}
    endpoints = [
        Endpoint(account=UserFactory(), url="https://a.example", secret=f"s{at}", event_types=["*"], **times)
        for at in range(2)
    ]
    Endpoint.objects.bulk_create(endpoints)
    assert {endpoint.secret for endpoint in Endpoint.objects.all()} == {"s0", "s1"}


def test_secret_of_an_authenticator_that_a_user_adds_is_bound_to_the_account(bound, user, rf):
    request = rf.get("/")
    request.user = user
    from allauth.core.context import request_context
    from allauth.mfa.adapter import get_adapter

    with request_context(request):
        encrypted = get_adapter().encrypt("A" * 32)
    assert encrypted.startswith("b1.")
    assert codes.open_secret(encrypted, user.pk) == "A" * 32


def test_doctor_reports_the_encryption_mode_and_the_values_not_bound_to_a_row(user):
    record = issue(user).record
    authenticator_of(user)
    assert why("encryption_mode").startswith("warning: mode unbound, 2 stored values are not bound")
    rotate()
    assert why("encryption_mode") == "mode bound, 0 stored values are not bound to their rows"
    write(record, "secret", key_ring().encrypt(b"x").decode())
    assert why("encryption_mode").startswith(
        "warning: mode bound, 1 stored values are not bound to their rows, and the program rejects them"
    )

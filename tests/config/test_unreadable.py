"""Test that an undecryptable secret is logged and does not affect other records."""

import json
from io import StringIO
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import FieldError
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from config.api.models import IdempotencyRecord
from config.core.encryption import Sealed, UnreadableSecret
from config.ops.rotation import Rotated, rotate
from config.webhooks.models import Delivery, Endpoint
from identity.access import signing_keys
from identity.access.tokens import start_family
from identity.accounts.codes import is_right
from identity.bank.models import BankItem
from identity.models import ApiKey, SigningKey
from payments.cards.models import FAILED, Payment
from payments.models import SandboxCharge
from tests.api import ApiClient, assert_error
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.identity.support import issue, signed_call
from tests.identity.test_bankdata_exchange import exchange
from tests.second_factors import authenticator_of, code_of
from tests.webhooks.conftest import emit, make_endpoint, private_allowed, receiver, work  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db


def stored(record, column):
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {column} FROM {record._meta.db_table} WHERE {record._meta.pk.column} = %s", [_pk(record)]
        )
        return cursor.fetchone()[0]


def _pk(record):
    field = record._meta.pk
    return field.get_db_prep_value(record.pk, connection)


def lose_the_key(record, column="secret"):
    """Store a value encrypted with a lost key; return that key."""
    key = Fernet.generate_key()
    closed = Fernet(key).encrypt(b"lost").decode()
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {record._meta.db_table} SET {column} = %s WHERE {record._meta.pk.column} = %s",
            [closed, _pk(record)],
        )
    return key.decode()


@pytest.fixture
def named(caplog):
    """Return a function that returns the logged (kind, id) pairs."""
    sentence = "no key of FIELD_ENCRYPTION_KEYS opens "

    def read():
        said = [record.getMessage() for record in caplog.records if record.name == "platform.encryption"]
        return {tuple(item.removeprefix(sentence).split(" of ")) for item in said}

    return read


def test_row_with_an_undecryptable_secret_can_be_read(user):
    issue(user)
    lose_the_key(ApiKey.objects.get())
    key = ApiKey.objects.get()
    assert key.name == "test"
    with pytest.raises(UnreadableSecret) as caught:
        _ = key.secret
    assert (caught.value.kind, caught.value.record_id) == ("identity.ApiKey.secret", key.pk)
    assert "FIELD" not in str(caught.value)
    assert isinstance(ApiKey.objects.values_list("secret", flat=True).get(), Sealed)


def test_unreadable_webhook_secret_does_not_block_other_webhooks(receiver, make_endpoint, emit, work, stranger, named):  # noqa: F811
    broken = make_endpoint(receiver.url)
    make_endpoint(receiver.url, owner=stranger)
    lose_the_key(broken)
    emit(2)
    emit(3, owner=stranger)
    assert work()["delivered"] == 3
    assert len(receiver.received) == 3
    held = Delivery.objects.filter(endpoint=broken)
    assert {delivery.status for delivery in held} == {"pending"}
    assert {delivery.attempts[0]["error"] for delivery in held} == {"secret_unreadable"}
    assert named() == {("webhooks.Endpoint.secret", str(broken.pk))}


def test_events_blocked_by_an_unreadable_secret_are_sent_after_its_rotation(api, receiver, make_endpoint, emit, work):  # noqa: F811
    broken = make_endpoint(receiver.url)
    lose_the_key(broken)
    emit(2)
    work()
    assert api.send(f"/webhooks/endpoints/{broken.pk}/rotate-secret", {}).status_code == 200
    Delivery.objects.update(due_at=timezone.now())
    assert work()["delivered"] == 2


def test_unreadable_previous_webhook_secret_does_not_block_the_new_secret(api, receiver, make_endpoint, emit, work):  # noqa: F811
    endpoint = make_endpoint(receiver.url)
    api.send(f"/webhooks/endpoints/{endpoint.pk}/rotate-secret", {})
    lose_the_key(endpoint, "previous_secret")
    emit()
    assert work()["delivered"] == 1


def test_api_key_with_an_undecryptable_signing_secret_still_authenticates(user, stranger, named):
    broken, whole = issue(user), issue(stranger)
    lose_the_key(broken.record)
    assert ApiClient().read("/auth/me", **{"X-API-Key": broken.key}).status_code == 200
    answer = assert_error(signed_call(broken, "GET", "/v1/auth/me"), 401, "E2006")
    assert "Rotate the key" in answer["message"]
    assert signed_call(whole, "GET", "/v1/auth/me").status_code == 200
    assert named() == {("identity.ApiKey.secret", broken.record.pk)}


def test_log_contains_the_account_of_an_undecryptable_second_factor(user, named):
    authenticator = authenticator_of(user)
    authenticator.data["secret"] = Fernet(Fernet.generate_key()).encrypt(b"lost").decode()
    authenticator.save()
    assert not is_right(code_of(), user=user)
    assert named() == {("a second factor", f"account {user.pk}")}


def test_log_contains_the_account_and_the_key_of_an_undecryptable_response(api, user, named):
    key, body = str(uuid4()), {"url": "https://receiver.example/hook"}
    assert api.send("/webhooks/endpoints", body, key=key).status_code == 201
    IdempotencyRecord.objects.update(body=Fernet(Fernet.generate_key()).encrypt(b"lost"))
    assert_error(api.send("/webhooks/endpoints", body, key=key), 503, "E5030")
    assert named() == {("a response under an Idempotency-Key", f"account {user.pk}, {key}")}


def test_account_with_an_unreadable_bank_token_must_link_the_bank_again(api, user, named):
    exchange(api, user)
    item = BankItem.objects.get()
    lose_the_key(item, "access_token")
    answer = assert_error(api.read(f"/bankdata/accounts/{user.pk}"), 502, "E5004")
    assert answer["details"]["mode"] == "link"
    assert answer["details"]["link_token"]
    assert named() == {("identity.BankItem.access_token", str(item.pk))}


def test_an_older_signing_key_signs_if_the_newest_is_unreadable(user):
    for _ in range(2):
        signing_keys.create_signing_key(now=timezone.now(), signs_from=timezone.now())
    newest = SigningKey.objects.first()
    lose_the_key(newest, "private_key")
    signing_keys.key_ring.forget()
    try:
        kid, _private = signing_keys.key_ring.signing()
        assert kid != newest.pk
        assert signing_keys.key_ring.verifying(newest.pk)
    finally:
        signing_keys.key_ring.forget()


def test_a_payment_with_an_unreadable_token_fails_without_a_charge(api, user):
    answer = api.send("/payments/process", {
        "amount_cents": 100, "payment_method_id": "pm_sandbox_timeout", "user_id": user.pk,
    })  # fmt: skip
    assert answer.status_code == 502, answer.content
    SandboxCharge.objects.all().delete()  # The charge did not arrive.
    payment = Payment.objects.get()
    lose_the_key(payment, "method_token")
    Payment.objects.update(due_at=timezone.now())
    call_command("reconcile_payments", "--once", stdout=StringIO())
    payment.refresh_from_db(fields=["status"])
    assert payment.status == FAILED
    assert not SandboxCharge.objects.exists()


def test_prune_succeeds_with_an_undecryptable_secret(user):
    lose_the_key(issue(user).record)
    call_command("prune", stdout=StringIO())


def test_encryption_key_rotation_reports_undecryptable_values_and_finishes(user, stranger, settings):
    lost, kept = issue(user), issue(stranger)
    key = lose_the_key(lost.record)
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]
    out = StringIO()
    with pytest.raises(CommandError, match="1 values did not change") as failure:
        call_command("rotate_encryption_key", as_json=True, stdout=out)
    assert failure.value.returncode == 1
    result = json.loads(out.getvalue().splitlines()[-1])
    name = {"kind": "identity.ApiKey.secret", "record_id": lost.record.pk}
    assert (result["unreadable"], result["values"]) == (1, [name])
    settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
    assert ApiKey.objects.get(pk=kept.record.pk).secret == kept.secret
    assert stored(lost.record, "secret").startswith("w1."), "it is bound to its row, and opens once its key is found"
    newest = Fernet.generate_key().decode()
    settings.FIELD_ENCRYPTION_KEYS = [newest, *settings.FIELD_ENCRYPTION_KEYS]
    assert len(rotate().unreadable) == 1
    settings.FIELD_ENCRYPTION_KEYS = [newest, key]
    assert ApiKey.objects.get(pk=lost.record.pk).secret == "lost"
    assert rotate() == Rotated(rows=2, written=1)
    settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
    assert ApiKey.objects.get(pk=lost.record.pk).secret == "lost"


def test_back_office_page_reports_that_a_secret_cannot_be_decrypted(make_endpoint):  # noqa: F811
    endpoint = make_endpoint()
    lose_the_key(endpoint)
    backoffice = backoffice_client(staff_of("Operations"))
    assert backoffice.get("/admin/webhooks/endpoint/").status_code == 200
    assert "which no key decrypts" in backoffice.get(f"/admin/webhooks/endpoint/{endpoint.pk}/change/").content.decode()
    assert Endpoint.objects.get().status == "enabled"


def everything_stored():
    """Return the bytes of every row of every table."""
    parts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            parts += [repr(row) for row in cursor.fetchall()]
    return "\n".join(parts)


def test_database_contains_no_plaintext_secret(user):
    issued, pair = issue(user), start_family(user=user, now=timezone.now())
    stored = everything_stored()
    assert issued.record.pk in stored, "the search itself works"
    assert issued.record.fingerprint[:8] in stored
    for secret in (issued.key, issued.secret, pair.access_token, pair.refresh_token, "PRIVATE KEY"):
        assert secret not in stored


def test_filter_on_an_encrypted_column_raises_an_error(user):
    issue(user)
    for lookup in ["secret", "secret__contains", "secret__in", "secret__startswith"]:
        with pytest.raises(FieldError, match="encrypted"):
            list(ApiKey.objects.filter(**{lookup: ["x"] if lookup.endswith("in") else "x"}))

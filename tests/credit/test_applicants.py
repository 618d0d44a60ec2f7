"""Test the encrypted `applicants` of an application."""

import json
import logging
from datetime import timedelta
from hashlib import sha256

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import connection
from django.test.utils import override_settings
from django.utils import timezone

from config.api.models import IdempotencyRecord
from config.core.json_text import canonical_json
from config.ops.rotation import rotate
from config.webhooks.models import Event
from credit.models import Application, ApplicationRevision
from tests.api import assert_error
from tests.credit.applicants import BAD, GOOD, LEAST, MISSING, PERSON, SECRETS, UNKNOWN, changed, without

pytestmark = pytest.mark.django_db
PATH = "/applications"


@pytest.fixture
def body(user):
    return {"consumer_id": str(user.pk), "offer_id": 7_000, "provider_id": 8_000, "applicants": [PERSON]}


@pytest.fixture
def created_application(api, body):
    return api.send(PATH, body).json()


def replace(api, created_application, persons, **more):
    return api.call("PUT", f"{PATH}/{created_application['id']}", {"updated_by": "me", "applicants": persons, **more})


def everything_kept():
    """Return the content of all tables as text, except the table that links applications to accounts."""
    kept = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            kept += [
                bytes(value).decode(errors="replace") if isinstance(value, (bytes, memoryview)) else str(value)
                for row in cursor.fetchall()
                for value in row
            ]
    return "\n".join(kept)


def test_applicants_are_returned_as_sent(api, body):
    two = api.send(PATH, {**body, "applicants": [PERSON, LEAST]})
    created = two.json()
    nulls = dict.fromkeys(("email", "phone", "date_of_birth", "language"))
    address = {**LEAST["address"], "line2": None, "region": None}
    assert created["applicants"] == [PERSON, {**LEAST, **nulls, "address": address}]
    assert api.read(f"{PATH}/{created['id']}").content == two.content
    assert api.read(PATH, limit=50).json()[0] == created


def test_applicants_are_encrypted_in_every_table_and_absent_from_logs(api, body, key, caplog):
    caplog.set_level(logging.DEBUG)
    first = api.send(PATH, body, key=key)
    replace(api, first.json(), [changed("email", "rosa@example.test.invalid"), PERSON])
    assert Event.objects.count() == 2
    kept, logged = everything_kept(), caplog.text
    assert [secret for secret in SECRETS if secret in kept or secret in logged] == []
    assert api.send(PATH, body, key=key).content == first.content
    assert IdempotencyRecord.objects.filter(key=key).exists()


def test_applicants_hash_includes_a_nonce_and_the_returned_applicants(created_application):
    row = Application.objects.get()
    hashed = row.applicants.nonce + canonical_json(created_application["applicants"])
    assert row.applicants_sha256 == row.applicants.sha256 == sha256(hashed).hexdigest()
    assert len(row.applicants.nonce) == 32
    assert SECRETS[0] not in f"{row.applicants!r} {row.applicants} {row}"


def table():
    for path, values in BAD.items():
        yield from ((path, changed(path, value)) for value in values)
    yield "date_of_birth", changed("date_of_birth", timezone.now().date().isoformat())
    today = timezone.now().date()
    long_ago = today.replace(year=today.year - 130, day=1) - timedelta(days=1)
    yield "date_of_birth", changed("date_of_birth", long_ago.isoformat())
    yield from ((path, without(path)) for path in MISSING)
    yield from ((path, changed(path, "x")) for path in UNKNOWN)


def test_error_for_an_invalid_applicant_field_contains_the_pointer_without_the_value(api, user, body):
    for path, person in table():
        answer = assert_error(api.send(PATH, {**body, "applicants": [PERSON, person]}), 400, "E1001")
        first, _, inner = path.partition(".")
        pointer = "/".join(("/applicants/1", first, *([inner.replace("/", "~1")] if inner else [])))
        assert [detail["field"] for detail in answer["details"]] == [pointer], (path, person, answer)
        assert [secret for secret in SECRETS if secret in json.dumps(answer)] == []
    assert Application.objects.count() == 0


def test_unicode_spaces_in_names_and_addresses_become_one_space(api, created_application):
    for sent, kept in (
        ("Anna\u00a0Maria", "Anna Maria"), ("李\u3000伟", "李 伟"), ("Ana\u2009\u202fLuz", "Ana Luz"),
        ("  Li  Wei ", "Li Wei"),
    ):  # fmt: skip
        for path in ("legal_name", "address.line1", "address.city"):
            stored = replace(api, created_application, [changed(path, sent)]).json()["applicants"]
            assert stored == [changed(path, kept)], (path, sent)


def test_email_address_is_stored_in_lower_case_with_idna_2008(api, created_application):
    for sent, kept in (
        ("Rosa@Example.Test", "rosa@example.test"), ("foo@straße.de", "foo@xn--strae-oqa.de"),
        ("rosa@b\u00fccher.example", "rosa@xn--bcher-kva.example"), (" a@b.co ", "a@b.co"),
        ("a@fa\u00df.de", "a@xn--fa-hia.de"), ("a@\uff42.co", "a@b.co"), ("a@b\u3002co", "a@b.co"),
        ("o'brien@b.co", "o'brien@b.co"), ("a+tag@b.co", "a+tag@b.co"),
    ):  # fmt: skip
        stored = replace(api, created_application, [changed("email", sent)]).json()["applicants"]
        assert stored == [changed("email", kept)], sent


# Countries without postal codes (UPU), then countries where postal codes are optional.
ADDRESSES = [
    ("HK", "Kowloon"), ("AE", "Dubai"), ("PA", "Ciudad de Panamá"), ("JM", "Kingston"), ("QA", "Doha"), ("GH", "Accra"),
    ("UG", "Kampala"), ("ZW", "Harare"), ("FJ", "Suva"), ("BS", "Nassau"), ("AO", "Luanda"), ("RW", "Kigali"),
    ("IE", "Dún Laoghaire"), ("CO", "Bogotá"), ("NG", "Lagos"), ("KE", "Nairobi"), ("VN", "Hà Nội"),
    ("XK", "Prishtinë"),
]  # fmt: skip


def test_address_without_a_postal_code_is_accepted_if_the_country_uses_no_postal_codes(api, created_application):
    for country, city in ADDRESSES:
        address = {"line1": "12 Nathan Road", "city": city, "country": country}
        response = replace(api, created_application, [{"legal_name": "Suharto", "address": address}])
        assert response.status_code == 200, (country, response.content)
        expected = {**address, "line2": None, "region": None, "postal_code": None}
        assert response.json()["applicants"][0]["address"] == expected


def test_address_without_a_city_is_accepted_if_addresses_of_the_country_have_no_city(api, created_application):
    for country, more in (
        ("SG", {"postal_code": "018956"}), ("MO", {}), ("GI", {}), ("NR", {"region": "Yaren"}),
        ("AE", {"region": "Dubai"}), ("HK", {"region": "Kowloon"}), ("KY", {"region": "Grand Cayman"}),
        ("JP", {"region": "Tokyo", "postal_code": "100-0001"}),
    ):  # fmt: skip
        address = {"line1": "1 Marina Boulevard", "country": country, **more}
        response = replace(api, created_application, [{"legal_name": "Tan", "address": address}])
        assert response.status_code == 200, (country, response.content)
        assert response.json()["applicants"][0]["address"]["city"] is None


def test_city_and_postal_code_are_required_in_countries_that_use_these_fields(api, created_application):
    postal = ["US", "CA", "GB", "DE", "FR", "JP", "AU", "IN", "BR", "MX", "ZA"]
    for name, countries in (("city", ["US", "DE", "IE", "QA", "KR", "TW"]), ("postal_code", postal)):
        for country in countries:
            address = {"line1": "1 Road", "city": "Town", "country": country, "postal_code": "10115", name: None}
            response = replace(api, created_application, [{"legal_name": "U", "address": address}])
            error = assert_error(response, 400, "E1001")
            assert error["details"][0]["field"] == f"/applicants/0/address/{name}", country


def test_invisible_character_inserted_by_a_keyboard_is_removed_from_a_name(api, created_application):
    for sent, kept in (
        ("\u0645\u062d\u0645\u062f\u200c\u0631\u0636\u0627", "\u0645\u062d\u0645\u062f\u0631\u0636\u0627"),
        ("\u0627\u0645\u06cc\u0631\u200c \u06a9\u0645\u0627\u0644\u06cc",
         "\u0627\u0645\u06cc\u0631 \u06a9\u0645\u0627\u0644\u06cc"),
        ("\u0d30\u0d2e\u0d4d\u0d2f\u200c \u0d15\u0d43", "\u0d30\u0d2e\u0d4d\u0d2f \u0d15\u0d43"),
        ("\u0986\u200d\u09b2\u09bf", "\u0986\u09b2\u09bf"),
        ("\u09b0\u200d\u09cd\u09af\u09be\u099a\u09c7\u09b2", "\u09b0\u200d\u09cd\u09af\u09be\u099a\u09c7\u09b2"),
        ("\u179f\u17bb\u1781\u200b\u178a\u17b6\u179a\u17b6", "\u179f\u17bb\u1781\u178a\u17b6\u179a\u17b6"),
        ("\uae40\u3164\ucca0\uc218", "\uae40 \ucca0\uc218"),  # The space is a Hangul filler.
    ):  # fmt: skip
        response = replace(api, created_application, [changed("legal_name", sent)])
        assert response.status_code == 200, response.content
        assert response.json()["applicants"][0]["legal_name"] == kept


def test_applicants_must_be_a_list_of_one_or_two_people(api, body):
    for persons in ([], [PERSON] * 3, {}, "Rosa", 1, True, [None], ["Rosa"], [[PERSON]], [1]):
        answer = assert_error(api.send(PATH, {**body, "applicants": persons}), 400, "E1001")
        assert answer["details"][0]["field"] in {"/applicants", "/applicants/0"}, persons


def test_valid_applicants_are_accepted(api, body, created_application):
    for path, values in GOOD.items():
        for value in values:
            person = changed(path, value)
            assert replace(api, created_application, [person]).json()["applicants"] == [person]


def test_validation_time_grows_linearly_with_the_input(api, body):
    """A backtracking regular expression would not terminate here."""
    for person in (
        changed("language", "a" + "-abcdefgh" * 20_000),
        changed("language", "en-" + "a-b" * 50_000),
        changed("email", "@" * 200_000),
        changed("phone", "+1" + "0" * 200_000),
        {f"n{number}": 1 for number in range(9_000)},
    ):
        assert_error(api.send(PATH, {**body, "applicants": [person]}), 400, "E1001")


def test_revision_lists_changed_applicant_fields_without_their_values(api, created_application):
    before = Application.objects.get().reviewed_state
    replace(api, created_application, [changed("address.city", "Salem"), LEAST])
    revision = ApplicationRevision.objects.get()
    row = Application.objects.get()
    assert row.reviewed_state != before
    assert revision.applicants_sha256 == row.applicants_sha256
    assert revision.changes["applicants[0].address.city"] == {}
    assert "applicants[1].legal_name" in revision.changes
    assert "applicants[0].legal_name" not in revision.changes


def test_applicants_hash_is_unchanged_only_if_the_current_applicants_are_resent(api, created_application):
    before = Application.objects.get().applicants_sha256
    replace(api, created_application, [PERSON])
    assert Application.objects.get().applicants_sha256 == before
    replace(api, created_application, [LEAST])
    replace(api, created_application, [PERSON])
    assert Application.objects.get().applicants_sha256 != before
    assert replace(api, created_application, None).json()["applicants"] is None
    assert Application.objects.get().applicants_sha256 is None


def test_update_of_data_or_applicants_does_not_change_the_other_field(api, created_application):
    body = {"updated_by": "me", "application_data": {"amount_cents": 5}}
    assert api.call("PUT", f"{PATH}/{created_application['id']}", body).json()["applicants"] == [PERSON]
    answer = replace(api, created_application, [LEAST]).json()
    assert answer["application_data"] == {"amount_cents": 5}
    assert Application.objects.get().amount_cents == 5


def test_applicants_of_a_decided_application_cannot_be_changed(api, created_application):
    for status in ("approved", "rejected", "withdrawn", "expired"):
        Application.objects.update(status=status)
        assert_error(replace(api, created_application, [LEAST]), 400, "E3004")
    assert Application.objects.get().applicants.persons == [PERSON]


@override_settings(ANCHOR_DECISIONS=True)
@pytest.mark.parametrize("persons", [[PERSON], None])
def test_decision_record_has_only_the_hash_of_the_applicants(api, body, persons):
    created = api.send(PATH, {**body, "applicants": persons}).json()
    for status in ("submitted", "under_review", "approved"):
        api.call("PUT", f"{PATH}/{created['id']}/status", {"status": status, "updated_by": "me"})
    anchor = Application.objects.get().anchors.get()
    record = json.loads(anchor.record)
    assert (record["record_version"], record["applicants_sha256"]) == (4, Application.objects.get().applicants_sha256)
    assert [secret for secret in SECRETS if secret in anchor.record] == []


def test_erasure_of_a_draft_deletes_applicants_and_nonce_but_not_the_hash(user, created_application):
    row = Application.objects.get()
    call_command("erase_subject", str(user.pk))
    erased = Application.objects.get()
    assert (erased.applicants, erased.applicants_sha256) == (None, row.applicants_sha256)


def test_applicants_are_readable_after_a_key_rotation(created_application, settings):
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]
    assert rotate().unreadable == []
    settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
    assert Application.objects.get().applicants.persons == [PERSON]


def test_reading_and_updating_undecryptable_applicants_returns_503(api, created_application, settings):
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    for address in (f"{PATH}/{created_application['id']}", PATH):
        assert "gAAAA" not in json.dumps(assert_error(api.read(address), 503, "E5030"))
    assert_error(replace(api, created_application, [LEAST]), 503, "E5030")
    assert Application.objects.get().reviewed_state


def test_requests_for_an_application_without_applicants_execute_no_additional_sql_statement(
    api, user, body, django_assert_num_queries
):
    created = api.send(PATH, {**body, "applicants": None}).json()
    api.read(f"{PATH}/{created['id']}")
    with django_assert_num_queries(2) as seen:
        api.read(f"{PATH}/{created['id']}")
    assert not [query for query in seen.captured_queries if "credit_requesteddocument" in query["sql"]]

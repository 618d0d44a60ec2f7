"""Every operation takes what its document says of it and refuses the rest, repeats its answer under a key, and costs so
many statements: each is called on a demo with its example, changed in one place. What the committed document says, no
test of an endpoint has to ask again. Of the values that a member or a parameter refuses one is sent; the others are
given to the serializer that the method declares, and sent where it takes them.
"""

import json
import re
from contextlib import contextmanager
from itertools import groupby
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import InternalError, connection, transaction
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from jsonschema import Draft202012Validator

from config.core.errors import ApiError
from config.ops import demo_ids
from identity.access import authentication
from identity.models import User
from tests.api import assert_error, client_of
from tests.conftest import empty_database
from tests.credit.document_support import FORM, form, part
from tests.factories import UserFactory
from tests.test_examples import EXCEPTIONS, body_of, demo_settings, seeded
from tests.test_openapi import COMMITTED

DOCUMENT = json.loads(COMMITTED.read_text())
OPERATIONS = {
    one["operationId"]: (method.upper(), path, one)
    for path, methods in DOCUMENT["paths"].items()
    for method, one in methods.items()
}
NOBODYS = "01a20000-0000-7000-8000-000000000000"
# What another way to read an id would take or fall over; tests/config/test_ids.py asks ours.
MISSPELT = ("0", "%00", "{}%0a", "\u0661", "9" * 400, NOBODYS)
# What is answered when a part of a path names nothing that the caller may see; E4001 where it is not listed.
NOT_FOUND = {
    "application_id": "E4002", "claim_id": "E4003", "offer_id": "E4004", "verification_id": "E4005",
    "wallet_id": "E4006", "endpoint_id": "E4009", "payment_id": "E4010", "model_id": "E4011", "number": "E4011",
    "provider_id": "E4012", "account_id": "E4014",
    "staging item_id": "E4007", "sandbox item_id": "E4008",
}  # fmt: skip
# What is answered to a member or a parameter that does not fit; E1001 where it is not listed.
CODES = {"body status": "E1004", "body initial_status": "E1004", "query status": "E1004", "query limit": "E1006",
         "query offset": "E1006", "query amount": "E1003"}  # fmt: skip
SHOWN_TO_EVERYBODY = {"offers_retrieve", "offers_quote", "offer_requirements_retrieve", "claims_retrieve"}
# While no chain is configured every hash is answered for, and in documented behaviour every payment method.
ANY_ID = {
    "crypto_payments_receipt", "crypto_payments_receipt_details", "crypto_payments_status",
    "payment_methods_make_default", "payment_methods_toggle",
}  # fmt: skip
# Moving the sandbox's clock touches every table.
EVERY_TABLE = {"sandbox_accounts_advance", "sandbox_accounts_reset"}
# One statement looks for the record and changes it.
CONDITIONAL = {"wallets_disconnect", "providers_accept_invitation"}


def parameters(name, place):
    """Return the parameters that an operation takes at a place, by name."""
    return {one["name"]: one for one in OPERATIONS[name][2].get("parameters", ()) if one["in"] == place}


def taking(place):
    """Return the operations that take a parameter there."""
    return [name for name in OPERATIONS if parameters(name, place)]


def resolved(schema):
    """Return the schema that another refers to."""
    for one in (schema, *schema.get("allOf", ())):
        if "$ref" in one:
            return resolved(DOCUMENT["components"]["schemas"][one["$ref"].rpartition("/")[2]])
    return schema


def body_schema(name):
    """Return what an operation says of its JSON body, if it takes one."""
    content = OPERATIONS[name][2].get("requestBody", {}).get("content", {})
    return resolved(content["application/json"]["schema"]) if "application/json" in content else None


def members_of(name):
    """Return the names of the members of an operation's JSON body."""
    return {*(body_schema(name) or {}).get("properties", ())}


WITH_BODY = [name for name in OPERATIONS if body_schema(name)]
WITH_KEY = [name for name in OPERATIONS if "Idempotency-Key" in parameters(name, "header")]


def declared(name):
    """Return what the method of an operation declares."""
    method, template, _ = OPERATIONS[name]
    view = resolve(re.sub(r"\{\w+\}", "1", template)).func
    return getattr(view.cls, view.actions[method.lower()]).endpoint


def refused_by(schema):
    """Return values that a schema does not take: other types, what lies beyond its bounds, other words."""
    schema = resolved(schema)
    tried = [None, True, 7, 1.5, "", "x", "x" * (schema.get("maxLength", 255) + 1), [], {}, [None], [5], [[]], {"a": 1}]
    tried += [schema[bound] + step for bound, step in (("minimum", -1), ("maximum", 1)) if bound in schema]
    tried += [[word] * (schema["maxItems"] + 1) for word in ("x", 1) if "maxItems" in schema]
    tried += [word.swapcase() for word in schema.get("enum", ()) if isinstance(word, str)][:2]
    tried = [one for one in tried if one not in (2**63, -(2**63) - 1)]  # JSON's own bound has another code
    judge = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [one for one in tried if not judge.is_valid(one)]


@pytest.fixture(scope="module")
def demo(django_db_setup, django_db_blocker, tmp_path_factory):
    """What `make run` prints of a new demo, which is there until the tests of this file end."""
    with demo_settings(tmp_path_factory.mktemp("demo")), django_db_blocker.unblock():
        try:
            yield seeded()
        finally:
            empty_database()


@pytest.fixture
def person(demo, db):
    """A client that calls as the account that the demo's records belong to."""
    return client_of(User.objects.get(pk=demo_ids.DEMO_USER))


@pytest.fixture
def nosy(demo, db):
    """A client that calls as somebody who may do as much, and to whom none of it belongs."""
    made = UserFactory()
    made.groups.add(Group.objects.get(name="Partner"))
    return client_of(made)


def call(client, name, demo, *, path=(), query=(), members=(), left_out=(), **options):
    """Call an operation with its example, changed as is said. Parts of a path are taken as they are spelled."""
    method, template, operation = OPERATIONS[name]
    given = {key: quote(str(one["example"])) for key, one in parameters(name, "path").items()} | dict(path)
    address = re.sub(r"\{(\w+)\}", lambda found: given[found[1]], template)
    asked = {key: one["example"] for key, one in parameters(name, "query").items() if one.get("required")}
    asked = urlencode({**asked, **dict(query)}, doseq=True)
    sent = body_of(operation, demo)
    if body_schema(name) and "raw" not in options:
        example = {**json.loads(sent["data"]), **dict(members)}
        options["body"] = {key: value for key, value in example.items() if key not in left_out}
    elif "multipart/form-data" in operation.get("requestBody", {}).get("content", {}):
        options |= {"raw": form(part()), "content_type": FORM}
    return client.call(method, f"{address}?{asked}" if asked else address, **options)


@contextmanager
def nothing_written(name):
    """Check that calls of an operation write nothing, but that they were made."""
    with CaptureQueriesContext(connection) as captured:
        yield captured
    asked = [one["sql"] for one in captured if "ratecounter" not in one["sql"]]
    changing = ("INSERT",) if name in CONDITIONAL else ("INSERT", "UPDATE", "DELETE")
    assert [sql for sql in asked if sql.startswith(changing)] == []


def is_told(response, place, member, case):
    """Check that a refusal names the member, in the form of this interface or of the protocol of catalogues."""
    text = response.content.decode()
    assert (response.status_code, member in text) == (400, True), (case, response.status_code, text)
    assert re.search(r"E\d{4}", text)[0] == CODES.get(f"{place} {member}", "E1001"), (case, text)


def is_refused(serializer, given, place, member):
    """Say whether a serializer refuses what is given, naming the member."""
    try:
        serializer.read(given)
    except ApiError as error:
        refusal = error
    else:
        return False
    expected = (400, CODES.get(f"{place} {member}", "E1001"), True)
    assert (refusal.status, refusal.code, member in str(refusal)) == expected, (given, refusal)
    return True


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_body_is_what_the_document_says(demo, person, name):
    schema, serializer = body_schema(name), declared(name).body
    example = json.loads(body_of(OPERATIONS[name][2], demo)["data"])
    with nothing_written(name):
        for member, its_schema in schema["properties"].items():
            for number, value in enumerate(refused_by(its_schema)):
                if number == 0 or not is_refused(serializer, {**example, member: value}, "body", member):
                    is_told(call(person, name, demo, members={member: value}), "body", member, (name, value))
        for member in schema.get("required", ()):
            is_told(call(person, name, demo, left_out=[member]), "body", member, (name, member))


# What else is no body, tests/config/test_json_bodies.py asks of one operation: they have one reader.
@pytest.mark.parametrize("name", WITH_BODY)
def test_a_body_is_one_json_object(demo, person, name):
    wrong = [(400, "E1001", b"[]"), (400, "E1002", b'{"a": 1, "a": 2}'), (413, "E1007", b" " * 1_048_577)]
    if OPERATIONS[name][2]["requestBody"].get("required"):
        wrong.append((400, "E1002", b""))
    for status, code, raw in wrong:
        answer = call(person, name, demo, raw=raw)
        assert (answer.status_code, code in answer.content.decode()) == (status, True), raw[:20]
    answer = call(person, name, demo, content_type="text/plain")
    assert (answer.status_code, "E1013" in answer.content.decode()) == (415, True)


@pytest.mark.parametrize("name", sorted({*WITH_BODY} - {*EXCEPTIONS} - EVERY_TABLE))
def test_members_of_the_server_and_unknown_ones_are_ignored(demo, person, name):
    def answer(**members):
        before = transaction.savepoint()
        response = call(person, name, demo, members=members)
        transaction.savepoint_rollback(before)
        assert 200 <= response.status_code < 300, response.content
        return response.json() if response.content else {}

    honest, again = answer(), answer()
    same = {key for key in honest if honest[key] == again[key]}
    others = {"id", "status", "owner", "is_active", "version", "moves", "created_at", "of_nobody"}
    forged = answer(**dict.fromkeys(({*honest} | others) - members_of(name), "forged"))
    assert forged.keys() == honest.keys()
    assert {key: forged[key] for key in same} == {key: honest[key] for key in same}


# The protocol of catalogues names its version otherwise: tests/credit/commerce/test_agent.py.
@pytest.mark.parametrize("name", [name for name in taking("query") if not name.startswith("commerces_")])
def test_a_query_is_what_the_document_says(demo, person, name):
    needed = {key: one["example"] for key, one in parameters(name, "query").items() if one.get("required")}
    for member, one in parameters(name, "query").items():
        schema = one["schema"]
        numeric = schema["type"] in {"integer", "number"}
        wrong = ["abc", "1;2", "\u0663", "", "%"] if numeric else ["", "x" * (schema.get("maxLength", 10_000) + 1)]
        wrong += [str(schema[bound] + step) for bound, step in (("minimum", -1), ("maximum", 1)) if bound in schema]
        wrong += ["bogus", " "] if {"enum", "format"} & schema.keys() or schema["type"] == "boolean" else []
        wrong += ["1.5", "1e1", "+1", "01", "0x1", "\uff15", "-", "9" * 400] if schema["type"] == "integer" else []
        for number, value in enumerate((*wrong, "\0", ["1", "1"])):
            given = QueryDict(urlencode({**needed, member: value}, doseq=True))
            if number == 0 or not is_refused(declared(name).query, given, "query", member):
                is_told(call(person, name, demo, query={member: value}), "query", member, (name, value))
        if one.get("required"):
            method, template, _ = OPERATIONS[name]
            asked = {key: other["example"] for key, other in parameters(name, "query").items() if "example" in other}
            del asked[member]
            response = person.call(method, f"{template}?{urlencode(asked)}".replace("{offer_id}", "1"))
            assert member in assert_error(response, 400, "E1005")["message"]


def not_there(response, name, parameter):
    """Check that a refusal is that of the record which a part of the path names."""
    if parameter == "user_id" and "/providers/" not in OPERATIONS[name][1]:
        assert_error(response, 401, "E2004")
    else:
        area = OPERATIONS[name][1].split("/")[2]
        assert_error(response, 404, NOT_FOUND.get(parameter) or NOT_FOUND.get(f"{area} {parameter}", "E4001"))


@pytest.mark.parametrize("name", sorted({*taking("path")} - SHOWN_TO_EVERYBODY - ANY_ID))
def test_another_accounts_records_are_404(demo, nosy, name):
    own = {"user_id": nosy.read("/auth/me").json()["user_id"]} if "user_id" in members_of(name) else {}
    place, asked = re.search(r"\{(\w+)\}", OPERATIONS[name][1])[1], []
    examples = {key: str(one["example"]) for key, one in parameters(name, "path").items()}
    missing = {key: "999999999" if example.isdigit() else NOBODYS for key, example in examples.items()}
    for path in (examples, missing):
        authentication.forget_credentials()
        with nothing_written(name) as captured:
            not_there(call(nosy, name, demo, path=path, members=own), name, place)
        asked.append([re.match(r'\w+( "[a-z_]+")?', one["sql"])[0] for one in captured])
    assert asked[0] == asked[1], "and no less work"


@pytest.mark.parametrize("name", sorted({*taking("path")} - ANY_ID))
def test_an_id_has_one_spelling(demo, person, name):
    for parameter, one in parameters(name, "path").items():
        if (name, parameter) == ("counteroffers_withdraw", "counteroffer_id"):
            continue  # none is open that it could name
        with nothing_written(name):
            for spelling in (*MISSPELT, *({str(one["example"]).upper()} - {str(one["example"])})):
                not_there(call(person, name, demo, path={parameter: spelling.format(one["example"])}), name, parameter)


@pytest.mark.parametrize("name", [name for name in WITH_BODY if {"user_id", "consumer_id"} & members_of(name)])
def test_a_body_must_name_the_caller(demo, person, name):
    (member,) = {"user_id", "consumer_id"} & members_of(name)
    own = demo_ids.DEMO_USER
    is_number = body_schema(name)["properties"][member].get("type") == "integer"
    with nothing_written(name):
        for other in (0, 999_999) if is_number else ("0", "999999", "abc", f"0{own}", f" {own}", f"{own} "):
            refusal = assert_error(call(person, name, demo, members={member: other}), 401, "E2004")
            assert refusal["details"][0]["field"] == member


@pytest.mark.parametrize("name", sorted({*WITH_KEY} - {*EXCEPTIONS}))
def test_a_retry_with_its_key_is_the_first_answer_and_changes_nothing(demo, person, name):
    assert_error(call(person, name, demo, key="no-uuid"), 400, "E1008")
    key = str(uuid4())
    first = call(person, name, demo, key=key)
    with nothing_written(name):
        again = call(person, name, demo, key=key)
    assert 200 <= first.status_code < 300
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert (again.headers["Idempotent-Replayed"], "Idempotent-Replayed" in first.headers) == ("true", False)


def refuse_to_write(execute, sql, params, many, context):
    """Answer as a primary that was demoted."""
    if re.match(r"\s*(INSERT|UPDATE|DELETE)\b", sql) or re.search(r"\bFOR (NO KEY )?UPDATE\b", sql):
        error = InternalError("cannot execute it in a read-only transaction")
        error.__cause__ = type("FromTheDriver", (Exception,), {"sqlstate": "25006"})()
        raise error
    return execute(sql, params, many, context)


@pytest.mark.parametrize("name", sorted({*OPERATIONS} - {*EXCEPTIONS}))
def test_on_a_demoted_primary_an_operation_only_reads_or_may_be_sent_again(demo, person, name):
    with connection.execute_wrapper(refuse_to_write):
        answer = call(person, name, demo)
    if not 200 <= answer.status_code < 300:
        assert_error(answer, 503, "E5030")
        assert answer.headers["Retry-After"].isdigit()


# What each asks of tables once a process knows what it remembers; whoever changes a number says why in the review.
STATEMENTS = {
    "account_invitations_create": 9, "account_invitations_list": 1, "account_invitations_revoke": 6,
    "agreements_retrieve": 5, "api_keys_create": 8, "api_keys_list": 1, "api_keys_revoke": 8, "api_keys_rotate": 12,
    "application_requirements_retrieve": 1, "applications_accept": 12, "applications_acceptance": 3,
    "applications_change": 4, "applications_create": 3, "applications_history": 2, "applications_list": 1,
    "applications_move": 5, "applications_proof": 3, "applications_retrieve": 1, "applications_transitions": 2,
    "auth_collect": 5, "auth_me": 1, "auth_revoke": 1, "auth_token": 4, "bankdata_accounts": 2, "bankdata_exchange": 13,
    "bankdata_link_token": 0, "bankdata_transactions": 2, "card_payments_process": 8, "card_payments_retrieve": 1,
    "catalogue_items": 2, "claims_change": 4, "claims_create": 2, "claims_list": 1, "claims_move": 4, "claims_remove":
    3, "claims_retrieve": 1, "commerces_lookup": 1, "commerces_product": 1, "commerces_search": 2, "consents_give": 2,
    "consents_retrieve": 1, "consents_withdraw": 1, "counteroffers_list": 2, "crypto_payments_confirm": 6,
    "crypto_payments_initiate": 3, "crypto_payments_receipt": 0, "crypto_payments_receipt_details": 0,
    "crypto_payments_status": 0, "decisions_list": 7, "discovery_document": 1, "documents_add_file": 14,
    "documents_ask": 20,
    "documents_file": 4, "documents_files": 3, "documents_list": 3, "fees_quote": 0, "health_check": 0, "key_set_keys":
    1, "kyc_create": 10, "kyc_status": 1, "managed_accounts_create": 15, "managed_accounts_disable": 15,
    "managed_accounts_issue_token": 10, "managed_accounts_list": 1, "managed_accounts_retrieve": 1, "matchs_create": 8,
    "metadata_document": 0, "model_versions_create": 4, "model_versions_evaluate": 5, "model_versions_list": 2,
    "model_versions_publish": 10, "model_versions_retire": 7, "model_versions_retrieve": 2, "notices_list": 2,
    "oauth_clients_change": 5, "oauth_clients_create": 8, "oauth_clients_list": 1, "oauth_clients_remove": 13,
    "oauth_clients_retrieve": 1, "oauth_clients_rotate_secret": 5, "offer_requirements_retrieve": 1, "offers_create": 5,
    "offers_deactivate": 3, "offers_list": 1, "offers_quote": 1, "offers_replace": 5, "offers_retrieve": 1,
    "openapi_document": 0, "payment_methods_add": 0, "payment_methods_list": 0, "payment_methods_make_default": 0,
    "payment_methods_toggle": 0, "provider_notices_list": 4, "providers_accept_invitation": 3, "providers_create": 5,
    "providers_change_member": 4, "providers_inbox": 4, "providers_invite": 8, "providers_list": 1,
    "providers_members": 3, "providers_remove_member": 4,
    "providers_replace": 3, "providers_withdraw_invitation": 4, "record_keys_keys": 4, "requests_list": 1,
    "review_requests_create": 6,
    "review_requests_list": 2, "sandbox_events_send": 2, "sandbox_identity_play_outcome": 12,
    "sandbox_identity_require_login": 2, "score_monitorings_compare": 8, "score_monitorings_monitor": 10,
    "scores_bundle": 3, "scores_score": 5, "scoring_catalogue_definition_schema": 0, "scoring_catalogue_facts": 0,
    "scoring_models_create": 2, "scoring_models_list": 1, "scoring_models_retrieve": 1, "staging_approve": 5,
    "staging_approve_all": 16, "staging_list": 3, "staging_reject": 3, "staging_reject_all": 7, "staging_retrieve": 1,
    "staging_stage": 2, "verifiers_verifier": 0, "wallets_balance": 1, "wallets_connect_circle": 9,
    "wallets_connect_reference": 5, "wallets_disconnect": 3, "wallets_list": 1, "wallets_make_default": 2,
    "wallets_status": 1, "webhook_deliverys_list": 1, "webhook_deliverys_redeliver": 3, "webhook_endpoints_change": 14,
    "webhook_endpoints_create": 13, "webhook_endpoints_list": 1, "webhook_endpoints_remove": 2,
    "webhook_endpoints_retrieve": 1, "webhook_endpoints_rotate": 3, "webhook_endpoints_test": 21, "webhook_events_list":
    4, "webhook_events_types": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*OPERATIONS} - {*EXCEPTIONS} - EVERY_TABLE))
def test_an_operation_costs_so_many_statements(demo, person, monkeypatch, name):
    monkeypatch.setattr(authentication, "REMEMBERED_SECONDS", 600)  # however busy the machine is
    for _ in range(2):  # the first time credentials, keys and cards are read
        before = transaction.savepoint()
        with CaptureQueriesContext(connection) as captured:
            answer = call(person, name, demo)
        transaction.savepoint_rollback(before)
        assert 200 <= answer.status_code < 300, answer.content
    asked = [one["sql"] for one in captured if "advisory" not in one["sql"]]
    asked = [sql for sql in asked if sql.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"))]
    # On some days the sandbox's bank has more bookings than SQLite stages with one statement.
    staged = 'INSERT INTO "staging_stageditem"'
    number = len(list(groupby(asked, lambda sql: staged if sql.startswith(staged) else object())))
    # PostgreSQL gives long lists through a cursor, which is not seen here.
    is_as_said = number == STATEMENTS[name] or (connection.vendor == "postgresql" and number < STATEMENTS[name])
    assert is_as_said, [sql[:60] for sql in asked]

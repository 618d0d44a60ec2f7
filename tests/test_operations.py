"""Every operation accepts what its document describes, rejects other input, and replays its response under a key.

Each operation is called on a demo with its example, changed in one place. Tests of endpoints therefore need not repeat
the checks of the committed document. One invalid value of each field or parameter is sent. The others are passed to the
declared serializer, or sent if there is none.
"""

import json
import re
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import InternalError, connection, transaction
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from jsonschema import Draft202012Validator

import config.urls
from config.api.models import IdempotencyRecord
from config.api.openapi import add_examples
from config.core.errors import ApiError
from config.core.lifecycle import SecondFactorRequired
from config.ops import demo_ids
from credit.core.machine import UNDER_REVIEW
from credit.models import Application
from identity.access import authentication
from identity.models import User
from tests.api import assert_error, client_of
from tests.credit.document_support import FORM, form, part
from tests.factories import ProviderFactory
from tests.properties import quick_or_full
from tests.second_factors import authenticator_of
from tests.test_examples import EXCEPTIONS, body_of, lasting_demo
from tests.test_openapi import COMMITTED

DOCUMENT = json.loads(COMMITTED.read_text())
add_examples(DOCUMENT, json.loads(Path(config.urls.__file__).with_name("examples.json").read_text()))
OPERATIONS = {
    item["operationId"]: (method.upper(), path, item)
    for path, methods in DOCUMENT["paths"].items()
    for method, item in methods.items()
}
NOBODYS = "01a20000-0000-7000-8000-000000000000"
# Spellings that another parser would accept or fail on; tests/config/test_moments.py tests our parser.
MISSPELT = quick_or_full(("%00", "{}%0a", NOBODYS), ("0", "%00", "{}%0a", "\u0661", "9" * 400, NOBODYS))
# The error for a part of the path that names nothing visible to the caller; E4001 if not listed.
NOT_FOUND = {
    "application_id": "E4002", "claim_id": "E4003", "offer_id": "E4004", "verification_id": "E4005",
    "wallet_id": "E4006", "endpoint_id": "E4009", "payment_id": "E4010", "model_id": "E4011", "number": "E4011",
    "provider_id": "E4012", "account_id": "E4014", "report_id": "E4015",
    "staging item_id": "E4007", "sandbox item_id": "E4008", "bankdata item_id": "E4008",
}  # fmt: skip
# The error for an invalid field or parameter; E1001 if not listed.
CODES = {"body status": "E1004", "body initial_status": "E1004", "query status": "E1004", "query limit": "E1006",
         "query offset": "E1006", "query amount": "E1003"}  # fmt: skip
INVALID_REASONS = {"body reasons": "E1017"}  # the code for reasons other than null
SHOWN_TO_EVERYBODY = {
    "automations_retrieve", "claims_retrieve", "offer_requirements_retrieve", "offers_quote", "offers_retrieve",
    "precontracts_of_offer",
}  # fmt: skip
# Without a chain every hash gets a response, and in documented mode every payment method.
ANY_ID = {
    "crypto_payments_receipt", "crypto_payments_receipt_details", "crypto_payments_status",
    "payment_methods_make_default", "payment_methods_toggle",
}  # fmt: skip
# Moving the clock of the sandbox changes every table.
EVERY_TABLE = {"sandbox_accounts_advance"}
# A single statement finds the record and changes it.
CONDITIONAL = {"wallets_disconnect", "providers_accept_invitation"}


def parameters(name, place):
    """Return the path or query parameters of an operation by name."""
    return {item["name"]: item for item in OPERATIONS[name][2].get("parameters", ()) if item["in"] == place}


def taking(place):
    """Return the operations with path or query parameters."""
    return [name for name in OPERATIONS if parameters(name, place)]


def resolved(schema):
    """Return the schema that a reference points to."""
    for item in (schema, *schema.get("allOf", ())):
        if "$ref" in item:
            return resolved(DOCUMENT["components"]["schemas"][item["$ref"].rpartition("/")[2]])
    return schema


def body_schema(name):
    """Return the schema of an operation's JSON body, if it accepts a JSON body."""
    content = OPERATIONS[name][2].get("requestBody", {}).get("content", {})
    return resolved(content["application/json"]["schema"]) if "application/json" in content else None


def members_of(name):
    """Return the names of the fields of an operation's JSON body."""
    return {*(body_schema(name) or {}).get("properties", ())}


WITH_BODY = [name for name in OPERATIONS if body_schema(name)]
WRITES = [name for name, (method, *_) in OPERATIONS.items() if method not in {"GET", "HEAD"}]
# Writes that ignore an Idempotency-Key, and why.
WITHOUT_KEY = {
    "auth_revoke": "repeats itself, and has no account", "auth_token": "a log-in",
    "bankdata_link_token": "a token that ends by itself", "card_payments_events": "the processor's event has an id",
    "commerces_lookup": "a search", "commerces_product": "a search", "commerces_search": "a search",
    "kyc_receive": "the vendor's event has an id", "managed_accounts_issue_token": "a log-in, of 15 minutes",
    "matchs_create": "an evaluation", "providers_link": "a link in no table, which ends by itself",
    "model_versions_evaluate": "an evaluation", "oauth_revoke": "repeats itself",
    "oauth_token": "a log-in", "score_monitorings_compare": "an evaluation",
}  # fmt: skip
WITH_KEY = [name for name in OPERATIONS if "Idempotency-Key" in parameters(name, "header")]


def declared(name):
    """Return the declaration of an operation's method."""
    method, template, _ = OPERATIONS[name]
    view = resolve(re.sub(r"\{\w+\}", "1", template)).func
    return getattr(view.cls, view.actions[method.lower()]).endpoint


def refused_by(schema):
    """Return values that a schema rejects because of their type, bounds, or words."""
    schema = resolved(schema)
    tried = [None, True, 7, 1.5, "", "x", "x" * (schema.get("maxLength", 255) + 1), [], {}, [None], [5], [[]], {"a": 1}]
    tried += [schema[bound] + step for bound, step in (("minimum", -1), ("maximum", 1)) if bound in schema]
    tried += [[word] * (schema["maxItems"] + 1) for word in ("x", 1) if "maxItems" in schema]
    tried += [word.swapcase() for word in schema.get("enum", ()) if isinstance(word, str)][:2]
    # The bound of JSON itself has another error code.
    tried = [item for item in tried if item not in (2**63, -(2**63) - 1)]
    judge = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [item for item in tried if not judge.is_valid(item)]


@pytest.fixture(scope="module")
def demo(django_db_setup, django_db_blocker, tmp_path_factory):
    """Create a demo without its book for the tests of this file; yield the object that `make run` prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("credit.demo.book.write", lambda **_given: None)
        with lasting_demo(tmp_path_factory.mktemp("demo"), django_db_blocker) as created:
            yield created


@pytest.fixture
def person(demo, db):
    """Return a client of the account that owns the demo's records."""
    return client_of(User.objects.get(pk=demo_ids.DEMO_USER))


@pytest.fixture
def nosy(demo, db):
    """Return a client of an account with the same rights and no records."""
    owner = ProviderFactory().owner
    owner.groups.add(Group.objects.get(name="Partner"))
    return client_of(owner)


def call(client, name, demo, *, path=(), query=(), members=(), left_out=(), **options):
    """Call an operation with its example and the given changes. Path parameters are sent unchanged."""
    method, template, operation = OPERATIONS[name]
    quotes_by_key = {
        key: quote(str(parameter["example"])) for key, parameter in parameters(name, "path").items()
    } | dict(path)
    address = re.sub(r"\{(\w+)\}", lambda item: quotes_by_key[item[1]], template)
    examples_by_key = {
        key: parameter["example"] for key, parameter in parameters(name, "query").items() if parameter.get("required")
    }
    examples_by_key = urlencode({**examples_by_key, **dict(query)}, doseq=True)
    sent = body_of(operation, demo)
    if body_schema(name) and "raw" not in options:
        example = {**json.loads(sent["data"]), **dict(members)}
        options["body"] = {key: value for key, value in example.items() if key not in left_out}
    elif "multipart/form-data" in operation.get("requestBody", {}).get("content", {}):
        options |= {"raw": form(part()), "content_type": FORM}
    return client.call(method, f"{address}?{examples_by_key}" if examples_by_key else address, **options)


@contextmanager
def nothing_written(name):
    """Check that calls of an operation write nothing, except for rate counters."""
    with CaptureQueriesContext(connection) as captured:
        yield captured
    queries = [query["sql"] for query in captured if "ratecounter" not in query["sql"]]
    changing = ("INSERT",) if name in CONDITIONAL else ("INSERT", "UPDATE", "DELETE")
    assert [sql for sql in queries if sql.startswith(changing)] == []


def check_rejection(response, place, member, case):
    """Check that a rejection names the field, in the form of this API or of the catalog protocol."""
    text = response.content.decode()
    assert (response.status_code, member in text) == (400, True), (case, response.status_code, text)
    where = f"{place} {member}"
    assert re.search(r"E\d{4}", text)[0] in {CODES.get(where, "E1001"), INVALID_REASONS.get(where)}, (case, text)


def is_refused(serializer, given, place, member):
    """Return whether a serializer rejects a value with an error that names the field."""
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
def test_request_body_that_violates_the_openapi_schema_returns_400(demo, person, name):
    schema, serializer = body_schema(name), declared(name).body
    example = json.loads(body_of(OPERATIONS[name][2], demo)["data"])
    if name == "counteroffers_create":  # the API checks the status of the application before the content
        Application.objects.update(status=UNDER_REVIEW)
    with nothing_written(name):
        for member, its_schema in schema["properties"].items():
            for number, value in enumerate(refused_by(its_schema)):
                if number == 0 or not is_refused(serializer, {**example, member: value}, "body", member):
                    check_rejection(call(person, name, demo, members={member: value}), "body", member, (name, value))
        for member in schema.get("required", ()):
            check_rejection(call(person, name, demo, left_out=[member]), "body", member, (name, member))


# tests/config/test_json_bodies.py tests other invalid bodies with a single operation, because all share the reader.
@pytest.mark.parametrize("name", WITH_BODY)
def test_every_operation_rejects_a_body_that_is_not_a_json_object(demo, person, name):
    wrong = [(400, "E1001", b"[]"), (400, "E1002", b'{"a": 1, "a": 2}'), (413, "E1007", b" " * 1_048_577)]
    if OPERATIONS[name][2]["requestBody"].get("required"):
        wrong.append((400, "E1002", b""))
    for status, code, raw in wrong:
        answer = call(person, name, demo, raw=raw)
        assert (answer.status_code, code in answer.content.decode()) == (status, True), raw[:20]
    answer = call(person, name, demo, content_type="text/plain")
    assert (answer.status_code, "E1013" in answer.content.decode()) == (415, True)


@pytest.mark.parametrize("name", sorted({*WITH_BODY} - {*EXCEPTIONS} - EVERY_TABLE))
def test_every_operation_ignores_read_only_fields_and_reports_unknown_fields(demo, person, name):
    def answer(**members):
        before = transaction.savepoint()
        response = call(person, name, demo, members=members)
        transaction.savepoint_rollback(before)
        assert 200 <= response.status_code < 300, response.content
        return response.json() if response.content else {}

    honest, again = answer(), answer()
    same = {key for key in honest if honest[key] == again[key]}
    others = {"id", "status", "owner", "is_active", "version", "moves", "created_at", "of_nobody"}
    body = declared(name).body
    unread = ({*honest} | (set() if body.refuses_unknown else others)) - members_of(name)
    forged = answer(**dict.fromkeys(unread, "forged"))
    assert forged.keys() == honest.keys()
    assert {key: forged[key] for key in same} == {key: honest[key] for key in same}
    known = sorted(members_of(name) or {"member"}, key=len)[-1]
    response = call(person, name, demo, members={f"{known}x": 1, "böse, zeile\r\n": 1})
    if body.refuses_unknown:
        details = assert_error(response, 400, "E1001")["details"]
        assert details[0] == {"field": f"{known}x", "message": f"Unknown field. Did you mean `{known}`?"}
    else:
        assert response.headers["X-Ignored"] == f"{known}x, b%C3%B6se%2C%20zeile%0D%0A"
        long = call(person, name, demo, members={"\U0001f600" * 64 + str(number): 1 for number in range(30)})
        assert 0 < len(long.headers["X-Ignored"]) <= 1_000


@pytest.mark.parametrize("name", [name for name in OPERATIONS if OPERATIONS[name][0] == "GET"])
def test_unknown_query_parameters_are_rejected_or_listed_in_the_x_ignored_header(demo, person, name):
    response = call(person, name, demo, query={"limitt": "1"})
    if declared(name).parameters is not None and declared(name).parameters.refuses_unknown:
        check_rejection(response, "query", "limitt", name)
    else:
        assert response.headers["X-Ignored"] == "limitt"


def test_every_list_rejects_unknown_parameters():
    declarations = {name: declared(name).parameters for name in OPERATIONS if OPERATIONS[name][0] == "GET"}
    lists = {name for name, read in declarations.items() if read and {"limit", "from"} & {*read.shared().fields}}
    assert len(lists) > 20
    assert {name for name in lists if not declarations[name].refuses_unknown} == set()


# The catalog protocol has another name for its version: tests/credit/commerce/test_agent.py.
@pytest.mark.parametrize("name", [name for name in taking("query") if not name.startswith("commerces_")])
def test_query_that_violates_the_openapi_schema_returns_400(demo, person, name):
    needed = {key: item["example"] for key, item in parameters(name, "query").items() if item.get("required")}
    for member, parameter in parameters(name, "query").items():
        schema = parameter["schema"]
        numeric = schema["type"] in {"integer", "number"}
        wrong = ["abc", "1;2", "\u0663", "", "%"] if numeric else ["", "x" * (schema.get("maxLength", 10_000) + 1)]
        wrong += [str(schema[bound] + step) for bound, step in (("minimum", -1), ("maximum", 1)) if bound in schema]
        wrong += ["bogus", " "] if {"enum", "format"} & schema.keys() or schema["type"] == "boolean" else []
        wrong += ["1.5", "1e1", "+1", "01", "0x1", "\uff15", "-", "9" * 400] if schema["type"] == "integer" else []
        for number, value in enumerate((*wrong, "\0", ["1", "1"])):
            query_dict = QueryDict(urlencode({**needed, member: value}, doseq=True))
            if number == 0 or not is_refused(declared(name).parameters, query_dict, "query", member):
                check_rejection(call(person, name, demo, query={member: value}), "query", member, (name, value))
        if parameter.get("required"):
            method, template, _ = OPERATIONS[name]
            examples_by_key = {
                key: other["example"] for key, other in parameters(name, "query").items() if "example" in other
            }
            del examples_by_key[member]
            response = person.call(method, f"{template}?{urlencode(examples_by_key)}".replace("{offer_id}", "1"))
            assert member in assert_error(response, 400, "E1005")["message"]


def not_there(response, name, parameter):
    """Check that a rejection is about the record that a path parameter names."""
    if parameter == "user_id" and "/providers/" not in OPERATIONS[name][1]:
        assert_error(response, 401, "E2004")
    else:
        area = OPERATIONS[name][1].split("/")[2]
        assert_error(response, 404, NOT_FOUND.get(parameter) or NOT_FOUND.get(f"{area} {parameter}", "E4001"))


@pytest.mark.parametrize("name", sorted({*taking("path")} - SHOWN_TO_EVERYBODY - ANY_ID))
def test_records_of_another_account_return_404_from_every_operation(demo, nosy, name):
    own = {"user_id": nosy.read("/auth/me").json()["user_id"]} if "user_id" in members_of(name) else {}
    place, values_tried = re.search(r"\{(\w+)\}", OPERATIONS[name][1])[1], []
    examples = {key: str(parameter["example"]) for key, parameter in parameters(name, "path").items()}
    missing = {key: "999999999" if example.isdigit() else NOBODYS for key, example in examples.items()}
    for path in (examples, missing):
        authentication.forget_credentials()
        with nothing_written(name) as captured:
            not_there(call(nosy, name, demo, path=path, members=own), name, place)
        values_tried.append([re.match(r'\w+( "[a-z_]+")?', query["sql"])[0] for query in captured])
    assert values_tried[0] == values_tried[1], "and no less work"


@pytest.mark.parametrize("name", sorted({*taking("path")} - ANY_ID))
def test_id_in_another_spelling_returns_404(demo, person, name):
    for parameter, item in parameters(name, "path").items():
        if parameter == "counteroffer_id" and name == "counteroffers_withdraw":
            continue  # The application has no open counteroffer.
        if parameter == "correction_id":
            continue  # Only another user can answer this request.
        with nothing_written(name):
            for spelling in (*MISSPELT, *({str(item["example"]).upper()} - {str(item["example"])})):
                not_there(call(person, name, demo, path={parameter: spelling.format(item["example"])}), name, parameter)


@pytest.mark.parametrize("name", [name for name in WITH_BODY if {"user_id", "consumer_id"} & members_of(name)])
def test_request_body_with_another_user_id_returns_401(demo, person, name):
    (member,) = {"user_id", "consumer_id"} & members_of(name)
    own = demo_ids.DEMO_USER
    is_number = body_schema(name)["properties"][member].get("type") == "integer"
    with nothing_written(name):
        for other in (0, 999_999) if is_number else ("0", "999999", "abc", f"0{own}", f" {own}", f"{own} "):
            refusal = assert_error(call(person, name, demo, members={member: other}), 401, "E2004")
            assert refusal["details"][0]["field"] == member


def test_each_write_operation_accepts_an_idempotency_key_or_is_a_documented_exception():
    assert {*WRITES} - {*WITH_KEY} == {*WITHOUT_KEY}
    assert {*WITH_KEY} <= {*WRITES}, "no read takes a key"
    ignoring = {name for name in OPERATIONS if "`Idempotency-Key` is ignored" in OPERATIONS[name][2]["description"]}
    assert ignoring == {*WITHOUT_KEY}
    table = (
        (Path(__file__).parents[1] / "docs/guides/retry-safely.md")
        .read_text()
        .split("ignore the header `Idempotency-Key`:")[1]
    )
    listed = re.findall(r"`(POST|PUT|PATCH|DELETE) (/v1/\S+)`", table.split("\n\n")[1])
    assert {*listed} == {OPERATIONS[name][:2] for name in WITHOUT_KEY}


@pytest.mark.parametrize("name", sorted({*WITHOUT_KEY} - {*EXCEPTIONS}))
def test_operation_without_idempotency_ignores_any_idempotency_key(demo, person, name):
    assert 200 <= call(person, name, demo, key="no-uuid").status_code < 300


# Other operations require it only of a lender's members, or if a second reviewer decides.
OF_CREDENTIALS = re.compile(r"/v1/(api-keys|oauth/clients|invitations)")
SECOND_FACTOR = [
    name
    for name, (_, path, _) in OPERATIONS.items()
    if OF_CREDENTIALS.match(path) and SecondFactorRequired in declared(name).errors
]


@pytest.mark.parametrize("name", SECOND_FACTOR)
def test_operation_returns_403_if_the_log_in_omitted_the_accounts_second_factor(demo, person, name):
    authenticator_of(User.objects.get(pk=demo_ids.DEMO_USER))
    with nothing_written(name):
        assert_error(call(person, name, demo), 403, "E2012")


RETRIED = sorted({*WITH_KEY} - {*EXCEPTIONS})
# The request of the example would let the log-in of the test expire.
RETRIED_WITH = {"sandbox_accounts_advance": {"advance_seconds": 60}}


@pytest.mark.parametrize("name", RETRIED)
def test_retry_with_the_same_idempotency_key_returns_the_first_response_without_changes(demo, person, name):
    assert_error(call(person, name, demo, key="no-uuid"), 400, "E1008")
    key = str(uuid4())
    first = call(person, name, demo, key=key, members=RETRIED_WITH.get(name, ()))
    with nothing_written(name):
        again = call(person, name, demo, key=key, members=RETRIED_WITH.get(name, ()))
    assert 200 <= first.status_code < 300, first.content
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert (again.headers["Idempotent-Replayed"], "Idempotent-Replayed" in first.headers) == ("true", False)
    stored = bytes(IdempotencyRecord.objects.get(key=key).body)
    secrets = {"key", "secret", "client_secret"} & {*(first.json() if first.content else ())}
    assert stored.startswith(b"gAAAA") or not secrets, "an answer with a secret is stored encrypted"
    answer = declared(name).answer
    if isinstance(answer, type) and {"key", "secret", "client_secret"} & {*answer().get_fields()}:
        assert secrets


def refuse_to_write(execute, sql, params, many, context):
    """Raise the error of a demoted primary."""
    if re.match(r"\s*(INSERT|UPDATE|DELETE)\b", sql) or re.search(r"\bFOR (NO KEY )?UPDATE\b", sql):
        error = InternalError("cannot execute it in a read-only transaction")
        error.__cause__ = type("FromTheDriver", (Exception,), {"sqlstate": "25006"})()
        raise error
    return execute(sql, params, many, context)


@pytest.mark.parametrize("name", sorted({*OPERATIONS} - {*EXCEPTIONS}))
def test_operation_on_a_demoted_database_primary_succeeds_or_returns_a_retryable_503(demo, person, name):
    with connection.execute_wrapper(refuse_to_write):
        answer = call(person, name, demo)
    if not 200 <= answer.status_code < 300:
        assert_error(answer, 503, "E5030")
        assert answer.headers["Retry-After"].isdigit()

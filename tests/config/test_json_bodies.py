"""Test the rejections of the strict JSON reader that all endpoints share."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.core.errors import MalformedJSON
from config.core.ids import INT64_MAX, INT64_MIN
from config.core.json_bodies import DEPTH_MAX, MEMBERS_MAX, parse_json
from config.core.media_types import quality_of
from credit.models import Application, Offer
from tests.api import assert_error
from tests.properties import examples

APPLICATIONS = "/applications"


@pytest.fixture
def good(user):
    """Return a body that creates an application."""
    return {"consumer_id": str(user.pk), "offer_id": 7, "provider_id": 8}


@pytest.fixture
def offer():
    """Return a body that creates an offer."""
    return {"provider_id": "901", "name": "A", "product_type": "personal_loan"}


def raw(api, text, path=APPLICATIONS, **headers):
    """POST raw bytes."""
    return api.send(path, raw=text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), **headers)


def nested(levels, inner="1"):
    """Return arrays nested `levels` deep."""
    return "[" * levels + inner + "]" * levels


ACCEPTED = [
    ("application/json;q=0, */*", 0), ("*/*, application/json;q=0", 0), ("application/*;q=0, */*", 0),
    ("application/json;q=0.0, application/*, */*", 0), ("text/html", 0), ("", 0), ("*/*;q=0", 0),
    ("application/jsonx, application/jso", 0), ("application/json;q=0.000", 0), ("text/json", 0),
    ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", 0.2),  # Java's HttpURLConnection
    ("application/json, text/plain, */*", 1),  # axios
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", 0.8),  # Chrome
    ("application/json; charset=utf-8", 1), ("APPLICATION/JSON;Q=0.3", 0.3),
    ("application/json ; q = 0.4", 0.4),
    ("application/*;q=0.5, application/json;q=0.25", 0.25), ("application/json;odata=verbose;q=0.7", 0.7),
    ("application/json;q=0.7;ext=1", 0.7), ("*/*;q=0.1, application/*;q=0.2", 0.2),
    ("application/json;q=2", 1), ("application/json;q=x", 1), (",, application/json ,", 1),
    ("application/json;qs=0.5", 1), ("application/vnd.api+json, application/json;q=0.9", 0.9),
    # RFC 9110, section 12.5.1
    ("audio/*; q=0.2, audio/basic", 0), ("text/plain; q=0.5, text/html, text/x-dvi; q=0.8, text/x-c", 0),
    ("text/*, text/plain, text/plain;format=flowed, */*", 1),
    ("text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5", 0.5),
    ("text/*;q=0.3, text/html;q=0.7, text/html;level=1, text/html;level=2;q=0.4, */*;q=0.5", 0.5),
    ("application/json, text/javascript, */*; q=0.01", 1),  # jQuery
    ("text/html, application/xhtml+xml, */*", 1), ("image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", 0.5),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 0.8),  # Firefox, Safari
    ("application/json;q=0.001", 0.001), ("application/json;q=1.000, */*;q=0", 1),
    ("application/problem+json, application/json;q=0.5", 0.5), ("*/*; q=0.2, application/json; q=0", 0),
    ('application/json;profile=";q=0;", text/html', 1),
    ('text/plain;x="a, application/json;q=1", */*;q=0.3', 0.3),
    ('application/ld+json;profile="http://www.w3.org/ns/json-ld#compacted", application/json;q=0.1', 0.1),
]  # fmt: skip


@pytest.mark.django_db
class TestRejectedBodies:
    def test_integer_beyond_64_bits_returns_400(self, api, good):
        for number in (2**63, -(2**63) - 1, 10**19, -(10**20)):
            assert_error(api.send(APPLICATIONS, {**good, "offer_id": number}), 400, "E1002")
            assert_error(api.send(APPLICATIONS, {**good, "application_data": [number]}), 400, "E1002")

    def test_request_body_one_byte_above_the_limit_returns_413(self, api, good):
        body = json.dumps({**good, "of_nobody": ""}).encode()
        full = body[:-2] + b"x" * (1_048_576 - len(body)) + b'"}'
        assert len(full) == 1_048_576
        assert raw(api, full).status_code == 201
        assert_error(raw(api, full[:-2] + b'x"}'), 413, "E1007")

    def test_request_body_with_another_media_type_or_a_content_encoding_returns_415(self, api, good):
        for content_type in (
            "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/xml",
            "application/json; charset=bogus", "application/json; charset=utf-16", "application/json;charset=latin-1",
            "application/jsonp", "application/problem+json", "*/*", "json",
        ):  # fmt: skip
            assert_error(raw(api, json.dumps(good), content_type=content_type), 415, "E1013")
        body = gzip.compress(json.dumps(good).encode())
        for coding in ("gzip", "br", "deflate", "identity, gzip", "x"):
            assert_error(raw(api, body, Content_Encoding=coding), 415, "E1013")

    def test_accept_header_without_json_returns_406(self, api, good):
        for accept in ("application/xml", "text/html", "text/*;q=0.9", "image/png, text/plain"):
            assert_error(api.send(APPLICATIONS, good, Accept=accept), 406, "E1014")
        assert Application.objects.count() == 0

    def test_most_specific_media_range_of_an_accept_header_applies(self):
        for accept, quality in ACCEPTED:
            assert quality_of("application/json", accept) == quality, (accept, quality)


@pytest.mark.django_db
class TestTypes:
    def test_int64_field_accepts_only_json_integers_within_its_bounds(self, api, good):
        for value in (True, False, "1", 1.0, 1.5, 1e2, " 1 ", "١٢", None, [1], {"a": 1}, ""):
            body = assert_error(api.send(APPLICATIONS, {**good, "offer_id": value}), 400, "E1001")
            assert body["details"][0]["field"] == "offer_id"
        text = json.dumps({**good, "offer_id": 0}).replace('"offer_id": 0', '"offer_id": 1e2')
        assert_error(raw(api, text), 400, "E1001")
        for number in (INT64_MAX, INT64_MIN, 0):
            answer = api.send(APPLICATIONS, {**good, "offer_id": number, "provider_id": number})
            assert answer.json()["offer_id"] == number

    def test_int32_field_rejects_larger_integers_and_other_types(self, api, offer):
        for value in (2**31, -(2**31) - 1, True, "5", 5.0):
            assert_error(api.send("/provider-offers", {**offer, "ab_test_allocation": value}), 400, "E1001")
            assert_error(api.send("/provider-offers", {**offer, "term_options_months": [value]}), 400, "E1001")


@pytest.mark.django_db
class TestStoredBodies:
    def test_stored_string_is_returned_byte_for_byte(self, api, good, no_rate_limits):
        for text in (
            "\u202eright to left", "zero\u200bwidth", "😀👩‍👩‍👧‍👦", "e\u0301", "\u00e9", "\ufeffbom", " edges ",
            "a\r\n\tb", "\u2028",
            "'; DROP TABLE credit_application; --", "{{7*7}}", "<script>alert(1)</script>", "=cmd|'/c calc'!A1",
            "%s %(x)s %%", "${jndi:ldap://x}", "\\u0000 spelt out", "\x7f", "\uffff", "x" * 10_000,
        ):  # fmt: skip
            created = api.send(APPLICATIONS, {**good, "application_data": {text: text}}).json()
            path = f"{APPLICATIONS}/{created['id']}"
            changed = api.replace(path, {"updated_by": text[:255], "notes": text})
            assert changed.status_code == 200
            body = api.read(path).json()
            assert (body["notes"], body["application_data"]) == (text, {text: text})

    def test_stored_application_data_is_returned_as_sent(self, api, good):
        for document in (
            None, True, 0, -0.0, 1.5, 1e300, 5e-324, 0.1, 2**53 - 1, 1 - 2**53, "", [], {}, {"b": 1, "a": [None, {}]},
            {"": ""}, {"10": 1, "9": 2}, [1, 1.0, "1", True],
        ):  # fmt: skip
            response = api.send(APPLICATIONS, {**good, "application_data": document})
            assert response.status_code == 201
            settings_read = api.read(f"{APPLICATIONS}/{response.json()['id']}")
            assert json.dumps(settings_read.json()["application_data"]) == json.dumps(document)
            assert settings_read.content == response.content

    def test_json_document_of_the_maximum_depth_and_number_of_fields_is_stored(self, api, good):
        body = json.dumps(good)[:-1] + f', "application_data": {nested(DEPTH_MAX - 1)}}}'
        assert raw(api, body).status_code == 201
        data = [0] * (MEMBERS_MAX - len(good) - 1)
        assert api.send(APPLICATIONS, {**good, "application_data": data}).status_code == 201


@pytest.mark.django_db
class TestMethods:
    def test_a_method_override_header_is_ignored(self, api, good):
        created = api.send(APPLICATIONS, good, X_HTTP_Method_Override="DELETE")
        assert created.status_code == 201
        offer = api.send("/provider-offers", {"provider_id": "9", "name": "A", "product_type": "x"}).json()
        response = api.send(f"/provider-offers/{offer['id']}", {}, X_HTTP_Method_Override="DELETE")
        assert_error(response, 405, "E4050")
        assert Offer.objects.get().is_active

    def test_options_returns_the_allowed_methods(self, api, anonymous):
        response = api.call("OPTIONS", APPLICATIONS)
        assert response.status_code == 200
        assert set(response.headers["Allow"].split(", ")) == {"GET", "POST", "HEAD", "OPTIONS"}
        assert_error(anonymous.call("OPTIONS", APPLICATIONS), 401, "E2001")


# --- The reader alone -----------------------------------------------------------------------------------------------

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
_documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(INT64_MIN, INT64_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(_texts, inner, max_size=6),
    max_leaves=40,
)


def depth_of(document):
    """Return the nesting depth of a document."""
    if isinstance(document, dict):
        document = list(document.values())
    return 1 + max(map(depth_of, document), default=0) if isinstance(document, list) else 0


@given(_documents, st.booleans())
@examples(100)
def test_json_parser_restores_serialized_documents(document, plain):
    text = json.dumps(document, ensure_ascii=plain)
    if depth_of(document) > DEPTH_MAX:
        with pytest.raises(MalformedJSON):
            parse_json(text.encode())
    else:
        assert parse_json(text.encode()) == document


@given(st.binary(max_size=60))
@examples(170)
def test_json_parser_parses_or_rejects_any_bytes(body):
    try:
        document = parse_json(body)
    except MalformedJSON:
        return
    assert document == json.loads(body)

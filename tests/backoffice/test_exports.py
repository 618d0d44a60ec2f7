"""Test that exported lists contain no formula, have a digest, and are logged."""

import base64
import csv
import hashlib
import io
import itertools
import json
import unicodedata

from config.backoffice import exports
from config.core import table_files
from config.core.casework import DataAccess
from tests.backoffice.conftest import backoffice_client
from tests.backoffice.pages import messages_of, text_of
from tests.backoffice.test_applications import LIST, make
from tests.factories import UserFactory


def download_export(client, kind="csv", query="", address=LIST):
    return client.post(f"{address}export/{kind}/?{query}")


def body_of(response):
    return b"".join(response.streaming_content)


def test_back_office_list_is_exported_as_json_lines_in_list_order(reviewers_client):
    applications = [make("submitted", offer_id=number) for number in (5, 6, 7)]
    lines = body_of(download_export(reviewers_client, "jsonl")).splitlines()
    assert [json.loads(line)["offer_id"] for line in lines] == [7, 6, 5]
    assert json.loads(lines[0])["id"] == str(applications[-1].pk)


def test_exported_application_contains_no_spreadsheet_formula(reviewers_client):
    for start in ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"]:
        make("submitted", status_reason=f"{start}HYPERLINK(1)", reviewed_by="a=b")
        row = next(
            csv.DictReader(io.StringIO(body_of(download_export(reviewers_client)).decode("utf-8-sig"), newline=""))
        )
        assert row["status_reason"] == f"'{start}HYPERLINK(1)", start
        assert row["reviewed_by"] == "a=b", start


def test_exported_csv_cell_is_not_read_as_a_formula_with_any_separator():
    for text in [
        "a;=HYPERLINK(A1);b", "a; =1+1", 'a;"=1+1"', "a;+1", "a;-2+3", "a;@SUM(1)", "a;\t=1", "a\t=1", "a\n=1",
        "a\r\n-1",
        "a;\uff1d1", "a;'=1", "a;\xa0=1", ";=1", "a;;=1", 'x";=1', '"a";"=1"', "=1;=2", "a,=1", 'a"",=1;"@x',
        " =1", "\ufeff=1", "\u200b@x", "\u3000=1", "\ufe66=1", "\ufe62x", "a;\ufeff=1", "a;\u3000-1", "\x0c=1",
        "'=1",
    ]:  # fmt: skip
        content = b"".join(table_files.csv_lines(["first", "second"], [["x", text], ["é", text]]))
        assert content.startswith(b"\xef\xbb\xbf"), "Excel reads UTF-8 only with a byte order mark"
        for separator in ",;\t":
            rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=separator)
            for cell in itertools.chain.from_iterable(rows):
                shown = unicodedata.normalize("NFKC", cell).strip(' "\x0c\ufeff\u200b')
                assert not shown.startswith(("=", "+", "-", "@")), (separator, cell)


def test_export_cell_without_a_formula_is_unchanged():
    for text in ["a; b", "2026-01-31", "a-b", "x = y", "a,-b", "a;b=c", "Main St 5; Apt -", "é", "1;2", "a:-b"]:
        assert table_files.plain_cell(text) == text, text
    for value, cell in [(-5, -5), (1.5, 1.5), (None, None), (True, "true"), ({"a": 1}, '{"a":1}'), ("", "")]:
        assert table_files.plain_cell(value) == cell, (value, cell)


def test_digest_of_a_back_office_export_is_in_the_response_and_the_access_log(reviewers_client, reviewer):
    make("submitted")
    response = download_export(reviewers_client, query="queue=review")
    digest = hashlib.sha256(body_of(response)).digest()
    assert response.headers["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest).decode()}:"
    assert digest.hex()[:12] in response.headers["Content-Disposition"]
    taken = DataAccess.objects.get(action="export")
    assert taken.viewer == reviewer
    assert taken.details == {"query": "queue=review", "rows": 1, "format": "csv", "sha256": digest.hex()}


def test_back_office_export_of_too_many_rows_is_rejected(reviewers_client, monkeypatch):
    monkeypatch.setattr(exports, "ROWS_MAX", 1)
    make("submitted"), make("submitted")
    response = reviewers_client.post(f"{LIST}export/csv/")
    assert "More than 1 rows" in messages_of(response)
    assert not DataAccess.objects.filter(action="export").exists()


def test_filtered_back_office_list_is_exported_as_csv(reviewers_client):
    assert body_of(download_export(reviewers_client)).startswith(b"\xef\xbb\xbfid,status,")
    wanted, _ = make("submitted", status_reason="fine, thanks"), make("draft")
    response = download_export(reviewers_client, query="queue=review")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"].startswith('attachment; filename="application-')
    rows = list(csv.DictReader(io.StringIO(body_of(response).decode("utf-8-sig"))))
    assert [(row["id"], row["status"], row["status_reason"]) for row in rows] == [
        (str(wanted.pk), "submitted", "fine, thanks")
    ]
    assert rows[0]["submitted_at"].endswith("Z")


def test_back_office_export_requires_a_post_request_a_known_format_and_the_permission(
    reviewer, reviewers_client, supports_client
):
    assert reviewers_client.get(f"{LIST}export/csv/").status_code == 302
    assert download_export(supports_client).status_code == 403
    assert download_export(reviewers_client, "xlsx").status_code == 403
    assert backoffice_client(reviewer, enforce_csrf_checks=True).post(f"{LIST}export/csv/").status_code == 403
    make("submitted")
    assert "Export as CSV" in text_of(reviewers_client.get(LIST))
    assert "Export as CSV" not in text_of(supports_client.get(LIST))
    assert not DataAccess.objects.filter(action="export").exists()


def test_exports_contain_no_passwords_digests_or_secrets(superusers_client, db):
    from django.contrib import admin
    from django.urls import reverse

    for model, model_admin in admin.site._registry.items():
        if isinstance(model_admin, exports.Exports):
            columns = set(model_admin.columns_to_export())
            assert not columns & {"password", "digest", "secret", "private_key", "access_token", "client_secret"}, model
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            for kind in ("csv", "jsonl"):
                response = download_export(superusers_client, kind, address=address)
                assert response.status_code == 200, (address, kind)
                body_of(response)


def test_back_office_export_for_staff_with_masked_access_is_masked(operations_client):
    UserFactory(username="jdoe", email="jane@example.test")
    text = body_of(download_export(operations_client, address="/admin/identity/user/")).decode()
    assert "jdoe" in text
    assert "jane@example.test" not in text
    assert DataAccess.objects.get(action="export").was_masked


def test_back_office_export_rejects_unknown_filters(reviewers_client):
    for query in ["nonsense=1", "status__bad=1", "o=x"]:
        assert download_export(reviewers_client, query=query).status_code == (200 if query == "o=x" else 400), query
